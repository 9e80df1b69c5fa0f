// Answers to the exercises of chapter 8.
#include <math.h>
#include <string.h>

#include "main.h"
#include "random.h"
#include "rope.h"

//: answer-rope-turn
START_TEST(pair_32_comes_round_after_6283_tokens)
{
    float x[128] = {0};
    x[32] = 1; // pair 32 is (x[32], x[96]), and it points along the first axis
    rope_cpu(x, 6283, 1e6, 1, 128);
    ck_assert(x[32] > 0.9999f && fabsf(x[96]) < 0.001f);
}
END_TEST

//: answer-rope-neighbours
static void rope_neighbours_cpu(float *x, int position, double theta, int head_dim)
{
    for (int i = 0; i < head_dim / 2; i++) {
        const double angle = position * pow(theta, -2.0 * i / head_dim);
        const double a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = (float)(a * cos(angle) - b * sin(angle));
        x[2 * i + 1] = (float)(a * sin(angle) + b * cos(angle));
    }
}

START_TEST(neighbours_are_halves_rearranged)
{
    float x[64], halves[64];
    random_fill(x, 64, 1, 1);
    for (int i = 0; i < 64; i++)
        halves[i % 2 * 32 + i / 2] = x[i];
    rope_neighbours_cpu(x, 99, 1e4, 64);
    rope_cpu(halves, 99, 1e4, 1, 64);
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(x[i], halves[i % 2 * 32 + i / 2]);
}
END_TEST

//: answers-08-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 8");
    add_case(s, "answers", pair_32_comes_round_after_6283_tokens,
             neighbours_are_halves_rearranged, NULL);
    return s;
}
