//: gemv-rows-header
// What the GEMV kernels share: a block of 128 threads, four warps, takes ROWS rows, and
// each thread adds up its share of every one.
#ifndef LANEWISE_CUDA_GEMV_ROWS_H
#define LANEWISE_CUDA_GEMV_ROWS_H

#include <cuda_fp16.h>

#include "reduce.h"

constexpr int GEMV_THREADS = 128;

__device__ inline float half_from_bits(unsigned bits)
{
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

//: gemv-rows-store
// The end of a GEMV: the threads' shares become one number a row.  Warps 1 to 3 leave their
// sums in shared memory, once; warp 0 adds them to its own, lane by lane in the order of
// the warps, then over its lanes, and lane r writes row r.  Rows before `from` were
// computed for nothing: another block writes them.  residual: null, or what is added to
// each row, which may be y.
template <int ROWS>
__device__ inline void gemv_store_rows(float *y, const float *residual,
                                       const float (&sum)[ROWS], int from)
{
    __shared__ float spilled[3][ROWS][32];
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const bool writes = warp == 0 && lane >= from && lane < ROWS;
    const float left = writes && residual != nullptr ? residual[lane] : 0;
    for (int r = 0; r < ROWS && warp > 0; r++)
        spilled[warp - 1][r][lane] = sum[r];
    __syncthreads();
    if (warp > 0)
        return;
    float total = 0;
    for (int r = 0; r < ROWS; r++) {
        float all = sum[r];
        for (int w = 0; w < 3; w++)
            all += spilled[w][r][lane];
        all = warp_sum(all);
        total = lane == r ? all : total;
    }
    if (writes)
        y[lane] = residual == nullptr ? total : left + total;
}

#endif
