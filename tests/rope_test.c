#include "rope.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "main.h"
#include "rmsnorm.h"
#include "random.h"

//: rope-by-hand
START_TEST(position_zero_turns_nothing)
{
    float x[] = {1, 2, 3, 4}, before[4];
    memcpy(before, x, sizeof x);
    rope_cpu(x, 0, 1e6, 1, 4);
    ck_assert_mem_eq(x, before, sizeof x);
}
END_TEST

START_TEST(pairs_are_half_a_head_apart)
{
    // theta = 16: pair 0 turns by 1 radian a position, pair 1 by 16^(-2/4) = 1/4 radian.
    float x[] = {1, 0, 0, 1};
    rope_cpu(x, 2, 16, 1, 4);
    ck_assert_float_eq(x[0], (float)cos(2)); // pair 0 was (1, 0)
    ck_assert_float_eq(x[2], (float)sin(2));
    ck_assert_float_eq(x[1], (float)-sin(0.5)); // pair 1 was (0, 1)
    ck_assert_float_eq(x[3], (float)cos(0.5));
}
END_TEST

//: rope-formula
// The formula in long double.  The oracle's f64 errors are at most 2^-51 * (position + 2)
// of a pair's size (the chapter counts them): its output must be what rounding some number
// within that reach of the exact value gives.
static long double turned(const float *x, int position, double theta, int head_dim, int d)
{
    const int half = head_dim / 2, i = d % half;
    long double angle = position * powl((long double)theta, -2.0L * i / head_dim);
    long double a = x[i], b = x[i + half];
    return d < half ? a * cosl(angle) - b * sinl(angle) : a * sinl(angle) + b * cosl(angle);
}

//: rope-positions
START_TEST(oracle_is_the_formula_at_every_position)
{
    enum { HEADS = 3, DIM = 128 };
    const int positions[] = {1, 2, 511, 4095, 40959, 131071, 1000000};
    for (size_t p = 0; p < sizeof positions / sizeof *positions; p++) {
        float x[HEADS * DIM], y[HEADS * DIM];
        random_fill(x, HEADS * DIM, (int)p, 1);
        memcpy(y, x, sizeof x);
        rope_cpu(y, positions[p], 1e6, HEADS, DIM);
        for (int j = 0; j < HEADS * DIM; j++) {
            long double exact = turned(x + j / DIM * DIM, positions[p], 1e6, DIM, j % DIM);
            const int d = j % DIM, other = j + (d < DIM / 2 ? DIM / 2 : -DIM / 2);
            long double error =
                0x1p-51L * (positions[p] + 2) * (fabsf(x[j]) + fabsf(x[other]));
            ck_assert(isfinite(y[j]));
            ck_assert(y[j] >= (float)(exact - error));
            ck_assert(y[j] <= (float)(exact + error));
        }
    }
}
END_TEST

//: rope-other-tests
START_TEST(a_turn_keeps_the_length_of_each_pair)
{
    enum { DIM = 64 };
    float x[DIM], y[DIM];
    random_fill(x, DIM, 3, 1);
    memcpy(y, x, sizeof x);
    rope_cpu(y, 777, 1e4, 1, DIM);
    for (int i = 0; i < DIM / 2; i++) {
        double before = hypot(x[i], x[i + DIM / 2]), after = hypot(y[i], y[i + DIM / 2]);
        ck_assert(fabs(after - before) <= 0x1p-23 * before);
    }
}
END_TEST

//: rope-distance
START_TEST(dot_products_depend_on_the_distance_alone)
{
    enum { DIM = 128 };
    float query[DIM], key[DIM];
    double first = 0;
    for (int start = 0; start < 40000; start += 8000) {
        random_fill(query, DIM, 1, 1);
        random_fill(key, DIM, 2, 1);
        rope_cpu(query, start + 9, 1e6, 1, DIM);
        rope_cpu(key, start, 1e6, 1, DIM);
        double dot = 0, scale = 0;
        for (int i = 0; i < DIM; i++) {
            dot += (double)query[i] * key[i];
            scale += fabs((double)query[i] * key[i]);
        }
        if (start == 0)
            first = dot;
        ck_assert(fabs(dot - first) <= 2 * 0x1p-23 * scale);
    }
}
END_TEST

//: rope-dims
START_TEST(any_even_head_dim_is_turned)
{
    const int dims[] = {2, 6, 30, 64, 66, 130, 256};
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        float x[256] = {0}, y[256];
        random_fill(x, dims[k], (int)k, 1);
        memcpy(y, x, sizeof x);
        rope_cpu(y, 100, 1e4, 1, dims[k]);
        for (int d = 0; d < dims[k]; d++) {
            long double exact = turned(x, 100, 1e4, dims[k], d);
            ck_assert(fabsl(y[d] - exact) <= fabsl(exact) * 0x1p-24L + 1e-13L);
        }
    }
}
END_TEST

//: rope-after-norm
START_TEST(joint_form_is_norm_then_rope)
{
    const struct qk_shape shape = {4, 2, 128, 1e-6f, 1e6};
    float q[4 * 128], k[2 * 128], q2[4 * 128], k2[2 * 128], q_weight[128], k_weight[128];
    random_fill(q, 4 * 128, 1, 5);
    random_fill(k, 2 * 128, 2, 0.1f);
    random_fill(q_weight, 128, 3, 1);
    random_fill(k_weight, 128, 4, 1);
    rmsnorm_cpu(q2, q, q_weight, 1e-6f, 4, 128);
    rmsnorm_cpu(k2, k, k_weight, 1e-6f, 2, 128);
    rope_cpu(q2, 321, 1e6, 4, 128);
    rope_cpu(k2, 321, 1e6, 2, 128);
    qk_norm_rope_cpu(q, k, q_weight, k_weight, 321, &shape);
    ck_assert_mem_eq(q, q2, sizeof q);
    ck_assert_mem_eq(k, k2, sizeof k);
}
END_TEST

//: rope-suite
Suite *suite(void)
{
    Suite *s = suite_create("rope");
    add_case(s, "core", position_zero_turns_nothing, pairs_are_half_a_head_apart,
             a_turn_keeps_the_length_of_each_pair,
             dot_products_depend_on_the_distance_alone, joint_form_is_norm_then_rope, NULL);
    add_case(s, "limits", oracle_is_the_formula_at_every_position,
             any_even_head_dim_is_turned, NULL);
    return s;
}
