// Answers to the exercises of chapter 6.
#include <math.h>

#include "gemv_float.h"
#include "gemv_q6k.h"
#include "half.h"
#include "main.h"
#include "random.h"

//: answer-gemv-float-q6k
START_TEST(integers_and_floats_give_one_sum)
{
    enum { ROWS = 9, COLUMNS = 2048 };
    struct random r = {1};
    static struct block_q6k w[ROWS * COLUMNS / 256];
    struct block_q8_1 blocks[COLUMNS / 32];
    float x[COLUMNS], integers[ROWS], floats[ROWS];
    random_bytes(&r, w, sizeof w);
    for (size_t b = 0; b < sizeof w / sizeof w[0]; b++)
        w[b].d = random_half_scale(&r);
    random_floats(&r, x, COLUMNS);
    q8_1_cpu(blocks, x, COLUMNS);
    for (int i = 0; i < COLUMNS; i++) // what the blocks stand for
        x[i] = half_to_float(blocks[i / 32].d) * (float)blocks[i / 32].codes[i % 32];
    gemv_q6k_cpu(integers, w, blocks, ROWS, COLUMNS);
    gemv_float_cpu(floats, w, TENSOR_Q6_K, x, ROWS, COLUMNS);
    for (int i = 0; i < ROWS; i++)
        ck_assert(fabsf(integers[i] - floats[i]) <= 1e-5f * (1 + fabsf(floats[i])));
}
END_TEST

//: answers-06-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers to chapter 6");
    add_case(s, "answers", integers_and_floats_give_one_sum, NULL);
    return s;
}
