// Activations as bytes: 32 values share one scale.
//: q8-1
#ifndef LANEWISE_Q8_1_H
#define LANEWISE_Q8_1_H

#include <assert.h>
#include <stdint.h>

#include "stream.h"

struct block_q8_1 {
    int8_t codes[32];
    uint16_t d;   // f16: max|x| / 127
    uint16_t sum; // f16: of the 32 source values; may overflow to infinity
};
static_assert(sizeof(struct block_q8_1) == 36, "q8_1 block");

// blocks: n / 32.  x: (n) f32, n a multiple of 32.  CPU and CUDA give the same bytes.
void q8_1_cpu(struct block_q8_1 *blocks, const float *x, int n);
void q8_1_cuda(struct block_q8_1 *blocks, const float *x, int n, cudaStream_t stream);

#endif
