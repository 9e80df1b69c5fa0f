#include "swiglu.h"

#include <math.h>
#include <string.h>

#include "main.h"
#include "random.h"

//: swiglu-by-hand
START_TEST(gate_opens_and_closes)
{
    // silu(0) = 0 and silu(ln 3) = ln 3 * 3/4; far out it is x itself, or nothing.
    const float ln3 = 0x1.193ea8p+0f; // 1.0986123
    const float gate[] = {0, ln3, -ln3, 60, -60}, up[] = {5, 4, 4, 2, 2};
    float y[5];
    swiglu_cpu(y, NULL, gate, up, 5);
    ck_assert_float_eq(y[0], 0);
    ck_assert_float_eq_tol(y[1], 3 * ln3, 3e-7f);
    ck_assert_float_eq_tol(y[2], -ln3, 2e-7f);
    ck_assert_float_eq(y[3], 120);
    ck_assert(y[4] < 0 && y[4] > -2e-24f);
}
END_TEST

//: swiglu-rounds-once
START_TEST(oracle_is_the_exact_value_rounded_once)
{
    enum { N = 3333 };
    float gate[N], up[N], y[N];
    random_fill(gate, N, 1, 20);
    random_fill(up, N, 2, 3);
    swiglu_cpu(y, NULL, gate, up, N);
    for (int i = 0; i < N; i++) {
        long double exact = gate[i] / (1 + expl(-(long double)gate[i])) * up[i];
        ck_assert(isfinite(y[i]));
        ck_assert(fabsl(y[i] - exact) <= fabsl(exact) * 0x1p-24L * (1 + 1e-6L));
    }
}
END_TEST

//: swiglu-other-tests
START_TEST(output_may_lie_on_either_input)
{
    enum { N = 37 };
    float gate[N], up[N], expected[N];
    random_fill(gate, N, 3, 2);
    random_fill(up, N, 4, 2);
    swiglu_cpu(expected, NULL, gate, up, N);
    float on_gate[N], on_up[N];
    memcpy(on_gate, gate, sizeof gate);
    memcpy(on_up, up, sizeof up);
    swiglu_cpu(on_gate, NULL, on_gate, up, N);
    swiglu_cpu(on_up, NULL, gate, on_up, N);
    ck_assert_mem_eq(on_gate, expected, sizeof expected);
    ck_assert_mem_eq(on_up, expected, sizeof expected);
}
END_TEST

START_TEST(blocks_are_the_quantizer_s_of_the_output)
{
    enum { N = 96 };
    float gate[N], up[N], y[N], plain[N];
    struct block_q8_1 blocks[N / 32], expected[N / 32];
    random_fill(gate, N, 5, 2);
    random_fill(up, N, 6, 2);
    swiglu_cpu(plain, NULL, gate, up, N);
    q8_1_cpu(expected, plain, N);
    swiglu_cpu(y, blocks, gate, up, N);
    ck_assert_mem_eq(y, plain, sizeof y);
    ck_assert_mem_eq(blocks, expected, sizeof blocks);
}
END_TEST

//: swiglu-limits
START_TEST(extreme_gates_give_no_nan)
{
    const float gate[] = {-3e38f, 3e38f, -200, 200, -0.0f, 0x1p-149f, -88.8f};
    const float up[] = {1, 1, 3e38f, 1, 1, 1, 1};
    float y[7];
    swiglu_cpu(y, NULL, gate, up, 7);
    ck_assert_float_eq(y[0], 0);
    ck_assert_float_eq(y[1], 3e38f);
    ck_assert_float_eq(y[2], 0); // -8e-47, far below the smallest float
    ck_assert_float_eq(y[3], 200);
    ck_assert_float_eq(y[4], 0);
    ck_assert(y[5] >= 0 && y[5] <= 0x1p-149f);
    ck_assert(y[6] < 0); // exp(88.8) is beyond a float's range, but not beyond a double's
}
END_TEST

//: swiglu-suite
Suite *suite(void)
{
    Suite *s = suite_create("swiglu");
    add_case(s, "core", gate_opens_and_closes, oracle_is_the_exact_value_rounded_once,
             output_may_lie_on_either_input, blocks_are_the_quantizer_s_of_the_output,
             NULL);
    add_case(s, "limits", extreme_gates_give_no_nan, NULL);
    return s;
}
