// y = x / sqrt(mean(x^2) + epsilon) * weight, row by row.
// Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
//: rmsnorm
#ifndef LANEWISE_RMSNORM_H
#define LANEWISE_RMSNORM_H

#include "q8_1.h"
#include "stream.h"

// y, x: (rows, columns) f32; weight: (columns).  y may be x.
void rmsnorm_cpu(float *y, const float *x, const float *weight, float epsilon, int rows,
                 int columns);
void rmsnorm_cuda(float *y, const float *x, const float *weight, float epsilon, int rows,
                  int columns, cudaStream_t stream);

// The norm of left + right.
void rmsnorm_residual_cpu(float *y, const float *left, const float *right,
                          const float *weight, float epsilon, int rows, int columns);
void rmsnorm_residual_cuda(float *y, const float *left, const float *right,
                           const float *weight, float epsilon, int rows, int columns,
                           cudaStream_t stream);

// One row, with its q8_1 blocks besides; columns a multiple of 32.  y must not be x.
void rmsnorm_q8_1_cpu(float *y, struct block_q8_1 *blocks, const float *x,
                      const float *weight, float epsilon, int columns);
void rmsnorm_q8_1_cuda(float *y, struct block_q8_1 *blocks, const float *x,
                       const float *weight, float epsilon, int columns,
                       cudaStream_t stream);

#endif
