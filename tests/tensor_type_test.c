#include "tensor_type.h"

#include <string.h>

#include "main.h"

//: test-tensor-type
START_TEST(a_block_takes_what_the_format_says)
{
    const struct {
        uint32_t type;
        const char *name;
        int values, bytes;
    } expected[] = {
        {0, "F32", 1, 4},       {1, "F16", 1, 2},       {8, "Q8_0", 32, 34},
        {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {14, "Q6_K", 256, 210},
        {30, "BF16", 1, 2},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct block_layout found = tensor_layout(expected[i].type);
        ck_assert_str_eq(found.name, expected[i].name);
        ck_assert_int_eq(found.block_values, expected[i].values);
        ck_assert_int_eq(found.block_bytes, expected[i].bytes);
    }
}
END_TEST

//: test-tensor-type-names
START_TEST(a_type_that_is_not_read_still_has_a_name)
{
    const struct {
        uint32_t type;
        const char *name;
    } expected[] = {{2, "Q4_0"}, {10, "Q2_K"}, {20, "IQ4_NL"}, {28, "F64"}, {39, "MXFP4"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct block_layout found = tensor_layout(expected[i].type);
        ck_assert_str_eq(found.name, expected[i].name);
        ck_assert_int_eq(found.block_values, 0);
    }
}
END_TEST

START_TEST(any_other_number_has_no_name)
{
    const uint32_t unknown[] = {4, 5, 31, 38, 40, 41, 1000, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        ck_assert_ptr_null(tensor_layout(unknown[i]).name);
        ck_assert_int_eq(tensor_layout(unknown[i]).block_values, 0);
    }
}
END_TEST

START_TEST(no_name_stands_for_two_numbers)
{
    for (uint32_t a = 0; a < 64; a++)
        for (uint32_t b = 0; b < a; b++) {
            const char *name = tensor_layout(a).name, *other = tensor_layout(b).name;
            ck_assert(name == NULL || other == NULL || strcmp(name, other) != 0);
        }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("tensor_type");
    add_case(s, "core", a_block_takes_what_the_format_says,
             a_type_that_is_not_read_still_has_a_name, NULL);
    add_case(s, "limits", any_other_number_has_no_name, no_name_stands_for_two_numbers,
             NULL);
    return s;
}
