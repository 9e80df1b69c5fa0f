//: q8-1-header
// Activations as bytes: 32 values share one scale.  With d = max|x| / 127 the code of a
// value is x / d, rounded to the nearest integer, halves away from zero: -127 to 127.  All
// codes are 0 where max|x| or d is 0, infinite or NaN; d then tells which.
#ifndef LANEWISE_Q8_1_H
#define LANEWISE_Q8_1_H

#include <assert.h>
#include <stdint.h>

#include "stream.h"

struct block_q8_1 { // 4-byte aligned, so that four codes are one load
    int8_t codes[32];
    uint16_t d;   // f16; the codes are made with d before it is rounded
    uint16_t sum; // f16: of the 32 source values; may overflow to infinity
};
static_assert(sizeof(struct block_q8_1) == 36, "q8_1 block");

// blocks: n / 32.  x: (n) f32, n a multiple of 32.  CPU and CUDA give the same bytes: the
// sum is that of a warp's butterfly, values 16 apart first, then 8, 4, 2 and 1.
void q8_1_cpu(struct block_q8_1 *blocks, const float *x, int n);
void q8_1_cuda(struct block_q8_1 *blocks, const float *x, int n, cudaStream_t stream);

#endif
