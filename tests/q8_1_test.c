#include "q8_1.h"

#include <math.h>
#include <string.h>

#include "main.h"
#include "random.h"

static uint16_t half_bits(float x) // by the compiler's own conversion
{
    _Float16 half = (_Float16)x;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}

//: q8-1-test-by-hand
START_TEST(four_values_worked_by_hand)
{
    // The largest magnitude is 254, so a step is 254 / 127 = 2: 254 / 2 = 127,
    // -3 / 2 = -1.5 and rounds away from zero to -2, 100.9 / 2 = 50.45 to 50.
    float x[32] = {254, -3, 100.9f, 1};
    struct block_q8_1 block;
    q8_1_cpu(&block, x, 32);
    const int8_t codes[32] = {127, -2, 50, 1};
    ck_assert_mem_eq(block.codes, codes, 32);
    ck_assert_uint_eq(block.d, 0x4000); // 2 in half precision: 2^1 * 1.0
    // The sum is 352.9, to a multiple of 1/4: 353 = 2^8 * (1 + 388 / 1024).
    ck_assert_uint_eq(block.sum, 0x5d84);
}
END_TEST

//: q8-1-test-random
// The upper half added onto the lower, again and again.
static float tree_sum(const float *x, int n)
{
    if (n == 1)
        return x[0];
    float half[16];
    for (int i = 0; i < n / 2; i++)
        half[i] = x[i] + x[i + n / 2];
    return tree_sum(half, n / 2);
}

static void check_block(const struct block_q8_1 *block, const float x[32])
{
    float max = 0;
    for (int i = 0; i < 32; i++)
        max = fmaxf(max, fabsf(x[i]));
    float d = (float)((double)max / 127);
    ck_assert_uint_eq(block->d, half_bits(d));
    ck_assert_uint_eq(block->sum, half_bits(tree_sum(x, 32)));
    for (int i = 0; i < 32; i++) {
        double exact = (double)x[i] / (double)d;
        ck_assert_int_ge(block->codes[i], -127);
        ck_assert(fabs((double)block->codes[i] - exact) <= 0.5 + 1e-5);
        ck_assert_int_eq(block->codes[i], (int)round((double)(float)exact));
    }
}

START_TEST(random_blocks_match_the_definition)
{
    struct random r = {1};
    for (int seed = 0; seed < 200; seed++) {
        float x[160];
        struct block_q8_1 blocks[5];
        random_floats(&r, x, 160);
        if (seed % 4 == 1)
            x[seed % 160] = 3000;
        if (seed % 4 == 2)
            for (int i = 0; i < 160; i++)
                x[i] *= 1e-30f;
        q8_1_cpu(blocks, x, 160);
        for (int b = 0; b < 5; b++)
            check_block(&blocks[b], x + 32 * b);
    }
}
END_TEST

//: q8-1-test-halves
START_TEST(halves_round_away_from_zero)
{
    float x[32] = {127, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 0.49999997f, 126.5f};
    struct block_q8_1 block;
    q8_1_cpu(&block, x, 32);
    const int8_t codes[32] = {127, 1, -1, 2, 3, -3, 0, 127};
    ck_assert_mem_eq(block.codes, codes, 32);
}
END_TEST

//: q8-1-test-zeros
START_TEST(zeros_give_zeros)
{
    float x[32] = {0};
    struct block_q8_1 block, zero;
    memset(&zero, 0, sizeof zero);
    q8_1_cpu(&block, x, 32);
    ck_assert_mem_eq(&block, &zero, sizeof zero);
}
END_TEST

//: q8-1-test-overflow
START_TEST(a_sum_beyond_half_precision_leaves_the_codes_alone)
{
    float x[32];
    for (int i = 0; i < 32; i++)
        x[i] = 3000;
    struct block_q8_1 block;
    q8_1_cpu(&block, x, 32);
    ck_assert_uint_eq(block.sum, 0x7c00); // 96,000 is past 65,504: infinity
    ck_assert_uint_eq(block.d, half_bits(3000.0f / 127));
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(block.codes[i], 127);
}
END_TEST

//: q8-1-test-tiny
START_TEST(the_smallest_numbers_stay_within_a_byte)
{
    struct block_q8_1 block;
    // 1 to 255 times the smallest float: 63 / 127 of it rounds to 0, 190 / 127 to 1.
    for (int top = 1; top < 256; top++) {
        float x[32] = {(float)top * 0x1p-149f, -(float)top * 0x1p-149f};
        q8_1_cpu(&block, x, 32);
        int expected = top < 64 ? 0 : (int)round(top / round(top / 127.0));
        expected = expected > 127 ? 127 : expected;
        ck_assert_int_eq(block.codes[0], expected);
        ck_assert_int_eq(block.codes[1], -expected);
        ck_assert_uint_eq(block.d, 0);
    }
}
END_TEST

//: q8-1-test-nan
START_TEST(infinity_and_nan_show_in_the_scale)
{
    const float strange[] = {INFINITY, -INFINITY, NAN};
    for (int k = 0; k < 3; k++)
        for (int at = 0; at < 32; at++) {
            float x[32] = {1, 2, 3, 4, 5};
            struct block_q8_1 block;
            const int8_t zero[32] = {0};
            x[at] = strange[k];
            q8_1_cpu(&block, x, 32);
            ck_assert_uint_eq(block.d, k < 2 ? 0x7c00 : 0x7fff);
            ck_assert_mem_eq(block.codes, zero, 32);
        }
}
END_TEST

//: q8-1-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("q8_1");
    add_case(s, "core", four_values_worked_by_hand, random_blocks_match_the_definition,
             halves_round_away_from_zero, NULL);
    add_case(
        s, "limits", zeros_give_zeros, a_sum_beyond_half_precision_leaves_the_codes_alone,
        the_smallest_numbers_stay_within_a_byte, infinity_and_nan_show_in_the_scale, NULL);
    return s;
}
