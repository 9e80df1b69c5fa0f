//: tensor-type
// How the values of a tensor are stored: the type numbers of the GGUF format, their names,
// and how many bytes a block of each takes.
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

//: tensor-layout
// What a type number means.  block_values is 0 for a type that this program does not read.
struct block_layout {
    const char *name; // as the format's documentation spells it, "Q4_K"; null if unknown
    int block_values; // values in one block: 1 for plain types, 32 or 256
    int block_bytes;
};

// The layout of any type number, known or not; never fails.
struct block_layout tensor_layout(uint32_t type);

#endif
