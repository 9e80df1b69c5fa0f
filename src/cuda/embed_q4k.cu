//: embed-packed-value
// The embedding gather from a repacked table: embed.cu's kernel with other places for the
// same bytes.
#include "launch.h"
extern "C" {
#include "embed_q4k.h"
}

namespace
{
// Value i of block b of total, formed as the oracle forms it.
__device__ float packed_value(const uint8_t *packed, size_t b, size_t total, int i)
{
    const uint8_t *codes = packed + 128 * b, *metadata = packed + 128 * total + 16 * b;
    const int group = i / 64, odd = i / 32 % 2, l = i % 32;
    const int byte = 32 * group + 8 * (l % 16 / 4) + 4 * (l / 16) + l % 4;
    const int record =
        metadata[4 + group] | metadata[8 + group] << 8 | metadata[12 + group] << 16;
    const __half2 d = *reinterpret_cast<const __half2 *>(metadata); // and dmin
    const float step = __low2float(d) * static_cast<float>(record >> 6 * odd & 63);
    const float offset =
        __high2float(d) * static_cast<float>(record >> (12 + 6 * odd) & 63);
    return step * static_cast<float>(codes[byte] >> 4 * odd & 15) - offset;
}

//: embed-packed-kernel
__global__ void embed_q4k_kernel(float *x, const uint8_t *packed, const int *token,
                                 int rows, int columns)
{
    const size_t row = static_cast<size_t>(*token); // huge if negative
    const size_t row_blocks = static_cast<size_t>(columns / 256);
    const size_t all_rows = static_cast<size_t>(rows);
    for (int i = static_cast<int>(threadIdx.x); i < columns; i += 256)
        x[i] = row < all_rows ? packed_value(packed, row * row_blocks + i / 256,
                                             all_rows * row_blocks, i % 256)
                              : NAN;
}
} // namespace

void embed_q4k_cuda(float *x, const uint8_t *packed, const int *token, int rows,
                    int columns, cudaStream_t stream)
{
    launch(stream, 1, 256, embed_q4k_kernel, x, packed, token, rows, columns);
}
