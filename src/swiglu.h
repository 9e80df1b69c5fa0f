// y = silu(gate) * up, silu(x) = x / (1 + exp(-x)).  Shazeer, GLU Variants, 2020.
//: swiglu
#ifndef LANEWISE_SWIGLU_H
#define LANEWISE_SWIGLU_H

#include "q8_1.h"
#include "stream.h"

// y, gate, up: (n) f32; y may be gate or up.  blocks: y's q8_1 form, or null (then n may be
// any number; otherwise a multiple of 32).
void swiglu_cpu(float *y, struct block_q8_1 *blocks, const float *gate, const float *up,
                int n);
void swiglu_cuda(float *y, struct block_q8_1 *blocks, const float *gate, const float *up,
                 int n, cudaStream_t stream);

#endif
