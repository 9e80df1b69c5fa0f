#include "rmsnorm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "main.h"
#include "random.h"

static float *new_random(int n, int seed, float deviation)
{
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    random_fill(x, n, seed, deviation);
    return x;
}

// The formula again, one value at a time in long double: nothing shared with the oracle.
static long double norm_at(const float *x, const float *weight, float epsilon, int columns,
                           int i)
{
    long double sum = 0;
    for (int j = 0; j < columns; j++)
        sum += (long double)x[j] * x[j];
    return x[i] / sqrtl(sum / columns + epsilon) * weight[i];
}

//: rmsnorm-by-hand
START_TEST(oracle_divides_by_the_root_mean_square)
{
    // 1 + 49 + 25 + 25 = 100, of which the mean is 25 and the root of that is 5.
    const float x[] = {1, 7, -5, 5}, weight[] = {1, 2, 1, 0.5f};
    const float expected[] = {0.2f, 2.8f, -1, 0.5f};
    float y[4];
    rmsnorm_cpu(y, x, weight, 0, 1, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_float_eq(y[i], expected[i]);
}
END_TEST

//: rmsnorm-epsilon
START_TEST(epsilon_keeps_a_row_of_zeros_at_zero)
{
    const float x[3] = {0, 0, 0}, weight[3] = {1, 2, 3};
    float y[3] = {9, 9, 9};
    rmsnorm_cpu(y, x, weight, 1e-6f, 1, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(y[i], 0);
    // Where x is as small as the root of epsilon, epsilon counts as much as x does.
    const float small[] = {3, 3, 3};
    rmsnorm_cpu(y, small, weight, 16, 1, 3); // 3 / sqrt(9 + 16)
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(y[i], (float)(0.6 * weight[i]));
}
END_TEST

//: rmsnorm-rounds-once
START_TEST(oracle_is_the_exact_value_rounded_once)
{
    const int widths[] = {1, 2, 7, 8, 31, 33, 128, 255, 257, 2560, 25600};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const int columns = widths[w];
        float *x = new_random(columns, columns, 2), *y = new_random(columns, 1, 1);
        float *weight = new_random(columns, columns + 1, 1);
        rmsnorm_cpu(y, x, weight, 1e-6f, 1, columns);
        for (int i = 0; i < columns; i += 1 + columns / 50) {
            long double exact = norm_at(x, weight, 1e-6f, columns, i);
            long double half_step = fabsl(exact) * 0x1p-24L * (1 + 1e-6L);
            ck_assert(isfinite(y[i]));
            ck_assert(fabsl(y[i] - exact) <= half_step + 0x1p-150L);
        }
        free(x), free(y), free(weight);
    }
}
END_TEST

//: rmsnorm-other-tests
START_TEST(each_row_is_normalized_by_itself)
{
    enum { ROWS = 3, COLUMNS = 33 };
    float *x = new_random(ROWS * COLUMNS, 5, 1), *weight = new_random(COLUMNS, 6, 1);
    float together[ROWS * COLUMNS], alone[COLUMNS];
    rmsnorm_cpu(together, x, weight, 1e-5f, ROWS, COLUMNS);
    for (int row = 0; row < ROWS; row++) {
        rmsnorm_cpu(alone, x + row * COLUMNS, weight, 1e-5f, 1, COLUMNS);
        ck_assert_mem_eq(alone, together + row * COLUMNS, sizeof alone);
    }
    rmsnorm_cpu(x, x, weight, 1e-5f, ROWS, COLUMNS); // in place
    ck_assert_mem_eq(x, together, sizeof together);
    free(x), free(weight);
}
END_TEST

START_TEST(residual_form_is_the_norm_of_the_f32_sum)
{
    enum { ROWS = 2, COLUMNS = 31, N = ROWS * COLUMNS };
    float *left = new_random(N, 7, 1), *right = new_random(N, 8, 1);
    float *weight = new_random(COLUMNS, 9, 1), sum[N], expected[N], y[N];
    for (int i = 0; i < N; i++)
        sum[i] = left[i] + right[i];
    rmsnorm_cpu(expected, sum, weight, 1e-6f, ROWS, COLUMNS);
    rmsnorm_residual_cpu(y, left, right, weight, 1e-6f, ROWS, COLUMNS);
    ck_assert_mem_eq(y, expected, sizeof y);
    rmsnorm_residual_cpu(left, left, right, weight, 1e-6f, ROWS, COLUMNS); // onto left
    ck_assert_mem_eq(left, expected, sizeof y);
    free(left), free(right), free(weight);
}
END_TEST

START_TEST(q8_1_form_is_the_norm_then_the_quantizer)
{
    enum { COLUMNS = 96 };
    float *x = new_random(COLUMNS, 10, 3), *weight = new_random(COLUMNS, 11, 1);
    float expected[COLUMNS], y[COLUMNS];
    struct block_q8_1 blocks[COLUMNS / 32], expected_blocks[COLUMNS / 32];
    rmsnorm_cpu(expected, x, weight, 1e-6f, 1, COLUMNS);
    q8_1_cpu(expected_blocks, expected, COLUMNS);
    rmsnorm_q8_1_cpu(y, blocks, x, weight, 1e-6f, COLUMNS);
    ck_assert_mem_eq(y, expected, sizeof y);
    ck_assert_mem_eq(blocks, expected_blocks, sizeof blocks);
    free(x), free(weight);
}
END_TEST

//: rmsnorm-limits
START_TEST(squares_beyond_a_floats_range_do_not_overflow)
{
    // 1e30 squared is beyond FLT_MAX, 1e-30 squared below the smallest float.
    const float huge[] = {1e30f, -1e30f, 1e30f, 1e30f}, weight[] = {1, 1, 1, 1};
    const float tiny[] = {1e-30f, -1e-30f, 1e-30f, 1e-30f};
    float y[4];
    rmsnorm_cpu(y, huge, weight, 1e-6f, 1, 4);
    ck_assert_float_eq(y[0], 1);
    ck_assert_float_eq(y[1], -1);
    rmsnorm_cpu(y, tiny, weight, 0, 1, 4);
    ck_assert_float_eq(y[0], 1);
    const float denormal[] = {0x1p-149f, 0, 0, 0};
    rmsnorm_cpu(y, denormal, weight, 0, 1, 4);
    ck_assert_float_eq(y[0], 2); // sqrt(4) times a lone value
    ck_assert_float_eq(y[1], 0);
}
END_TEST

START_TEST(nan_in_a_row_spoils_that_row_alone)
{
    const float x[] = {1, NAN, 3, 4}, weight[] = {1, 1};
    float y[4];
    rmsnorm_cpu(y, x, weight, 0, 2, 2);
    ck_assert(isnan(y[0]) && isnan(y[1]));
    ck_assert(isfinite(y[2]) && isfinite(y[3]));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("rmsnorm");
    add_case(s, "core", oracle_divides_by_the_root_mean_square,
             epsilon_keeps_a_row_of_zeros_at_zero, oracle_is_the_exact_value_rounded_once,
             each_row_is_normalized_by_itself, residual_form_is_the_norm_of_the_f32_sum,
             q8_1_form_is_the_norm_then_the_quantizer, NULL);
    add_case(s, "limits", squares_beyond_a_floats_range_do_not_overflow,
             nan_in_a_row_spoils_that_row_alone, NULL);
    return s;
}
