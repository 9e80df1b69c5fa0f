//: tensor-type-names
// The table of types; see tensor_type.h.
#include "tensor_type.h"

#include <stddef.h>

// Every type of the format by its number.  Most are not read here: their names are for the
// error.  The numbers in the gaps belonged to types that the format has given up.
static const char *const names[] = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  NULL,     NULL,    "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  NULL,
    NULL,      NULL,     "TQ1_0",   "TQ2_0", NULL,     NULL,    NULL,    "MXFP4",
};

//: tensor-type-layout
struct block_layout tensor_layout(uint32_t type)
{
    const char *name = type < sizeof names / sizeof names[0] ? names[type] : NULL;
    switch (type) {
    case TENSOR_F32:
        return (struct block_layout){name, 1, 4};
    case TENSOR_F16:
    case TENSOR_BF16:
        return (struct block_layout){name, 1, 2};
    case TENSOR_Q8_0: // a scale, a byte for each value
        return (struct block_layout){name, 32, 2 + 32};
    case TENSOR_Q4_K: // two scales, 8 small scales and minima in 12 bytes, 4 bits a value
        return (struct block_layout){name, 256, 2 + 2 + 12 + 128};
    case TENSOR_Q5_K: // as Q4_K, with the fifth bit of every value
        return (struct block_layout){name, 256, 2 + 2 + 12 + 32 + 128};
    case TENSOR_Q6_K: // 4 bits a value, 2 bits a value, 16 small scales, a scale
        return (struct block_layout){name, 256, 128 + 64 + 16 + 2};
    default:
        return (struct block_layout){name, 0, 0};
    }
}
