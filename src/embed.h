//: embed
// The first step of a token: its row of the embedding table, as floats.
#ifndef LANEWISE_EMBED_H
#define LANEWISE_EMBED_H

#include "stream.h"
#include "tensor_type.h"

// x: (columns) f32.  table: (rows, columns) stored as type, as in the file.
// 0 <= token < rows.
void embed_cpu(float *x, const void *table, enum tensor_type type, int token, int columns);

// The same on the device, to the bit; the token is read from device memory when the kernel
// runs.  A token outside 0..rows-1 (argmax found no number) gives a row of NaN.
void embed_cuda(float *x, const void *table, enum tensor_type type, const int *token,
                int rows, int columns, cudaStream_t stream);

#endif
