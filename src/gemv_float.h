//: gemv-float-header
// y = W x on f32 activations, for weights stored as F32, F16, BF16, Q8_0 or Q5_K.
#ifndef LANEWISE_GEMV_FLOAT_H
#define LANEWISE_GEMV_FLOAT_H

#include "stream.h"
#include "tensor_type.h"

// y: (rows) f32.  w: (rows, columns) stored as type, rows of whole blocks.  x: (columns)
// f32.  residual: (rows) f32 added to each result, or null; may be y itself.
void gemv_float_cpu(float *y, const void *w, enum tensor_type type, const float *x,
                    int rows, int columns);
void gemv_float_cuda(float *y, const void *w, enum tensor_type type, const float *x,
                     const float *residual, int rows, int columns, cudaStream_t stream);

#endif
