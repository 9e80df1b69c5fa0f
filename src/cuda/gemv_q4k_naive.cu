//: gemv-q4k-thread
// Step 1 of y = W x for Q4_K weights: the oracle's loops, one row a thread.
#include "gemv_rows.h"
#include "launch.h"
extern "C" {
#include "gemv_q4k_naive.h"
}

namespace
{
// Sub-block j's part of a dot product, from the integer sums over some of its values.
__device__ float scaled(const block_q4k &w, int j, int dot, int sum)
{
    const uint8_t *s = w.scales;
    int scale = s[j % 4] & 63, min = s[j % 4 + 4] & 63;
    if (j >= 4) {
        scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        min = s[j + 4] >> 4 | (s[j] >> 6) << 4;
    }
    const float step = half_from_bits(w.d) * static_cast<float>(scale);
    const float offset = half_from_bits(w.dmin) * static_cast<float>(min);
    return step * static_cast<float>(dot) - offset * static_cast<float>(sum);
}

//: gemv-q4k-thread-kernel
__global__ void gemv_q4k_thread_kernel(float *y, const block_q4k *w, const block_q8_1 *x,
                                       int rows, int n)
{
    const int row = static_cast<int>(blockIdx.x * 128 + threadIdx.x);
    if (row >= rows)
        return;
    const block_q4k *mine = w + static_cast<size_t>(row) * n;
    float total = 0;
    for (int j = 0; j < 8 * n; j++) {
        const uint8_t *codes = mine[j / 8].codes + 32 * (j % 8 / 2);
        int dot = 0, sum = 0;
        for (int i = 0; i < 32; i++) {
            dot += (codes[i] >> 4 * (j % 2) & 15) * x[j].codes[i];
            sum += x[j].codes[i];
        }
        total = fmaf(half_from_bits(x[j].d), scaled(mine[j / 8], j % 8, dot, sum), total);
    }
    y[row] = total;
}

//: gemv-q4k-warp-kernel
// Step 2: a warp a row.  Lane l reads word l of a superblock's 32 words of codes.
__global__ void gemv_q4k_warp_kernel(float *y, const block_q4k *w, const block_q8_1 *x,
                                     int rows, int n)
{
    const int row = static_cast<int>(blockIdx.x * 4 + threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const block_q4k *mine = w + static_cast<size_t>(row) * n;
    float total = 0;
    for (int b = 0; b < n && row < rows; b++) {
        const unsigned codes = reinterpret_cast<const unsigned *>(mine[b].codes)[lane];
        for (int odd = 0; odd < 2; odd++) { // low nibbles, then high ones
            const int j = lane / 8 * 2 + odd;
            const block_q8_1 &a = x[8 * b + j];
            const int four = reinterpret_cast<const int *>(a.codes)[lane % 8];
            const int nibbles = static_cast<int>(codes >> 4 * odd & 0x0f0f0f0f);
            const int dot = __dp4a(nibbles, four, 0), sum = __dp4a(0x01010101, four, 0);
            total = fmaf(half_from_bits(a.d), scaled(mine[b], j, dot, sum), total);
        }
    }
    total = warp_sum(total);
    if (lane == 0 && row < rows)
        y[row] = total;
}
} // namespace

//: gemv-q4k-naive-launchers
void gemv_q4k_thread_cuda(float *y, const struct block_q4k *w, const struct block_q8_1 *x,
                          int rows, int columns, cudaStream_t stream)
{
    launch(stream, (rows + 127) / 128, 128, gemv_q4k_thread_kernel, y, w, x, rows,
           columns / 256);
}

void gemv_q4k_warp_cuda(float *y, const struct block_q4k *w, const struct block_q8_1 *x,
                        int rows, int columns, cudaStream_t stream)
{
    launch(stream, (rows + 3) / 4, 128, gemv_q4k_warp_kernel, y, w, x, rows, columns / 256);
}
