//: swiglu
// y = silu(gate) * up, silu(x) = x / (1 + exp(-x)): what stands between the feed-forward
// net's two matrices in and its one matrix out.  Shazeer, GLU Variants, 2020.
// The oracle computes in f64 and rounds each y once; the kernel in f32, with expf.
#ifndef LANEWISE_SWIGLU_H
#define LANEWISE_SWIGLU_H

#include "q8_1.h"
#include "stream.h"

// y, gate, up: (n) f32; y may be gate or up.  blocks: the n / 32 q8_1 blocks of y, n then a
// multiple of 32; or null, and n may be any number.
void swiglu_cpu(float *y, struct block_q8_1 *blocks, const float *gate, const float *up,
                int n);
void swiglu_cuda(float *y, struct block_q8_1 *blocks, const float *gate, const float *up,
                 int n, cudaStream_t stream);

#endif
