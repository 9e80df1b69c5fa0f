#include "q8_1_wide.h"

#include "main.h"

START_TEST(codes_sums_and_scales_are_those_of_the_blocks)
{
    struct block_q8_1 blocks[8] = {{{0}, 0, 0}};
    struct q8_1_wide wide;
    for (int i = 0; i < 32; i++) {
        blocks[0].codes[i] = -127;      // sum -4064
        blocks[7].codes[i] = (int8_t)i; // sum 0 + 1 + ... + 31 = 496
    }
    blocks[0].d = 0x3c00; // 1
    blocks[7].d = 0xb800; // -0.5
    q8_1_widen(&wide, blocks);
    ck_assert_int_eq(wide.sums[0], -4064);
    ck_assert_int_eq(wide.sums[1], 0);
    ck_assert_int_eq(wide.sums[7], 496);
    ck_assert_int_eq(wide.codes[0], -127);
    ck_assert_int_eq(wide.codes[31], -127);
    ck_assert_int_eq(wide.codes[32], 0);
    ck_assert_int_eq(wide.codes[224 + 31], 31);
    ck_assert(wide.d[0] == 1.0f && wide.d[1] == 0.0f && wide.d[7] == -0.5f);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("q8_1_wide");
    add_case(s, "core", codes_sums_and_scales_are_those_of_the_blocks, NULL);
    return s;
}
