#include "quant_blocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "blocks.h"
#include "half.h"
#include "main.h"

//: scale-test
// Sub-block 0: scale 5, minimum 9.  Sub-block 4: scale 35, minimum 28.
START_TEST(scales_unpacked_by_hand)
{
    const uint8_t packed[12] = {5 | 2 << 6, 0, 0, 0, 9 | 1 << 6, 0, 0, 0, 3 | 12 << 4};
    int scale, min;
    q4k_scale_min(packed, 0, &scale, &min);
    ck_assert_int_eq(scale, 5);
    ck_assert_int_eq(min, 9);
    q4k_scale_min(packed, 4, &scale, &min);
    ck_assert_int_eq(scale, 35);
    ck_assert_int_eq(min, 28);
}
END_TEST

//: scale-test-bits
// Setting one of the 96 bits changes one of the 16 numbers, and each number has six bits.
START_TEST(each_packed_bit_belongs_to_one_number)
{
    int sums[16] = {0};
    for (int bit = 0; bit < 96; bit++) {
        uint8_t packed[12] = {0};
        packed[bit / 8] = (uint8_t)(1 << bit % 8);
        int changed = 0;
        for (int j = 0; j < 8; j++) {
            int scale, min;
            q4k_scale_min(packed, j, &scale, &min);
            changed += (scale != 0) + (min != 0);
            sums[j] += scale;
            sums[8 + j] += min;
        }
        ck_assert_int_eq(changed, 1);
    }
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(sums[i], 63);
}
END_TEST

//: block-test-hand
// d = 0.5, dmin = 0.25; sub-block 0 has scale 4 and minimum 8, all others 0 and 0.
START_TEST(a_q4k_block_by_hand)
{
    struct block_q4k block = {.d = 0x3800, .dmin = 0x3400};
    float x[256];
    block.scales[0] = 4;
    block.scales[4] = 8;
    block.codes[0] = 0x7c;  // value 0 has code 12, value 32 has code 7
    block.codes[31] = 0xf1; // value 31 has code 1
    dequantize_row_cpu(x, &block, TENSOR_Q4_K, 256);
    ck_assert_float_eq(x[0], 0.5f * 4 * 12 - 0.25f * 8);
    ck_assert_float_eq(x[1], -2);
    ck_assert_float_eq(x[31], 0.5f * 4 * 1 - 0.25f * 8);
    for (int i = 32; i < 256; i++)
        ck_assert_float_eq(x[i], 0);
}
END_TEST

//: block-test-q6k
// d = 2; value 97 is number 1 of the last quarter of the first half: scale 96 / 16 = 6.
START_TEST(a_q6k_block_by_hand)
{
    struct block_q6k block = {.d = 0x4000};
    float x[256];
    block.scales[6] = -3;
    block.scales[8] = 1;
    block.low[32 + 1] = 0x90; // high nibble: 9
    block.high[1] = 2 << 6;   // code 2 * 16 + 9 = 41
    dequantize_row_cpu(x, &block, TENSOR_Q6_K, 256);
    ck_assert_float_eq(x[97], 2.0f * -3 * (41 - 32));
    ck_assert_float_eq(x[96], 2.0f * -3 * (0 - 32));
    ck_assert_float_eq(x[128], 2.0f * 1 * (0 - 32));
    ck_assert_float_eq(x[111], x[96]);
    ck_assert_float_eq(x[112], 0); // scale 7 is another
    ck_assert_float_eq(x[144], 0);
}
END_TEST

//: block-test-q8-q5
START_TEST(q8_0_and_q5k_blocks_by_hand)
{
    struct block_q8_0 plain = {.d = 0x3c00, .codes = {-128, 127}};
    struct block_q5k fifth = {.d = 0x3c00, .dmin = 0x3c00, .scales = {[8] = 3 | 1 << 4}};
    float x[256];
    dequantize_row_cpu(x, &plain, TENSOR_Q8_0, 32);
    ck_assert(x[0] == -128 && x[1] == 127 && x[2] == 0);
    fifth.codes[64 + 5] = 0x0e; // value 128 + 5, of sub-block 4: scale 3, minimum 1
    fifth.high[5] = 1 << 4;
    dequantize_row_cpu(x, &fifth, TENSOR_Q5_K, 256);
    ck_assert_float_eq(x[133], 3 * (16 + 14) - 1);
    ck_assert_float_eq(x[134], -1);
    ck_assert_float_eq(x[165], 0);
}
END_TEST

