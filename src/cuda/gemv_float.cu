//: gemv-float-plain
// y = W x for weights that meet f32 activations: plain floats, Q8_0 and Q5_K.  A block of
// 128 threads takes a row, and each thread every 128th run of eight values, which it
// decodes in registers.  Such tensors are rare in a Q4_K_M file, and the kernel is plain.
#include "gemv_rows.h"
#include "launch.h"
extern "C" {
#include "gemv_float.h"
#include "quant_blocks.h"
}

namespace
{
struct bf16 {
    uint16_t bits;
};

//: gemv-float-values
__device__ float value(float w)
{
    return w;
}
__device__ float value(__half w)
{
    return __half2float(w);
}
__device__ float value(bf16 w)
{
    return __uint_as_float(static_cast<unsigned>(w.bits) << 16);
}

//: gemv-float-runs
// run_dot adds the products of values 8 * run to 8 * run + 7 of a row to sum.
template <class Plain>
__device__ float run_dot(float sum, const Plain *row, int run, const float *x)
{
    for (int i = 8 * run; i < 8 * run + 8; i++)
        sum = fmaf(value(row[i]), x[i], sum);
    return sum;
}

__device__ float run_dot(float sum, const block_q8_0 *row, int run, const float *x)
{
    const block_q8_0 &b = row[run / 4];
    const float d = half_from_bits(b.d);
    for (int i = 0; i < 8; i++)
        sum = fmaf(d * static_cast<float>(b.codes[run % 4 * 8 + i]), x[8 * run + i], sum);
    return sum;
}

//: gemv-float-q5k
__device__ float run_dot(float sum, const block_q5k *row, int run, const float *x)
{
    const block_q5k &b = row[run / 32];
    const uint8_t *s = b.scales;
    const int j = run % 32 / 4, first = run % 4 * 8; // the run's sub-block, its place there
    int scale = s[j % 4] & 63, min = s[j % 4 + 4] & 63;
    if (j >= 4) {
        scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        min = s[j + 4] >> 4 | (s[j] >> 6) << 4;
    }
    const float step = half_from_bits(b.d) * static_cast<float>(scale);
    const float offset = half_from_bits(b.dmin) * static_cast<float>(min);
    for (int l = first; l < first + 8; l++) {
        const int low = b.codes[32 * (j / 2) + l] >> 4 * (j % 2) & 15;
        const int code = low | (b.high[l] >> j & 1) << 4;
        const float w = step * static_cast<float>(code) - offset;
        sum = fmaf(w, x[8 * run + l - first], sum);
    }
    return sum;
}

//: gemv-float-tail
// What is left after the last whole run: fewer than eight values, of plain types only.
template <class Plain>
__device__ float tail_dot(float sum, const Plain *row, int columns, const float *x)
{
    const int i = columns / 8 * 8 + static_cast<int>(threadIdx.x);
    return i < columns ? fmaf(value(row[i]), x[i], sum) : sum;
}
__device__ float tail_dot(float sum, const block_q8_0 *, int, const float *)
{
    return sum;
}
__device__ float tail_dot(float sum, const block_q5k *, int, const float *)
{
    return sum;
}

//: gemv-float-kernel
template <class Block>
__global__ void gemv_float_kernel(float *y, const Block *w, const float *x,
                                  const float *residual, int columns, int row_blocks)
{
    const int row = static_cast<int>(blockIdx.x);
    const Block *mine = w + static_cast<size_t>(row) * row_blocks;
    float sum[1] = {};
    for (int run = static_cast<int>(threadIdx.x); run < columns / 8; run += GEMV_THREADS)
        sum[0] = run_dot(sum[0], mine, run, x);
    sum[0] = tail_dot(sum[0], mine, columns, x);
    gemv_store_rows(y, residual, row, row, sum);
}

//: gemv-float-launcher
template <class Block>
void gemv_as(float *y, const void *w, int block_values, const float *x,
             const float *residual, int rows, int columns, cudaStream_t stream)
{
    launch(stream, rows, GEMV_THREADS, gemv_float_kernel<Block>, y,
           static_cast<const Block *>(w), x, residual, columns, columns / block_values);
}
} // namespace

void gemv_float_cuda(float *y, const void *w, enum tensor_type type, const float *x,
                     const float *residual, int rows, int columns, cudaStream_t stream)
{
    if (type == TENSOR_F32)
        gemv_as<float>(y, w, 1, x, residual, rows, columns, stream);
    if (type == TENSOR_F16)
        gemv_as<__half>(y, w, 1, x, residual, rows, columns, stream);
    if (type == TENSOR_BF16)
        gemv_as<bf16>(y, w, 1, x, residual, rows, columns, stream);
    if (type == TENSOR_Q8_0)
        gemv_as<block_q8_0>(y, w, 32, x, residual, rows, columns, stream);
    if (type == TENSOR_Q5_K)
        gemv_as<block_q5k>(y, w, 256, x, residual, rows, columns, stream);
}
