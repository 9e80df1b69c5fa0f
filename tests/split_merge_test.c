#include "split_merge.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "main.h"
#include "random.h"
#include "split_count.h"

//: split-merge-test-by-hand
START_TEST(three_splits_worked_by_hand)
{
    // ln 2 and ln 6 differ by ln 3: the first split's sums count a third.  The last is
    // empty.
    float maxima[] = {0.69314718f, 1.79175947f, -INFINITY}, sums[] = {3, 1, 0};
    float numerators[] = {6, 3, 2, 5, 0, 0}; // (3 splits, 2 dimensions)
    const struct attention_partials p = {maxima, sums, numerators};
    float out[2];
    split_merge_cpu(out, NULL, &p, 1, 3, 2);
    ck_assert(fabsf(out[0] - 2) <= 2e-7f); // (6/3 + 2) / (3/3 + 1)
    ck_assert(fabsf(out[1] - 3) <= 4e-7f); // (3/3 + 5) / (3/3 + 1)
}
END_TEST

//: split-merge-test-rest
enum { HEADS = 3, DIM = 64 };
static float maxima[HEADS * MAX_SPLITS], sums[HEADS * MAX_SPLITS],
    numerators[HEADS * MAX_SPLITS * DIM], out[HEADS * DIM];
static const struct attention_partials partials = {maxima, sums, numerators};

static void random_partials(uint64_t seed, int splits)
{
    struct random r = {seed};
    for (int i = 0; i < HEADS * splits; i++) {
        maxima[i] = 10 * random_normal(&r);
        sums[i] = 1 + 50 * fabsf(random_normal(&r));
    }
    random_floats(&r, numerators, (size_t)(HEADS * splits * DIM));
}

static double formula(int head, int splits, int i) // no maximum is taken out
{
    double numerator = 0, denominator = 0;
    for (int s = head * splits; s < (head + 1) * splits; s++) {
        numerator += exp((double)maxima[s]) * (double)numerators[s * DIM + i];
        denominator += exp((double)maxima[s]) * (double)sums[s];
    }
    return numerator / denominator;
}

static void check_formula(int splits)
{
    split_merge_cpu(out, NULL, &partials, HEADS, splits, DIM);
    for (int head = 0; head < HEADS; head++)
        for (int i = 0; i < DIM; i++) {
            const double expected = formula(head, splits, i);
            const float got = out[head * DIM + i];
            ck_assert(isfinite(got));
            ck_assert(fabs((double)got - expected) <= 6e-8 * fabs(expected) + 1e-15);
        }
}

START_TEST(any_number_of_splits_gives_the_formula)
{
    for (int splits = 1; splits <= MAX_SPLITS; splits++) {
        random_partials((uint64_t)splits, splits);
        check_formula(splits);
    }
}
END_TEST

START_TEST(empty_splits_anywhere_change_nothing)
{
    const int empty[] = {0, 3, 7};
    random_partials(8, 8);
    for (int head = 0; head < HEADS; head++)
        for (int i = 0; i < 3; i++) {
            const int s = head * 8 + empty[i];
            maxima[s] = -INFINITY;
            sums[s] = 0;
            memset(numerators + s * DIM, 0, DIM * sizeof(float));
        }
    check_formula(8);
}
END_TEST

START_TEST(maxima_too_great_for_exp_are_relative)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        random_partials(5, 4);
        float plain[HEADS * DIM];
        split_merge_cpu(plain, NULL, &partials, HEADS, 4, DIM);
        for (int s = 0; s < HEADS * 4; s++) // multiples of 2^-10 stay exact beyond 8192
            maxima[s] = roundf(maxima[s] * 1024) / 1024;
        split_merge_cpu(plain, NULL, &partials, HEADS, 4, DIM);
        for (int s = 0; s < HEADS * 4; s++)
            maxima[s] += (float)(sign * 5000);
        split_merge_cpu(out, NULL, &partials, HEADS, 4, DIM);
        ck_assert_mem_eq(out, plain, sizeof out);
    }
}
END_TEST

START_TEST(blocks_are_the_quantized_result)
{
    random_partials(6, 5);
    struct block_q8_1 blocks[HEADS * DIM / 32], expected[HEADS * DIM / 32];
    split_merge_cpu(out, blocks, &partials, HEADS, 5, DIM);
    q8_1_cpu(expected, out, HEADS * DIM);
    ck_assert_mem_eq(blocks, expected, sizeof blocks);
}
END_TEST

START_TEST(a_nan_reaches_its_own_head_alone)
{
    random_partials(7, 4);
    sums[4 + 2] = NAN; // head 1
    split_merge_cpu(out, NULL, &partials, HEADS, 4, DIM);
    for (int i = 0; i < HEADS * DIM; i++)
        ck_assert(isnan(out[i]) == (i / DIM == 1));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("split_merge");
    add_case(s, "core", three_splits_worked_by_hand, any_number_of_splits_gives_the_formula,
             blocks_are_the_quantized_result, NULL);
    add_case(s, "limits", empty_splits_anywhere_change_nothing,
             maxima_too_great_for_exp_are_relative, a_nan_reaches_its_own_head_alone, NULL);
    return s;
}
