// Answers to the exercises of chapter 7.
#include <math.h>
#include <string.h>

#include "main.h"
#include "random.h"
#include "rmsnorm.h"

//: answer-rmsnorm-scaling
START_TEST(a_power_of_two_changes_nothing_without_epsilon)
{
    enum { N = 100 };
    float x[N], weight[N], y[N], thousand[N], kibi[N];
    random_fill(x, N, 1, 1);
    random_fill(weight, N, 2, 1);
    rmsnorm_cpu(y, x, weight, 0, 1, N);
    for (int i = 0; i < N; i++)
        kibi[i] = 1024 * x[i];
    rmsnorm_cpu(kibi, kibi, weight, 0, 1, N);
    ck_assert_mem_eq(kibi, y, sizeof y);
    for (int i = 0; i < N; i++)
        thousand[i] = 1000 * x[i]; // rounds
    rmsnorm_cpu(thousand, thousand, weight, 0, 1, N);
    for (int i = 0; i < N; i++)
        ck_assert(fabsf(thousand[i] - y[i]) <= 4 * 0x1p-24f * fabsf(y[i]));
}
END_TEST

//: answer-layernorm
static void layernorm_cpu(float *y, const float *x, const float *weight, float epsilon,
                          int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    const double mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / sqrt(squares / n + epsilon);
    for (int i = 0; i < n; i++)
        y[i] = (float)((x[i] - mean) * scale * weight[i]);
}

//: answer-layernorm-test
START_TEST(layernorm_of_five_numbers)
{
    const float x[] = {10001, 10003, 10005, 10007, 10009}, weight[] = {1, 1, 1, 1, 2};
    float y[5]; // the mean is 10005, the mean squared deviation 8
    layernorm_cpu(y, x, weight, 0, 5);
    const double expected[] = {-4, -2, 0, 2, 8};
    for (int i = 0; i < 5; i++)
        ck_assert_float_eq(y[i], (float)(expected[i] / sqrt(8)));
}
END_TEST

//: answers-07-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 7");
    add_case(s, "answers", a_power_of_two_changes_nothing_without_epsilon,
             layernorm_of_five_numbers, NULL);
    return s;
}
