//: q4k-repack
// Q4_K superblocks laid out for a warp, losslessly: all codes first, so that each lane's
// share is one aligned 8-byte load, then all metadata.
#ifndef LANEWISE_Q4K_REPACK_H
#define LANEWISE_Q4K_REPACK_H

#include <stddef.h>
#include <stdint.h>

#include "quant_blocks.h"

// packed: 144 * count bytes, 16-byte aligned; codes in [0, 128 * count), metadata after
// them. packed must not overlap blocks.
void q4k_repack_cpu(uint8_t *packed, const struct block_q4k *blocks, size_t count);

// The inverse, to the byte.
void q4k_unpack_cpu(struct block_q4k *blocks, const uint8_t *packed, size_t count);

#endif
