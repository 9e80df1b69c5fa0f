// y = W x for a matrix of Q4_K weights and a vector of q8_1 activations.
//: gemv-q4k
#ifndef LANEWISE_GEMV_Q4K_H
#define LANEWISE_GEMV_Q4K_H

#include "q8_1.h"
#include "quant_blocks.h"
#include "stream.h"

// y: (rows) f32.  w: (rows, columns) as columns / 256 blocks a row.  x: columns / 32
// blocks.
void gemv_q4k_cpu(float *y, const struct block_q4k *w, const struct block_q8_1 *x, int rows,
                  int columns);

// packed: as q4k_repack_cpu lays out all rows * columns / 256 blocks of the matrix.
// residual: (rows) f32 added to each result, or null; may be y itself.
void gemv_q4k_cuda(float *y, const uint8_t *packed, const struct block_q8_1 *x,
                   const float *residual, int rows, int columns, cudaStream_t stream);

#endif
