//: repack-header
// Q4_K superblocks laid out for a warp, losslessly: first the codes of all blocks, so that
// each lane's share is one aligned 8-byte load, then the metadata of all.
//
// bytes  0                    128 * total             144 * total
//        | codes 0 | codes 1 ... | meta 0 | meta 1 ...    |
//
// codes of a block, 128 bytes: four 32-byte groups; in a group lane i = 0..3 owns bytes
//   8i..8i+7: GGUF's code bytes 4i..4i+3, then 16+4i..16+4i+3.
// metadata of a block, 16 bytes: d and dmin as they were, then group g's 24-bit record
//   scale[2g] | scale[2g+1] << 6 | min[2g] << 12 | min[2g+1] << 18,
//   its low byte at 4+g, its middle byte at 8+g, its high byte at 12+g.
#ifndef LANEWISE_Q4K_REPACK_H
#define LANEWISE_Q4K_REPACK_H

#include <stddef.h>
#include <stdint.h>

#include "quant_blocks.h"
#include "stream.h"

//: repack-functions
// packed: 144 * count bytes, 16-byte aligned, all of them written; it must not overlap
// blocks.
void q4k_repack_cpu(uint8_t *packed, const struct block_q4k *blocks, size_t count);

// The inverse, to the byte, for any 144 * count bytes.
void q4k_unpack_cpu(struct block_q4k *blocks, const uint8_t *packed, size_t count);

// Repacks blocks first..first+count-1 of a tensor of total blocks to their places in
// packed (144 * total bytes), so that a loader can stream a tensor through a small buffer.
// blocks: block first, 16-byte aligned; both in device memory, not overlapping.
void q4k_repack_cuda(uint8_t *packed, const struct block_q4k *blocks, size_t first,
                     size_t count, size_t total, cudaStream_t stream);

#endif
