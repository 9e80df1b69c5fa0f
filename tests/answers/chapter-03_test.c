// The answers to the exercises of chapter 3, run.
#include <stdlib.h>

#include "blocks.h"
#include "main.h"
#include "q4k_repack.h"

//: answer-place
START_TEST(where_value_200_of_block_3_lies)
{
    static struct block_q4k blocks[10];
    static uint8_t packed[1440];
    blocks[3].codes[96 + 8] = 0x0d; // the low nibble of byte 8 of group 3
    q4k_repack_cpu(packed, blocks, 10);
    for (int i = 0; i < 1440; i++)
        ck_assert_uint_eq(packed[i], i == 3 * 128 + 3 * 32 + 2 * 8 ? 0x0d : 0);
}
END_TEST

//: answer-sectors
// Sectors of 32 bytes that are touched by the first `bytes` of blocks `stride` bytes apart.
static int sectors(int bytes, int stride, int blocks)
{
    int touched = 0, last = -1;
    for (int b = 0; b < blocks; b++)
        for (int byte = stride * b; byte < stride * b + bytes; byte++)
            if (byte / 32 != last) {
                last = byte / 32;
                touched++;
            }
    return touched;
}

START_TEST(sectors_of_the_metadata_of_eight_blocks)
{
    ck_assert_int_eq(sectors(16, 16, 8), 4);  // packed
    ck_assert_int_eq(sectors(16, 144, 8), 8); // as in the file
}
END_TEST

//: answer-one-value
static float packed_value(const uint8_t *packed, size_t total, size_t b, int i)
{
    const uint8_t *m = packed + 128 * total + 16 * b;
    int g = i / 64, odd = i / 32 % 2, l = i % 32;
    int byte = 32 * g + 8 * (l % 16 / 4) + 4 * (l / 16) + l % 4;
    int code = packed[128 * b + (size_t)byte] >> 4 * odd & 15;
    int record = m[4 + g] | m[8 + g] << 8 | m[12 + g] << 16;
    float d = half_to_float((uint16_t)(m[0] | m[1] << 8));
    float dmin = half_to_float((uint16_t)(m[2] | m[3] << 8));
    return d * (float)(record >> 6 * odd & 63) * (float)code -
           dmin * (float)(record >> (12 + 6 * odd) & 63);
}

//: answer-one-value-test
START_TEST(one_value_from_the_packed_layout)
{
    struct random r = {2};
    static struct block_q4k blocks[9];
    static uint8_t packed[144 * 9];
    float x[9 * 256];
    random_blocks(&r, blocks, TENSOR_Q4_K, 9);
    q4k_repack_cpu(packed, blocks, 9);
    dequantize_row_cpu(x, blocks, TENSOR_Q4_K, 9 * 256);
    for (int i = 0; i < 9 * 256; i++)
        ck_assert(packed_value(packed, 9, (size_t)(i / 256), i % 256) == x[i]);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("answers-03");
    add_case(s, "answers", where_value_200_of_block_3_lies,
             sectors_of_the_metadata_of_eight_blocks, one_value_from_the_packed_layout,
             NULL);
    return s;
}
