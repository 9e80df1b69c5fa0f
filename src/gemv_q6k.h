// y = W x for a matrix of Q6_K weights and a vector of q8_1 activations.
//: gemv-q6k
#ifndef LANEWISE_GEMV_Q6K_H
#define LANEWISE_GEMV_Q6K_H

#include "q8_1.h"
#include "quant_blocks.h"
#include "stream.h"

// Shapes as in gemv_q4k.h; the blocks stay in the GGUF layout on both machines.
void gemv_q6k_cpu(float *y, const struct block_q6k *w, const struct block_q8_1 *x, int rows,
                  int columns);
void gemv_q6k_cuda(float *y, const struct block_q6k *w, const struct block_q8_1 *x,
                   const float *residual, int rows, int columns, cudaStream_t stream);

#endif
