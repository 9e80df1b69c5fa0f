//: q8-1-kernel
// Quantizes a vector of activations, a block of 32 values a warp; see q8_1.h.  Most vectors
// are quantized by the kernel that makes them; this one serves the others.
#include "launch.h"
#include "q8_1_device.h"

namespace
{
constexpr int THREADS = 256;

__global__ void q8_1_kernel(block_q8_1 *blocks, const float *x, int n)
{
    const int i = static_cast<int>(blockIdx.x * THREADS + threadIdx.x);
    if (i < n) // n is a multiple of 32: all lanes of a warp take the same way
        q8_1_quantize(&blocks[i / 32], x[i]);
}
} // namespace

void q8_1_cuda(struct block_q8_1 *blocks, const float *x, int n, cudaStream_t stream)
{
    launch(stream, (n + THREADS - 1) / THREADS, THREADS, q8_1_kernel, blocks, x, n);
}
