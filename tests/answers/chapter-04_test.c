// Answers to the exercises of chapter 4.
#include <math.h>

#include "half.h"
#include "main.h"
#include "q8_1.h"
#include "random.h"

//: answer-q8-1-outlier
START_TEST(one_outlier_silences_its_neighbours)
{
    struct random r = {1};
    float x[32], lost = 0;
    struct block_q8_1 block;
    for (int i = 0; i < 32; i++) {
        x[i] = i == 9 ? 3000 : random_uniform(&r);
        lost += i == 9 ? 0 : fabsf(x[i]);
    }
    q8_1_cpu(&block, x, 32);
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(block.codes[i], i == 9 ? 127 : 0);
    ck_assert(lost <= 31);
}
END_TEST

//: answer-q8-1-back
static void q8_1_back(float *x, const struct block_q8_1 *blocks, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = half_to_float(blocks[i / 32].d) * (float)blocks[i / 32].codes[i % 32];
}

START_TEST(values_come_back_within_half_a_step_and_the_rounding_of_the_step)
{
    struct random r = {2};
    for (int seed = 0; seed < 100; seed++) {
        float x[320], back[320];
        struct block_q8_1 blocks[10];
        random_floats(&r, x, 320);
        q8_1_cpu(blocks, x, 320);
        q8_1_back(back, blocks, 320);
        for (int i = 0; i < 320; i++) {
            float d = half_to_float(blocks[i / 32].d);
            ck_assert(fabsf(back[i] - x[i]) <= (0.5f + 127.0f / 2048) * d * 1.001f);
        }
    }
}
END_TEST

//: answers-04-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers to chapter 4");
    add_case(s, "answers", one_outlier_silences_its_neighbours,
             values_come_back_within_half_a_step_and_the_rounding_of_the_step, NULL);
    return s;
}
