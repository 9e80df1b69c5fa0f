#include "embed.h"

#include <stdlib.h>

#include "blocks.h"
#include "main.h"

//: embed-test-oracle
START_TEST(a_row_by_hand)
{
    const float table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    float x[2];
    embed_cpu(x, table, TENSOR_F32, 1, 2);
    ck_assert(x[0] == 3 && x[1] == 4);
}
END_TEST

START_TEST(any_row_of_any_type_equals_its_definition)
{
    enum { ROWS = 5, COLUMNS = 512 };
    static uint8_t table[ROWS * COLUMNS * 4];
    for (int t = 0; t < 7; t++) {
        struct random r = {(uint64_t)t + 100};
        struct block_layout layout = tensor_layout(all_types[t]);
        size_t row_blocks = (size_t)(COLUMNS / layout.block_values);
        random_blocks(&r, table, all_types[t], ROWS * row_blocks);
        for (int token = 0; token < ROWS; token++) {
            float x[COLUMNS];
            const uint8_t *row =
                table + (size_t)token * row_blocks * (size_t)layout.block_bytes;
            embed_cpu(x, table, all_types[t], token, COLUMNS);
            for (int i = 0; i < COLUMNS; i++)
                ck_assert(x[i] == (float)value_by_definition(row, all_types[t], i));
        }
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("embed");
    add_case(s, "core", a_row_by_hand, any_row_of_any_type_equals_its_definition, NULL);
    return s;
}
