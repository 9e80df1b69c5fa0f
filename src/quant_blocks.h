//: block-layouts
// The block formats that weights are stored in, and the way back from each to floats.
#ifndef LANEWISE_QUANT_BLOCKS_H
#define LANEWISE_QUANT_BLOCKS_H

#include <assert.h>
#include <stdint.h>

#include "tensor_type.h"

// 256 values: value = d * scale[j] * code - dmin * min[j], j = value's number / 32.
struct block_q4k {
    uint16_t d, dmin;   // f16
    uint8_t scales[12]; // eight 6-bit scales and eight 6-bit minima
    uint8_t codes[128]; // 4 bits each
};
static_assert(sizeof(struct block_q4k) == 144, "Q4_K block");

// As Q4_K, with a fifth bit of each code in high.
struct block_q5k {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t high[32];
    uint8_t codes[128];
};
static_assert(sizeof(struct block_q5k) == 176, "Q5_K block");

// 256 values: value = d * scale[j] * (code - 32), j = value's number / 16.
struct block_q6k {
    uint8_t low[128]; // 4 low bits of each code
    uint8_t high[64]; // 2 high bits of each code
    int8_t scales[16];
    uint16_t d;
};
static_assert(sizeof(struct block_q6k) == 210, "Q6_K block");

// 32 values: value = d * code.
struct block_q8_0 {
    uint16_t d;
    int8_t codes[32];
};
static_assert(sizeof(struct block_q8_0) == 34, "Q8_0 block");

// Scale and minimum of sub-block j = 0..7 of a Q4_K or Q5_K block, from its 12 packed
// bytes.
void q4k_scale_min(const uint8_t packed[12], int j, int *scale, int *min);

// out: (columns) f32.  row: columns values stored as type, whole blocks.
void dequantize_row_cpu(float *out, const void *row, enum tensor_type type, int columns);

#endif
