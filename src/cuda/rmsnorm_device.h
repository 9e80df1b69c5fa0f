//: rmsnorm-device
// The norm's scale, formed by the 256 threads of one block.  Every kernel that normalizes
// uses this, so that their results do not depend on which of them a row met.
#ifndef LANEWISE_CUDA_RMSNORM_DEVICE_H
#define LANEWISE_CUDA_RMSNORM_DEVICE_H

#include "reduce.h"

// What a thread reads of a row: a value as it lies in memory, or the sum of two.
struct plain_row {
    const float *x;
    __device__ float operator[](int i) const
    {
        return x[i];
    }
};
struct sum_row {
    const float *left, *right;
    __device__ float operator[](int i) const
    {
        return left[i] + right[i];
    }
};

//: rmsnorm-device-scale
// 1 / sqrt(mean(row^2) + epsilon).  Thread t squares values t, t + 256, t + 512, ... in
// this order.  It loads 16 of them before it uses the first, so that a row of 4,096 waits
// for memory once; a value past the end is 0 and adds nothing.
template <class Row> __device__ float rmsnorm_scale(Row row, float epsilon, int columns)
{
    constexpr int AHEAD = 16;
    __shared__ float of_warp[8];
    float sum = 0;
    for (int first = static_cast<int>(threadIdx.x); first < columns; first += 256 * AHEAD) {
        float value[AHEAD];
        for (int k = 0; k < AHEAD; k++)
            value[k] = first + 256 * k < columns ? row[first + 256 * k] : 0.0f;
        for (int k = 0; k < AHEAD; k++)
            sum = fmaf(value[k], value[k], sum);
    }
    const float mean = block_sum<256>(sum, of_warp) / static_cast<float>(columns);
    return 1.0f / sqrtf(mean + epsilon);
}

#endif
