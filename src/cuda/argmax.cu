//: argmax-kernel
// Argmax on a GPU: blocks of 256 threads, four values a thread, leave one pair each; one
// more block chooses among these.
#include "launch.h"
extern "C" {
#include "argmax.h"
}

#include <climits>
#include <cmath>

namespace
{
// Loses to every pair of a number and its index, (-infinity, i) included.
__device__ argmax_pair nothing()
{
    return {-INFINITY, INT_MAX};
}

// The larger value, or of equals the lower index.  A NaN in b wins neither comparison.
__device__ argmax_pair better(argmax_pair a, argmax_pair b)
{
    const bool wins = b.value > a.value || (b.value == a.value && b.index < a.index);
    return wins ? b : a;
}

//: argmax-reduce
// The best of a block's 256 pairs, in every thread.
__device__ argmax_pair block_best(argmax_pair best)
{
    __shared__ argmax_pair of_warp[8];
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int step = 16; step > 0; step /= 2)
        best = better(best, {__shfl_xor_sync(0xffffffff, best.value, step),
                             __shfl_xor_sync(0xffffffff, best.index, step)});
    if (lane == 0)
        of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    best = of_warp[lane % 8];
    for (int step = 4; step > 0; step /= 2)
        best = better(best, {__shfl_xor_sync(0xffffffff, best.value, step),
                             __shfl_xor_sync(0xffffffff, best.index, step)});
    return best;
}

//: argmax-partial-kernel
__global__ void argmax_partial_kernel(argmax_pair *partials, const float *x, int n)
{
    const int first = static_cast<int>(blockIdx.x * 1024 + threadIdx.x);
    float value[4]; // all four loads are under way before the first comparison
    for (int k = 0; k < 4; k++)
        value[k] = first + 256 * k < n ? x[first + 256 * k] : NAN;
    argmax_pair best = nothing();
    for (int k = 0; k < 4; k++)
        best = better(best, {value[k], first + 256 * k});
    best = block_best(best);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = best;
}

__global__ void argmax_final_kernel(int *index, const argmax_pair *partials, int count)
{
    argmax_pair best = nothing();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 256)
        best = better(best, partials[i]);
    best = block_best(best);
    if (threadIdx.x == 0)
        *index = best.index == INT_MAX ? -1 : best.index;
}
} // namespace

//: argmax-launcher
void argmax_cuda(int *index, struct argmax_pair *partials, const float *x, int n,
                 cudaStream_t stream)
{
    const int count = argmax_partials(n);
    launch(stream, count, 256, argmax_partial_kernel, partials, x, n);
    launch(stream, 1, 256, argmax_final_kernel, index, partials, count);
}
