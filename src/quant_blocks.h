//: block-q4k
// The block formats that weights are stored in, and the way back from each to floats.  The
// layouts are GGUF's: see the block formats in the documentation of ggml.
#ifndef LANEWISE_QUANT_BLOCKS_H
#define LANEWISE_QUANT_BLOCKS_H

#include <assert.h>
#include <stdint.h>

#include "tensor_type.h"

// 256 values in 8 sub-blocks j of 32: value = d * scale[j] * code - dmin * min[j].
// bytes  0        2        4            16                                  144
//        | d      | dmin   | scales     | codes                              |
// codes[32g + l] holds in its low nibble the code of value 64g + l, in its high nibble that
// of value 64g + 32 + l  (g = 0..3, l = 0..31).
struct block_q4k {
    uint16_t d, dmin;   // f16
    uint8_t scales[12]; // eight 6-bit scales and eight 6-bit minima: q4k_scale_min
    uint8_t codes[128]; // 4 bits each
};
static_assert(sizeof(struct block_q4k) == 144, "Q4_K block");

//: block-q5k
// As Q4_K, with a fifth bit: bit j of high[l] stands above the nibble of value 32j + l.
struct block_q5k {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t high[32];
    uint8_t codes[128];
};
static_assert(sizeof(struct block_q5k) == 176, "Q5_K block");

//: block-q6k
// 256 values in 16 sub-blocks of 16: value = d * scale[number / 16] * (code - 32).
// Two halves h of 128 values, each of four quarters of 32.  Value 128h + l (l = 0..31):
//   + 0:  low nibble of low[64h + l],        bits 0-1 of high[32h + l]
//   + 32: low nibble of low[64h + 32 + l],   bits 2-3
//   + 64: high nibble of low[64h + l],       bits 4-5
//   + 96: high nibble of low[64h + 32 + l],  bits 6-7
struct block_q6k {
    uint8_t low[128]; // 4 low bits of each code
    uint8_t high[64]; // 2 high bits of each code
    int8_t scales[16];
    uint16_t d; // f16
};
static_assert(sizeof(struct block_q6k) == 210, "Q6_K block");

//: block-q8-0
// 32 values: value = d * code.
struct block_q8_0 {
    uint16_t d; // f16
    int8_t codes[32];
};
static_assert(sizeof(struct block_q8_0) == 34, "Q8_0 block");

// Scale and minimum, 0..63, of sub-block j = 0..7 of a Q4_K or Q5_K block, from its 12
// bytes of scales.
void q4k_scale_min(const uint8_t packed[12], int j, int *scale, int *min);

// out: (columns) f32.  row: columns values stored as type, in whole blocks.  Each value is
// formed in f32: (d * scale) * code - (dmin * min).
void dequantize_row_cpu(float *out, const void *row, enum tensor_type type, int columns);

#endif
