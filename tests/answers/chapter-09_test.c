// Answers to the exercises of chapter 9.
#include <math.h>
#include <stdlib.h>

#include "attention.h"
#include "main.h"
#include "random.h"

//: answer-cache-bytes
START_TEST(the_cache_of_the_8b_model)
{
    const struct kv_shape shape = {KV_F16, 8, 32768, 128};
    ck_assert_uint_eq(36 * 2 * kv_bytes(&shape), 4831838208u);
    const struct kv_shape position = {KV_F16, 8, 1, 128};
    const size_t each = 36 * 2 * kv_bytes(&position);
    ck_assert_uint_eq(each, 144 * 1024);
    ck_assert(33908 * each <= 5000000000 && 33909 * each > 5000000000); // as the weights
}
END_TEST

//: answer-new-maxima
static double new_maxima(int n, int tries)
{
    struct random r = {1};
    int count = 0;
    for (int i = 0; i < tries; i++) {
        float maximum = -INFINITY;
        for (int t = 0; t < n; t++) {
            const float score = random_normal(&r);
            count += score > maximum;
            maximum = fmaxf(maximum, score);
        }
    }
    return (double)count / tries;
}

START_TEST(new_maxima_are_rare)
{
    ck_assert(fabs(new_maxima(512, 500) - (log(512) + 0.58)) <= 0.5);
    ck_assert(fabs(new_maxima(8192, 100) - (log(8192) + 0.58)) <= 1);
}
END_TEST

//: answer-window
// As attention_cpu over the last `window` of length positions, of an f32 cache.
static void attend_to_window(struct attention_partials *p, const float *q,
                             const float *keys, const float *values,
                             const struct kv_shape *shape, int heads, int length,
                             int window)
{
    const int seen = length < window ? length : window;
    const size_t skipped = (size_t)(length - seen) * (size_t)shape->head_dim;
    attention_cpu(p, q, keys + skipped, values + skipped, shape, heads, seen, 1);
}

//: answer-window-test
START_TEST(a_window_does_not_see_what_lies_before_it)
{
    enum { HEADS = 2, CONTEXT = 9, DIM = 4, LENGTH = 7, WINDOW = 3 };
    const struct kv_shape shape = {KV_F32, HEADS, CONTEXT, DIM};
    float q[HEADS * DIM] = {0}, keys[HEADS * CONTEXT * DIM] = {0},
                    values[HEADS * CONTEXT * DIM];
    for (int i = 0; i < HEADS * CONTEXT * DIM; i++) // a value says its head and position
        values[i] = (float)(i / (CONTEXT * DIM) * 100 + i / DIM % CONTEXT);
    for (int i = 0; i < (LENGTH - WINDOW) * DIM; i++)
        keys[i] = values[i] = NAN;
    float maxima[HEADS], sums[HEADS], numerators[HEADS * DIM];
    struct attention_partials p = {maxima, sums, numerators};
    attend_to_window(&p, q, keys, values, &shape, HEADS, LENGTH, WINDOW);
    ck_assert_float_eq(numerators[0] / sums[0], 5); // the mean of 4, 5 and 6
    ck_assert_float_eq(numerators[DIM] / sums[1], 105);
    attend_to_window(&p, q, keys, values, &shape, HEADS, 1, WINDOW);
    ck_assert_float_eq(sums[1], 1);
}
END_TEST

//: answers-09-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 9");
    add_case(s, "answers", the_cache_of_the_8b_model, new_maxima_are_rare,
             a_window_does_not_see_what_lies_before_it, NULL);
    return s;
}
