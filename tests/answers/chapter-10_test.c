// Answers to the exercises of chapter 10.
#include <math.h>

#include "main.h"
#include "random.h"
#include "split_count.h"
#include "split_merge.h"

//: answer-other-cards
START_TEST(splits_of_other_cards_and_models)
{
    // An RTX 4060 Ti has 34 SMs: 306 blocks in a wave, nine for each of 32 heads.
    ck_assert_int_eq(split_count(512, 32, 34 * 9), 8);
    ck_assert_int_eq(split_count(1024, 32, 34 * 9), 9);
    ck_assert_int_eq(split_count(8192, 32, 34 * 9), 9);
    // The 14B model has 40 heads: 28 * 40 = 1,120 of an RTX 4090's 1,152.
    ck_assert_int_eq(split_count(8192, 40, 128 * 9), 28);
}
END_TEST

//: answer-utilization
static double utilization(int blocks, int wave)
{
    const int waves = (blocks + wave - 1) / wave;
    return (double)blocks / (waves * wave);
}

START_TEST(one_split_too_many_halves_the_utilization)
{
    ck_assert(fabs(utilization(36 * 32, 1152) - 1) <= 1e-9);
    ck_assert(fabs(utilization(37 * 32, 1152) - 0.514) <= 1e-3);
    ck_assert(fabs(utilization(72 * 32, 1152) - 1) <= 1e-9); // two full waves
}
END_TEST

//: answer-merge-two
struct state {
    double maximum, sum, numerator; // of one dimension
};

static struct state merge_two(struct state a, struct state b)
{
    const double maximum = fmax(a.maximum, b.maximum);
    const double of_a = exp(a.maximum - maximum), of_b = exp(b.maximum - maximum);
    return (struct state){maximum, of_a * a.sum + of_b * b.sum,
                          of_a * a.numerator + of_b * b.numerator};
}

//: answer-merge-two-test
START_TEST(merging_in_pairs_gives_the_same)
{
    float maxima[7], sums[7], numerators[7], expected;
    struct attention_partials p = {maxima, sums, numerators};
    struct random r = {1};
    struct state all = {maxima[0] = random_normal(&r), sums[0] = 2,
                        numerators[0] = random_normal(&r)};
    for (int s = 1; s < 7; s++) {
        const struct state next = {maxima[s] = random_normal(&r), sums[s] = (float)s,
                                   numerators[s] = random_normal(&r)};
        all = s % 2 == 0 ? merge_two(all, next) : merge_two(next, all);
    }
    split_merge_cpu(&expected, NULL, &p, 1, 7, 1);
    ck_assert(fabs(all.numerator / all.sum - (double)expected) <= 1e-7);
}
END_TEST

//: answers-10-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 10");
    add_case(s, "answers", splits_of_other_cards_and_models,
             one_split_too_many_halves_the_utilization, merging_in_pairs_gives_the_same,
             NULL);
    return s;
}
