//: swiglu-kernel
// SwiGLU on a GPU: one thread a value.  Where the next GEMV wants q8_1 blocks, the warp
// that holds 32 fresh values quantizes them before they leave its registers.
#include "launch.h"
#include "q8_1_device.h"
extern "C" {
#include "swiglu.h"
}

namespace
{
// expf(-x) is infinite below -88.7; x / infinity is then the -0 that silu has nearly
// become.
__device__ float silu(float x)
{
    return x / (1.0f + expf(-x));
}

//: swiglu-values
__global__ void swiglu_kernel(float *y, block_q8_1 *blocks, const float *gate,
                              const float *up, int n)
{
    const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
    if (i >= n)
        return; // whole warps where there are blocks: n is then a multiple of 32
    const float value = silu(gate[i]) * up[i];
    y[i] = value;
    if (blocks != nullptr)
        q8_1_quantize(&blocks[i / 32], value);
}
} // namespace

void swiglu_cuda(float *y, struct block_q8_1 *blocks, const float *gate, const float *up,
                 int n, cudaStream_t stream)
{
    launch(stream, (n + 255) / 256, 256, swiglu_kernel, y, blocks, gate, up, n);
}
