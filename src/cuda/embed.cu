//: embed-plain
// The embedding gather: one block of 256 threads decodes the row of one token, each thread
// every 256th value.  The weights are read as they lie in the file.
#include "launch.h"
extern "C" {
#include "embed.h"
#include "quant_blocks.h"
}

namespace
{
// value(row, i) is number i of a row, for every way to store one.
__device__ float value(const float *row, int i)
{
    return row[i];
}
__device__ float value(const __half *row, int i)
{
    return __half2float(row[i]);
}

//: embed-bf16-q8-0
struct bf16 {
    uint16_t bits;
};

__device__ float value(const bf16 *row, int i)
{
    return __uint_as_float(static_cast<unsigned>(row[i].bits) << 16);
}

__device__ float half_bits(uint16_t bits)
{
    return __half2float(__ushort_as_half(bits));
}

__device__ float value(const block_q8_0 *row, int i)
{
    const block_q8_0 &b = row[i / 32];
    return half_bits(b.d) * static_cast<float>(b.codes[i % 32]);
}

//: embed-q4k-q5k
// Value 32 j + l of a Q4_K or Q5_K block, given its code.
template <class Block> __device__ float scaled(const Block &b, int j, int code)
{
    const uint8_t *s = b.scales;
    int scale = s[j % 4] & 63, min = s[j % 4 + 4] & 63;
    if (j >= 4) {
        scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        min = s[j + 4] >> 4 | (s[j] >> 6) << 4;
    }
    return half_bits(b.d) * static_cast<float>(scale) * static_cast<float>(code) -
           half_bits(b.dmin) * static_cast<float>(min);
}

__device__ float value(const block_q4k *row, int i)
{
    const block_q4k &b = row[i / 256];
    const int j = i / 32 % 8, l = i % 32;
    return scaled(b, j, b.codes[32 * (j / 2) + l] >> 4 * (j % 2) & 15);
}

//: embed-q5k-q6k
__device__ float value(const block_q5k *row, int i)
{
    const block_q5k &b = row[i / 256];
    const int j = i / 32 % 8, l = i % 32;
    const int low = b.codes[32 * (j / 2) + l] >> 4 * (j % 2) & 15;
    return scaled(b, j, low | (b.high[l] >> j & 1) << 4);
}

__device__ float value(const block_q6k *row, int i)
{
    const block_q6k &b = row[i / 256];
    const int half = i / 128 % 2, quarter = i / 32 % 4, l = i % 32;
    const int low = b.low[64 * half + 32 * (quarter % 2) + l] >> 4 * (quarter / 2) & 15;
    const int code = low | (b.high[32 * half + l] >> 2 * quarter & 3) << 4;
    return half_bits(b.d) * static_cast<float>(b.scales[i / 16 % 16]) *
           static_cast<float>(code - 32);
}

//: embed-kernel
template <class Block>
__global__ void embed_kernel(float *x, const Block *table, const int *token, int rows,
                             int columns, int row_blocks)
{
    const int row = *token;
    const bool known = row >= 0 && row < rows;
    const Block *blocks = table + static_cast<size_t>(known ? row : 0) * row_blocks;
    for (int i = static_cast<int>(threadIdx.x); i < columns; i += 256)
        x[i] = known ? value(blocks, i) : NAN;
}

//: embed-launcher
template <class Block>
void embed_as(float *x, const void *table, const int *token, int rows, int columns,
              int block_values, cudaStream_t stream)
{
    launch(stream, 1, 256, embed_kernel<Block>, x, static_cast<const Block *>(table), token,
           rows, columns, columns / block_values);
}
} // namespace

//: embed-types
void embed_cuda(float *x, const void *table, enum tensor_type type, const int *token,
                int rows, int columns, cudaStream_t stream)
{
    switch (type) {
    case TENSOR_F32:
        return embed_as<float>(x, table, token, rows, columns, 1, stream);
    case TENSOR_F16:
        return embed_as<__half>(x, table, token, rows, columns, 1, stream);
    case TENSOR_BF16:
        return embed_as<bf16>(x, table, token, rows, columns, 1, stream);
    case TENSOR_Q8_0:
        return embed_as<block_q8_0>(x, table, token, rows, columns, 32, stream);
    case TENSOR_Q4_K:
        return embed_as<block_q4k>(x, table, token, rows, columns, 256, stream);
    case TENSOR_Q5_K:
        return embed_as<block_q5k>(x, table, token, rows, columns, 256, stream);
    case TENSOR_Q6_K:
        return embed_as<block_q6k>(x, table, token, rows, columns, 256, stream);
    }
}
