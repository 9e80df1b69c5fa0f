//: gemv-q6k-header
// y = W x for a matrix of Q6_K weights and a vector of q8_1 activations: of every row the
// sum of d_x * (d * scale * dot) over its sub-blocks of 16, where dot is the integer dot
// product of the weights' codes, minus 32, with the activations' codes.
#ifndef LANEWISE_GEMV_Q6K_H
#define LANEWISE_GEMV_Q6K_H

#include "q8_1.h"
#include "quant_blocks.h"
#include "stream.h"

// y: (rows) f32.  w: (rows, columns) as columns / 256 blocks a row, in the GGUF layout on
// both machines.  x: columns / 32 blocks, 4-byte aligned.  residual: (rows) f32 added to
// each result, or null; may be y itself.
void gemv_q6k_cpu(float *y, const struct block_q6k *w, const struct block_q8_1 *x, int rows,
                  int columns);
void gemv_q6k_cuda(float *y, const struct block_q6k *w, const struct block_q8_1 *x,
                   const float *residual, int rows, int columns, cudaStream_t stream);

#endif
