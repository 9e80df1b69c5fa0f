//: rmsnorm-kernel
// RMSNorm on a GPU: one block of 256 threads a row.
#include "launch.h"
#include "q8_1_device.h"
#include "rmsnorm_device.h"
extern "C" {
#include "rmsnorm.h"
}

namespace
{
// Reads the row a second time, sums included: cheaper than a place to keep it.  A thread
// writes only what it alone reads, so y may be an input.
template <class Row>
__device__ void normalize(float *y, Row row, const float *weight, float epsilon,
                          int columns)
{
    const float scale = rmsnorm_scale(row, epsilon, columns);
    for (int i = static_cast<int>(threadIdx.x); i < columns; i += 256)
        y[i] = row[i] * scale * weight[i];
}

//: rmsnorm-rows-kernel
__global__ void rmsnorm_kernel(float *y, const float *x, const float *weight, float epsilon,
                               int columns)
{
    const size_t start = static_cast<size_t>(blockIdx.x) * static_cast<size_t>(columns);
    normalize(y + start, plain_row{x + start}, weight, epsilon, columns);
}

__global__ void rmsnorm_residual_kernel(float *y, const float *left, const float *right,
                                        const float *weight, float epsilon, int columns)
{
    const size_t start = static_cast<size_t>(blockIdx.x) * static_cast<size_t>(columns);
    normalize(y + start, sum_row{left + start, right + start}, weight, epsilon, columns);
}

//: rmsnorm-q8-1-kernel
// One block for every eight q8_1 blocks.  Each of them reduces the whole row, in the same
// order and so to the same bits, then writes its own 256 values and their q8_1 blocks.
__global__ void rmsnorm_q8_1_kernel(float *y, block_q8_1 *blocks, const float *x,
                                    const float *weight, float epsilon, int columns)
{
    const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
    const float factor = i < columns ? weight[i] : 0.0f; // on its way during the reduction
    const float scale = rmsnorm_scale(plain_row{x}, epsilon, columns);
    if (i >= columns)
        return; // whole warps: columns is a multiple of 32
    const float value = x[i] * scale * factor;
    y[i] = value;
    q8_1_quantize(&blocks[i / 32], value);
}
} // namespace

//: rmsnorm-launchers
void rmsnorm_cuda(float *y, const float *x, const float *weight, float epsilon, int rows,
                  int columns, cudaStream_t stream)
{
    launch(stream, rows, 256, rmsnorm_kernel, y, x, weight, epsilon, columns);
}

void rmsnorm_residual_cuda(float *y, const float *left, const float *right,
                           const float *weight, float epsilon, int rows, int columns,
                           cudaStream_t stream)
{
    launch(stream, rows, 256, rmsnorm_residual_kernel, y, left, right, weight, epsilon,
           columns);
}

void rmsnorm_q8_1_cuda(float *y, struct block_q8_1 *blocks, const float *x,
                       const float *weight, float epsilon, int columns, cudaStream_t stream)
{
    launch(stream, (columns + 255) / 256, 256, rmsnorm_q8_1_kernel, y, blocks, x, weight,
           epsilon, columns);
}
