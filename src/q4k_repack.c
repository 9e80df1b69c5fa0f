//: repack-codes
// From GGUF's order of bytes to a warp's and back; see q4k_repack.h for the layout.
#include "q4k_repack.h"

#include <string.h>

// Within each 32-byte group, lane i = 0..3 takes bytes 4i..4i+3, then 16+4i..16+4i+3.
static void repack_codes(uint8_t packed[128], const uint8_t codes[128])
{
    for (int word = 0; word < 32; word++) {
        int group = word / 8, lane = word % 8 / 2, second = word % 2;
        memcpy(packed + 4 * word, codes + 32 * group + 16 * second + 4 * lane, 4);
    }
}

static void unpack_codes(uint8_t codes[128], const uint8_t packed[128])
{
    for (int word = 0; word < 32; word++) {
        int group = word / 8, lane = word % 8 / 2, second = word % 2;
        memcpy(codes + 32 * group + 16 * second + 4 * lane, packed + 4 * word, 4);
    }
}

//: repack-scales
// One 24-bit record a group, its bytes 4 apart.
static void repack_scales(uint8_t packed[12], const uint8_t scales[12])
{
    for (int group = 0; group < 4; group++) {
        int scale[2], min[2];
        q4k_scale_min(scales, 2 * group, &scale[0], &min[0]);
        q4k_scale_min(scales, 2 * group + 1, &scale[1], &min[1]);
        int record = scale[0] | scale[1] << 6 | min[0] << 12 | min[1] << 18;
        packed[group] = (uint8_t)(record & 255);
        packed[4 + group] = (uint8_t)(record >> 8 & 255);
        packed[8 + group] = (uint8_t)(record >> 16);
    }
}

//: unpack-scales
// Every one of GGUF's 96 bits is a bit of some scale or minimum, so nothing is lost.
static void unpack_scales(uint8_t scales[12], const uint8_t packed[12])
{
    int scale[8], min[8];
    for (int group = 0; group < 4; group++) {
        int record = packed[group] | packed[4 + group] << 8 | packed[8 + group] << 16;
        for (int i = 0; i < 2; i++) {
            scale[2 * group + i] = record >> 6 * i & 63;
            min[2 * group + i] = record >> (12 + 6 * i) & 63;
        }
    }
    for (int j = 0; j < 4; j++) {
        scales[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
        scales[j + 4] = (uint8_t)(min[j] | min[j + 4] >> 4 << 6);
        scales[j + 8] = (uint8_t)((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
    }
}

//: repack-blocks
void q4k_repack_cpu(uint8_t *packed, const struct block_q4k *blocks, size_t count)
{
    for (size_t b = 0; b < count; b++) {
        uint8_t *metadata = packed + 128 * count + 16 * b;
        repack_codes(packed + 128 * b, blocks[b].codes);
        memcpy(metadata, &blocks[b].d, 2);
        memcpy(metadata + 2, &blocks[b].dmin, 2);
        repack_scales(metadata + 4, blocks[b].scales);
    }
}

void q4k_unpack_cpu(struct block_q4k *blocks, const uint8_t *packed, size_t count)
{
    for (size_t b = 0; b < count; b++) {
        const uint8_t *metadata = packed + 128 * count + 16 * b;
        unpack_codes(blocks[b].codes, packed + 128 * b);
        memcpy(&blocks[b].d, metadata, 2);
        memcpy(&blocks[b].dmin, metadata + 2, 2);
        unpack_scales(blocks[b].scales, metadata + 4);
    }
}
