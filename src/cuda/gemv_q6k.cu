//: gemv-q6k-head
// y = W x for Q6_K weights as they lie in the file; see gemv_q6k.h.  As for Q4_K, sixteen
// lanes take a block of 256 values and 128 threads eight blocks of a row at a time.  Lane l
// of the sixteen owns the code group of half h = l / 8 at bytes 4i..4i+3, i = l % 8: four
// bytes of low codes from each of two runs of 32, and the four bytes of high codes that
// complete the nibbles of both.  These are values 4i..4i+3 of the half's four quarters.
#include "gemv_rows.h"
#include "launch.h"
extern "C" {
#include "gemv_q6k.h"
}

namespace
{
//: gemv-q6k-load-activations
// A lane's activations of one block, and where the sums of products start: at 1.5 * 2^23 as
// a float's bits, to which integers can be added, less 32 times the sum of the codes, since
// a weight is its code minus 32.
struct activations {
    int codes[4]; // four of each quarter
    int start[4];
    float d[4];
};

// x: the block's eight blocks.
__device__ activations load_activations(const block_q8_1 *x, int lane)
{
    activations a;
    for (int q = 0; q < 4; q++) {
        const block_q8_1 &b = x[lane / 8 * 4 + q];
        a.codes[q] = reinterpret_cast<const int *>(b.codes)[lane % 8];
        a.start[q] = 0x4b400000 - 32 * __dp4a(0x01010101, a.codes[q], 0);
        a.d[q] = half_from_bits(b.d);
    }
    return a;
}

//: gemv-q6k-weights
// What a lane reads of a block.  210-byte blocks are only 2-byte aligned, so four bytes are
// two loads; the lanes of a half-warp still cover each run of bytes without a gap.
struct code_group {
    unsigned low[2], high;
    int scales[4];
    unsigned d;
};

__device__ unsigned four_bytes(const uint8_t *bytes)
{
    const uint16_t *halves = reinterpret_cast<const uint16_t *>(bytes);
    return __ldg(halves) | static_cast<unsigned>(__ldg(halves + 1)) << 16;
}

//: gemv-q6k-load-codes
__device__ code_group load_codes(const block_q6k *w, int lane)
{
    const int half = lane / 8, i = lane % 8;
    code_group c;
    c.low[0] = four_bytes(w->low + 64 * half + 4 * i);
    c.low[1] = four_bytes(w->low + 64 * half + 32 + 4 * i);
    c.high = four_bytes(w->high + 32 * half + 4 * i);
    for (int q = 0; q < 4; q++) // 16 values share a scale
        c.scales[q] = w->scales[8 * half + 2 * q + i / 4];
    c.d = __ldg(&w->d);
    return c;
}

//: gemv-q6k-block
// Adds the lane's share of a block to sum, the products in the order of the format.
__device__ float add_block(float sum, const code_group &c, const activations &a)
{
    const unsigned nibbles = 0x0f0f0f0f, pairs = 0x30303030;
    const unsigned codes[4] = {(c.low[0] & nibbles) | (c.high << 4 & pairs),
                               (c.low[1] & nibbles) | (c.high << 2 & pairs),
                               (c.low[0] >> 4 & nibbles) | (c.high & pairs),
                               (c.low[1] >> 4 & nibbles) | (c.high >> 2 & pairs)};
    const float d = half_from_bits(c.d);
    for (int q = 0; q < 4; q++) {
        const int dot = __dp4a(static_cast<int>(codes[q]), a.codes[q], a.start[q]);
        const float scale = d * static_cast<float>(c.scales[q]);
        sum = fmaf(a.d[q], scale * (__int_as_float(dot) - 0x1.8p23f), sum);
    }
    return sum;
}

//: gemv-q6k-kernel
template <int ROWS>
__global__ void __launch_bounds__(GEMV_THREADS, ROWS == 4   ? 8
                                                : ROWS == 2 ? 10
                                                            : 12)
    gemv_q6k_kernel(float *y, const block_q6k *w, const block_q8_1 *x,
                    const float *residual, int rows, int n)
{
    const int lane = static_cast<int>(threadIdx.x % 16);
    const int first = static_cast<int>(threadIdx.x / 16);
    const int begin = static_cast<int>(blockIdx.x) * ROWS;
    const int row = min(begin, rows - ROWS); // the last two blocks may share rows
    const block_q6k *mine = w + static_cast<size_t>(row) * n;
    float sum[ROWS] = {};
    for (int b = first; b < n; b += 8) {
        code_group c[ROWS];
        for (int r = 0; r < ROWS; r++)
            c[r] = load_codes(mine + r * n + b, lane);
        const activations a = load_activations(x + 8 * b, lane);
        for (int r = 0; r < ROWS; r++)
            sum[r] = add_block(sum[r], c[r], a);
    }
    gemv_store_rows(y, residual, row, begin, sum);
}

//: gemv-q6k-launcher
template <int ROWS>
void launch_rows(float *y, const block_q6k *w, const block_q8_1 *x, const float *residual,
                 int rows, int columns, cudaStream_t stream)
{
    launch(stream, (rows + ROWS - 1) / ROWS, GEMV_THREADS, gemv_q6k_kernel<ROWS>, y, w, x,
           residual, rows, columns / 256);
}
} // namespace

void gemv_q6k_cuda(float *y, const struct block_q6k *w, const struct block_q8_1 *x,
                   const float *residual, int rows, int columns, cudaStream_t stream)
{
    if (rows > 4096)
        launch_rows<4>(y, w, x, residual, rows, columns, stream);
    else if (rows > 512)
        launch_rows<2>(y, w, x, residual, rows, columns, stream);
    else
        launch_rows<1>(y, w, x, residual, rows, columns, stream);
}
