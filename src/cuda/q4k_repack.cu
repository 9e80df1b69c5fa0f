//: repack-steps
// Repacks Q4_K superblocks for a warp: nine threads a superblock, each of which writes 16
// bytes; one block of threads takes 32 superblocks.  Runs once for each tensor, at load.
#include "launch.h"
extern "C" {
#include "q4k_repack.h"
}

namespace
{
constexpr int SUPERBLOCKS = 32, PIECES = 9; // pieces of 16 bytes

// Piece 0..7 of a superblock's codes: the shares of two lanes, each two words of GGUF's.
__device__ uint4 two_lanes(const uint8_t *codes, int piece)
{
    const uint8_t *first = codes + 32 * (piece / 2) + 8 * (piece % 2);
    const uint2 a = *reinterpret_cast<const uint2 *>(first);
    const uint2 b = *reinterpret_cast<const uint2 *>(first + 16);
    return make_uint4(a.x, b.x, a.y, b.y);
}

//: repack-metadata
// A superblock's first 16 bytes, d and dmin and the scales, with the scales as records.
// Every word holds one byte of each of four sub-blocks or groups: all four move together.
__device__ uint4 records(uint4 m)
{
    const unsigned scales_0123 = m.y & 0x3f3f3f3f, mins_0123 = m.z & 0x3f3f3f3f;
    const unsigned scales_4567 = (m.w & 0x0f0f0f0f) | (m.y >> 2 & 0x30303030);
    const unsigned mins_4567 = (m.w >> 4 & 0x0f0f0f0f) | (m.z >> 2 & 0x30303030);
    const unsigned scale0 = __byte_perm(scales_0123, scales_4567, 0x6420); // even ones
    const unsigned scale1 = __byte_perm(scales_0123, scales_4567, 0x7531); // odd ones
    const unsigned min0 = __byte_perm(mins_0123, mins_4567, 0x6420);
    const unsigned min1 = __byte_perm(mins_0123, mins_4567, 0x7531);
    return make_uint4(m.x, scale0 | (scale1 & 0x03030303) << 6,
                      (scale1 >> 2 & 0x0f0f0f0f) | (min0 & 0x0f0f0f0f) << 4,
                      (min0 >> 4 & 0x03030303) | min1 << 2);
}

//: repack-kernel
__global__ void q4k_repack_kernel(uint8_t *packed, const block_q4k *blocks, size_t first,
                                  size_t count, size_t total)
{
    const int piece = static_cast<int>(threadIdx.x) % PIECES;
    const size_t b = static_cast<size_t>(blockIdx.x) * SUPERBLOCKS + threadIdx.x / PIECES;
    if (b >= count)
        return;
    const block_q4k &block = blocks[b];
    uint4 *codes = reinterpret_cast<uint4 *>(packed + 128 * (first + b));
    uint4 *metadata = reinterpret_cast<uint4 *>(packed + 128 * total + 16 * (first + b));
    if (piece < 8)
        codes[piece] = two_lanes(block.codes, piece);
    else
        *metadata = records(*reinterpret_cast<const uint4 *>(&block));
}
} // namespace

//: repack-launcher
void q4k_repack_cuda(uint8_t *packed, const struct block_q4k *blocks, size_t first,
                     size_t count, size_t total, cudaStream_t stream)
{
    if (count == 0) // a grid must not be empty
        return;
    const dim3 grid(static_cast<unsigned>((count + SUPERBLOCKS - 1) / SUPERBLOCKS));
    launch(stream, grid, SUPERBLOCKS * PIECES, q4k_repack_kernel, packed, blocks, first,
           count, total);
}
