//: tensor-type
// How a tensor's values are stored: GGUF's type numbers, and what a block of each takes.
#ifndef LANEWISE_TENSOR_TYPE_H
#define LANEWISE_TENSOR_TYPE_H

#include <stdint.h>

enum tensor_type { // the types that this program reads
    TENSOR_F32 = 0,
    TENSOR_F16 = 1,
    TENSOR_Q8_0 = 8,
    TENSOR_Q4_K = 12,
    TENSOR_Q5_K = 13,
    TENSOR_Q6_K = 14,
    TENSOR_BF16 = 30,
};

struct block_layout {
    const char *name; // as the format's documentation spells it, "Q4_K"; null if unknown
    int block_values; // in one block: 1, 32 or 256; 0 if the type is not read
    int block_bytes;
};

struct block_layout tensor_layout(uint32_t type); // of any number

#endif
