//: gemv-q4k-naive-header
// Two steps on the way to gemv_q4k.cu, kept because they are easy to follow: the same
// product from the GGUF layout by one thread a row, then by one warp a row.
#ifndef LANEWISE_GEMV_Q4K_NAIVE_H
#define LANEWISE_GEMV_Q4K_NAIVE_H

#include "q8_1.h"
#include "quant_blocks.h"
#include "stream.h"

// Arguments as gemv_q4k_cpu's, in device memory; w is 4-byte aligned.
void gemv_q4k_thread_cuda(float *y, const struct block_q4k *w, const struct block_q8_1 *x,
                          int rows, int columns, cudaStream_t stream);
void gemv_q4k_warp_cuda(float *y, const struct block_q4k *w, const struct block_q8_1 *x,
                        int rows, int columns, cudaStream_t stream);

#endif
