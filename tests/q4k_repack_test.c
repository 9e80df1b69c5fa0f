#include "q4k_repack.h"

#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "main.h"

//: repack-test-hand
// Codes 0, 1, 2, ... 127: each packed byte tells where in GGUF's order it came from.
START_TEST(code_bytes_stand_where_the_picture_shows_them)
{
    struct block_q4k block = {0};
    uint8_t packed[144];
    for (int i = 0; i < 128; i++)
        block.codes[i] = (uint8_t)i;
    q4k_repack_cpu(packed, &block, 1);
    const uint8_t group0[32] = {0,  1,  2,  3,  16, 17, 18, 19, 4,  5,  6,
                                7,  20, 21, 22, 23, 8,  9,  10, 11, 24, 25,
                                26, 27, 12, 13, 14, 15, 28, 29, 30, 31};
    for (int i = 0; i < 128; i++)
        ck_assert_int_eq(packed[i], 32 * (i / 32) + group0[i % 32]);
}
END_TEST

//: repack-test-record
// Group 0 of the block has scales 5 and 33 and minima 9 and 62:
// 5 | 33 << 6 | 9 << 12 | 62 << 18 = 0xf89845.  Group 2 has scale[4] = 35 alone: 0x000023.
START_TEST(a_record_by_hand)
{
    struct block_q4k block = {
        .d = 0x1234, .dmin = 0x5678, .scales = {5 | 2 << 6, 33, 0, 0, 9, 62, 0, 0, 3}};
    const uint8_t expected[16] = {0x34, 0x12, 0x78, 0x56, 0x45, 0, 0x23, 0,
                                  0x98, 0,    0,    0,    0xf8, 0, 0,    0};
    uint8_t packed[144];
    q4k_repack_cpu(packed, &block, 1);
    ck_assert_mem_eq(packed + 128, expected, 16);
}
END_TEST

//: repack-test-places
// Where the design says each number lies, worked out bit by bit from either end.
START_TEST(every_block_lies_at_its_place)
{
    enum { TOTAL = 33 };
    static struct block_q4k blocks[TOTAL];
    static uint8_t packed[144 * TOTAL];
    struct random r = {3};
    random_bytes(&r, blocks, sizeof blocks);
    q4k_repack_cpu(packed, blocks, TOTAL);
    for (int b = 0; b < TOTAL; b++) {
        const uint8_t *codes = packed + 128 * b, *meta = packed + 128 * TOTAL + 16 * b;
        ck_assert_mem_eq(meta, &blocks[b], 4);
        for (int i = 0; i < 128; i++)
            ck_assert_uint_eq(codes[i / 32 * 32 + i % 16 / 4 * 8 + i % 32 / 16 * 4 + i % 4],
                              blocks[b].codes[i]);
        for (int j = 0; j < 8; j++) {
            int g = j / 2, scale, min;
            int record = meta[4 + g] + 256 * meta[8 + g] + 65536 * meta[12 + g];
            q4k_scale_min(blocks[b].scales, j, &scale, &min);
            ck_assert_int_eq(record / (j % 2 ? 64 : 1) % 64, scale);
            ck_assert_int_eq(record / (j % 2 ? 262144 : 4096) % 64, min);
        }
    }
}
END_TEST

//: repack-test-inverse
// Random bytes through both in either order: neither loses or invents a bit.
START_TEST(unpacking_gives_back_every_byte)
{
    enum { MOST = 40 };
    static struct block_q4k blocks[MOST], again[MOST];
    static uint8_t packed[144 * MOST], repacked[144 * MOST];
    struct random r = {4};
    for (size_t count = 1; count <= MOST; count++) {
        random_bytes(&r, blocks, 144 * count);
        q4k_repack_cpu(packed, blocks, count);
        q4k_unpack_cpu(again, packed, count);
        ck_assert_mem_eq(again, blocks, 144 * count);
        random_bytes(&r, packed, 144 * count);
        q4k_unpack_cpu(blocks, packed, count);
        q4k_repack_cpu(repacked, blocks, count);
        ck_assert_mem_eq(repacked, packed, 144 * count);
    }
}
END_TEST

//: repack-test-bits
// Both directions only move bits, so single bits are the whole truth: each of the 1,152
// bits of a block goes to a place of its own and comes back.
START_TEST(every_bit_has_a_place_of_its_own)
{
    uint8_t taken[144] = {0};
    for (int bit = 0; bit < 8 * 144; bit++) {
        struct block_q4k block = {0}, again;
        uint8_t packed[144];
        int ones = 0;
        ((uint8_t *)&block)[bit / 8] = (uint8_t)(1 << bit % 8);
        q4k_repack_cpu(packed, &block, 1);
        for (int i = 0; i < 144; i++) {
            ck_assert_uint_eq(taken[i] & packed[i], 0);
            taken[i] |= packed[i];
            ones += __builtin_popcount(packed[i]);
        }
        ck_assert_int_eq(ones, 1);
        q4k_unpack_cpu(&again, packed, 1);
        ck_assert_mem_eq(&again, &block, 144);
    }
}
END_TEST

//: repack-test-none
START_TEST(no_blocks_write_nothing)
{
    uint8_t packed[1] = {42};
    q4k_repack_cpu(packed, NULL, 0);
    ck_assert_uint_eq(packed[0], 42);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("q4k_repack");
    add_case(s, "core", code_bytes_stand_where_the_picture_shows_them, a_record_by_hand,
             every_block_lies_at_its_place, unpacking_gives_back_every_byte,
             every_bit_has_a_place_of_its_own, NULL);
    add_case(s, "limits", no_blocks_write_nothing, NULL);
    return s;
}
