//: residual
// What a layer adds to: the residual stream.
#ifndef LANEWISE_RESIDUAL_H
#define LANEWISE_RESIDUAL_H

#include "stream.h"

// y = left + right, each (n) f32; y may be left or right.
void residual_add_cpu(float *y, const float *left, const float *right, int n);
void residual_add_cuda(float *y, const float *left, const float *right, int n,
                       cudaStream_t stream);

#endif
