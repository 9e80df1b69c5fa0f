//: gemv-q4k-header
// y = W x for a matrix of Q4_K weights and a vector of q8_1 activations: of every row the
// sum of d_x * (d * scale * dot - dmin * min * sum) over its sub-blocks of 32, where dot is
// the integer dot product of the weights' codes with the activations' codes, sum the sum of
// the latter, and d_x the scale of the activations.  The sum that a q8_1 block stores is
// not used: it may be infinite.
#ifndef LANEWISE_GEMV_Q4K_H
#define LANEWISE_GEMV_Q4K_H

#include "q8_1.h"
#include "quant_blocks.h"
#include "stream.h"

// y: (rows) f32.  w: (rows, columns) as columns / 256 blocks a row.  x: columns / 32
// blocks, 4-byte aligned.  columns: a multiple of 256.
void gemv_q4k_cpu(float *y, const struct block_q4k *w, const struct block_q8_1 *x, int rows,
                  int columns);

// packed: as q4k_repack_cpu lays out all rows * columns / 256 blocks of the matrix, 16-byte
// aligned.  residual: (rows) f32 added to each result, or null; may be y itself.
void gemv_q4k_cuda(float *y, const uint8_t *packed, const struct block_q8_1 *x,
                   const float *residual, int rows, int columns, cudaStream_t stream);

//: gemv-q4k-group
// Matrices of the same width that multiply the same activations, in one launch: up to three
// (Q, K and V; gate and up).  The same bits as one launch each.
enum { GEMV_Q4K_GROUP = 3 };
struct gemv_q4k_matrix {
    float *y;
    const uint8_t *packed;
    const float *residual; // or null
    int rows;
};
void gemv_q4k_group_cuda(const struct gemv_q4k_matrix *matrices, int count,
                         const struct block_q8_1 *x, int columns, cudaStream_t stream);

#endif
