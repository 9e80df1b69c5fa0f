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

//: gemv-rows-combine
// What warps 1 to 3 have left in shared memory and the sums of warp 0, which calls this,
// become one number a row: added lane by lane in the order of the warps, then over the
// lanes.  Lane r gets row r.
template <int ROWS>
__device__ inline float gemv_combine(const float (&sum)[ROWS],
                                     const float (&spilled)[3][ROWS][32], int lane)
{
    float of_lane = 0;
    for (int r = 0; r < ROWS; r++) {
        float total = sum[r];
        for (int w = 0; w < 3; w++)
            total += spilled[w][r][lane];
        total = warp_sum(total);
        of_lane = r == lane ? total : of_lane;
    }
    return of_lane;
}

//: gemv-rows-store
// The end of a GEMV: rows row, row + 1, ... of y.  Rows before `begin` were computed for
// nothing, since another block writes them.  residual: null, or what is added to each row;
// it may be y, and is read before the barrier, while there is something to wait for anyway.
template <int ROWS>
__device__ inline void gemv_store_rows(float *y, const float *residual, int row, int begin,
                                       const float (&sum)[ROWS])
{
    __shared__ float spilled[3][ROWS][32];
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32), mine = row + lane;
    const bool writes = warp == 0 && lane < ROWS && mine >= begin;
    const float left = writes && residual != nullptr ? residual[mine] : 0;
    for (int r = 0; r < ROWS && warp > 0; r++)
        spilled[warp - 1][r][lane] = sum[r];
    __syncthreads();
    if (warp > 0)
        return;
    const float total = gemv_combine(sum, spilled, lane);
    if (writes)
        y[mine] = residual == nullptr ? total : left + total;
}

#endif