//: block-test-definition
START_TEST(every_type_equals_its_definition_to_the_bit)
{
    enum { COLUMNS = 3 * 256 };
    for (int t = 0; t < 7; t++) {
        struct random r = {(uint64_t)t};
        for (int round = 0; round < 20; round++) {
            uint8_t row[4 * COLUMNS];
            float x[COLUMNS];
            int blocks = COLUMNS / tensor_layout(all_types[t]).block_values;
            random_blocks(&r, row, all_types[t], (size_t)blocks);
            dequantize_row_cpu(x, row, all_types[t], COLUMNS);
            for (int i = 0; i < COLUMNS; i++) {
                float expected = (float)value_by_definition(row, all_types[t], i);
                ck_assert_msg(bits_from_float(x[i]) == bits_from_float(expected),
                              "%s, value %d: %a, expected %a",
                              tensor_layout(all_types[t]).name, i, (double)x[i],
                              (double)expected);
            }
        }
    }
}
END_TEST

//: block-test-golden
static void check_golden(enum tensor_type type, const char *bytes, const char *values)
{
    uint8_t block[210];
    float x[256];
    unsigned bits;
    for (int i = 0; i < tensor_layout(type).block_bytes; i++) {
        ck_assert_int_eq(sscanf(bytes + 2 * i, "%2x", &bits), 1);
        block[i] = (uint8_t)bits;
    }
    dequantize_row_cpu(x, block, type, tensor_layout(type).block_values);
    for (int i = 0; i < tensor_layout(type).block_values; i++) {
        ck_assert_int_eq(sscanf(values + 8 * i, "%8x", &bits), 1);
        ck_assert_uint_eq(bits_from_float(x[i]), bits);
    }
}

//: block-test-golden-file
START_TEST(blocks_decode_as_another_reader_decodes_them)
{
    static char line[4096], type[8], bytes[512], values[2100];
    int blocks = 0;
    FILE *file = fopen("tests/golden/blocks.tsv", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        ck_assert_int_eq(sscanf(line, "%7s %511s %2099s", type, bytes, values), 3);
        for (int t = 0; t < 7; t++)
            if (strcmp(type, tensor_layout(all_types[t]).name) == 0) {
                check_golden(all_types[t], bytes, values);
                blocks++;
            }
    }
    fclose(file);
    ck_assert_int_eq(blocks, 5);
}
END_TEST

//: block-test-limits
START_TEST(infinite_and_nan_scales_reach_every_value)
{
    struct block_q4k block = {.d = 0x7e00, .dmin = 0x3c00, .scales = {1}};
    struct block_q6k six = {.d = 0x7c00, .scales = {1}};
    float x[256];
    dequantize_row_cpu(x, &block, TENSOR_Q4_K, 256);
    for (int i = 0; i < 256; i++)
        ck_assert(isnan(x[i]));
    dequantize_row_cpu(x, &six, TENSOR_Q6_K, 256);
    ck_assert(isinf(x[0]) && x[0] < 0 && isnan(x[16]));
}
END_TEST

START_TEST(largest_and_smallest_scales_are_exact)
{
    struct block_q4k block = {.d = 0x7bff, .dmin = 0x8001};
    float x[256];
    memset(block.scales, 0xff, 12);
    memset(block.codes, 0xf0, 128);
    dequantize_row_cpu(x, &block, TENSOR_Q4_K, 256);
    ck_assert_float_eq(x[0], 63 * 0x1p-24f);
    ck_assert_float_eq(x[32], 65504.0f * 63 * 15);
}
END_TEST

START_TEST(nothing_is_written_past_the_row)
{
    for (int t = 0; t < 7; t++) {
        struct random r = {7};
        uint8_t row[4 * 256];
        float x[256 + 1] = {[256] = 123};
        int columns = tensor_layout(all_types[t]).block_values;
        random_block(&r, row, all_types[t]);
        x[columns] = 123;
        dequantize_row_cpu(x, row, all_types[t], columns);
        ck_assert_float_eq(x[columns], 123);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("quant_blocks");
    add_case(s, "core", scales_unpacked_by_hand, each_packed_bit_belongs_to_one_number,
             a_q4k_block_by_hand, a_q6k_block_by_hand, q8_0_and_q5k_blocks_by_hand,
             every_type_equals_its_definition_to_the_bit,
             blocks_decode_as_another_reader_decodes_them, NULL);
    add_case(s, "limits", infinite_and_nan_scales_reach_every_value,
             largest_and_smallest_scales_are_exact, nothing_is_written_past_the_row, NULL);
    return s;
}
