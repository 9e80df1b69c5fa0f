//: rmsnorm
// y = x / sqrt(mean(x^2) + epsilon) * weight, row by row.  It stands before the matrices of
// attention and of the feed-forward net, before the output matrix, and on every query and
// key head.  Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
// The oracle computes in f64 and rounds each y to f32 once.  The kernel computes in f32:
// mean, root, reciprocal, then x * scale * weight from left to right.
#ifndef LANEWISE_RMSNORM_H
#define LANEWISE_RMSNORM_H

#include "q8_1.h"
#include "stream.h"

// y, x: (rows, columns) f32; weight: (columns).  y may be x.
void rmsnorm_cpu(float *y, const float *x, const float *weight, float epsilon, int rows,
                 int columns);
void rmsnorm_cuda(float *y, const float *x, const float *weight, float epsilon, int rows,
                  int columns, cudaStream_t stream);

//: rmsnorm-forms
// The norm of left + right, a sum rounded to f32.  y may be left or right.
void rmsnorm_residual_cpu(float *y, const float *left, const float *right,
                          const float *weight, float epsilon, int rows, int columns);
void rmsnorm_residual_cuda(float *y, const float *left, const float *right,
                           const float *weight, float epsilon, int rows, int columns,
                           cudaStream_t stream);

// One row, and the columns / 32 q8_1 blocks of its norm; columns a multiple of 32.  y must
// not be x: on a GPU many blocks read the row, each at its own time.
void rmsnorm_q8_1_cpu(float *y, struct block_q8_1 *blocks, const float *x,
                      const float *weight, float epsilon, int columns);
void rmsnorm_q8_1_cuda(float *y, struct block_q8_1 *blocks, const float *x,
                       const float *weight, float epsilon, int columns,
                       cudaStream_t stream);

#endif
