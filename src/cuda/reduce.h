//: reduce-warp
// Reductions in a fixed order: the same bits in every run, in every lane.  All lanes of a
// warp (all threads of a block) must call them together.
#ifndef LANEWISE_CUDA_REDUCE_H
#define LANEWISE_CUDA_REDUCE_H

#include <cuda_runtime.h>

// The butterfly: at each step every lane adds the value of the lane 16, then 8, 4, 2 and 1
// away.  a + b is b + a to the bit, so the two ends of an exchange agree, and after five
// steps all 32 lanes hold the same sum.
__device__ inline float warp_sum(float x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffff, x, step);
    return x;
}

__device__ inline float warp_max(float x) // NaN counts for nothing
{
    for (int step = 16; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, step));
    return x;
}

//: reduce-block
// The sum over a block of THREADS = 32, 64, ... 1024 threads, in every thread.  Each warp
// leaves its sum in shared (THREADS / 32 floats); after the barrier every warp adds these
// sums by the same butterfly.  The block needs a barrier before it writes shared again.
template <int THREADS> __device__ inline float block_sum(float x, float *shared)
{
    constexpr int warps = THREADS / 32;
    static_assert(warps * 32 == THREADS && (warps & (warps - 1)) == 0, "whole warps, 2^n");
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = shared[threadIdx.x % warps];
    for (int step = warps / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffff, x, step);
    return x;
}

//: reduce-block-max
// The same for the maximum.
template <int THREADS> __device__ inline float block_max(float x, float *shared)
{
    constexpr int warps = THREADS / 32;
    static_assert(warps * 32 == THREADS && (warps & (warps - 1)) == 0, "whole warps, 2^n");
    x = warp_max(x);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = shared[threadIdx.x % warps];
    for (int step = warps / 2; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, step));
    return x;
}

#endif
