//: q8-1-device
// A warp quantizes 32 values, one a lane.  Every kernel that writes activations uses this,
// so that their bytes do not depend on who wrote them; see q8_1.h for the format.
#ifndef LANEWISE_CUDA_Q8_1_DEVICE_H
#define LANEWISE_CUDA_Q8_1_DEVICE_H

#include <cuda_fp16.h>

#include "reduce.h"
extern "C" {
#include "q8_1.h"
}

// The largest magnitude, as bits: they are ordered like the magnitudes, NaN above infinity.
__device__ inline float q8_1_largest_magnitude(float x)
{
    unsigned max = __float_as_uint(x) & 0x7fffffff;
    for (int step = 16; step > 0; step /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffff, max, step);
        max = other > max ? other : max;
    }
    return __uint_as_float(max);
}

//: q8-1-device-block
// What the values are divided by: the scale before it is rounded to f16.
__device__ inline float q8_1_divisor(float max)
{
    return max / 127.0f;
}

__device__ inline int8_t q8_1_code(float x, float divisor)
{
    if (!(divisor > 0 && divisor < INFINITY))
        return 0;
    return static_cast<int8_t>(fminf(fmaxf(roundf(x / divisor), -127), 127));
}

//: q8-1-device-quantize
// All 32 lanes call it together, each with its value of the block.
__device__ inline void q8_1_quantize(block_q8_1 *block, float x)
{
    const int lane = static_cast<int>(threadIdx.x % 32);
    const float max = q8_1_largest_magnitude(x), sum = warp_sum(x);
    block->codes[lane] = q8_1_code(x, q8_1_divisor(max));
    if (lane == 0) {
        block->d = __half_as_ushort(__float2half_rn(max / 127.0f));
        block->sum = __half_as_ushort(__float2half_rn(sum));
    }
}

#endif
