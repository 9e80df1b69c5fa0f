#include "sampler.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "main.h"
#include "random.h"

static struct sampler *new_sampler(struct sampler_options o, int n)
{
    struct error e;
    struct sampler *s = sampler_new(&o, n, &e);
    ck_assert_msg(s != NULL, "%s", e.text);
    return s;
}

static const struct sampler_options all = {.temperature = 1, .top_p = 1};

//: sampler-test-hand
// Weights 4, 3, 2, 1 in another order: probabilities 0.1, 0.4, 0.2, 0.3.
static const double weights[] = {1, 4, 2, 3};

// How often each of the four comes in 100,000 draws.
static void count_draws(struct sampler_options o, double counts[4])
{
    float logits[4];
    for (int i = 0; i < 4; i++) {
        logits[i] = (float)log(weights[i]);
        counts[i] = 0;
    }
    struct sampler *s = new_sampler(o, 4);
    for (int i = 0; i < 100000; i++)
        counts[sampler_choose(s, logits)]++;
    sampler_free(s);
}

// Pearson's statistic against the expected probabilities; what cannot come must not.
static void check_draws(struct sampler_options o, const double expected[4])
{
    double counts[4], statistic = 0;
    count_draws(o, counts);
    for (int i = 0; i < 4; i++) {
        if (expected[i] == 0)
            ck_assert_double_eq(counts[i], 0);
        else
            statistic += (counts[i] - 1e5 * expected[i]) * (counts[i] - 1e5 * expected[i]) /
                         (1e5 * expected[i]);
    }
    // 16.3: chance exceeds it once in 1,000 with three degrees of freedom, less with fewer
    ck_assert_msg(statistic <= 16.3, "chi-square %g", statistic);
}

START_TEST(draws_follow_the_softmax)
{
    check_draws(all, (double[]){0.1, 0.4, 0.2, 0.3});
}
END_TEST

// Temperature 1/2 squares the weights: 1, 16, 4, 9 of 30.
START_TEST(temperature_is_a_power_of_the_weights)
{
    struct sampler_options o = all;
    o.temperature = 0.5;
    check_draws(o, (double[]){1 / 30.0, 16 / 30.0, 4 / 30.0, 9 / 30.0});
}
END_TEST

//: sampler-test-cuts
START_TEST(top_k_keeps_the_likeliest)
{
    struct sampler_options o = all;
    o.top_k = 2;
    check_draws(o, (double[]){0, 4 / 7.0, 0, 3 / 7.0});
}
END_TEST

// 0.4 + 0.3 is short of 0.75, with 0.2 it is more.
START_TEST(top_p_keeps_the_fewest_that_reach_it)
{
    struct sampler_options o = all;
    o.top_p = 0.75;
    check_draws(o, (double[]){0, 4 / 9.0, 2 / 9.0, 3 / 9.0});
}
END_TEST

//: sampler-test-min-p
// 0.4 x 0.6 = 0.24 lies between 0.2 and 0.3.
START_TEST(min_p_keeps_what_is_near_the_likeliest)
{
    struct sampler_options o = all;
    o.min_p = 0.6;
    check_draws(o, (double[]){0, 4 / 7.0, 0, 3 / 7.0});
}
END_TEST

// Of three, 4/9 and 3/9 reach 0.75 where of four, 0.4 and 0.3 do not.
START_TEST(top_p_is_a_share_of_what_top_k_left)
{
    struct sampler_options o = all;
    o.top_k = 3;
    o.top_p = 0.75;
    check_draws(o, (double[]){0, 4 / 7.0, 0, 3 / 7.0});
}
END_TEST

//: sampler-test-reference
// All of it once more, slowly: sort everything, cut, draw, in float64 throughout.
struct ranked {
    double logit;
    int id;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->logit != y->logit ? (x->logit < y->logit ? 1 : -1) : x->id - y->id;
}

static int reference(const struct sampler_options *o, const float *logits, int n, double u)
{
    struct ranked *r = malloc((size_t)n * sizeof *r);
    double *p = malloc((size_t)n * sizeof *p);
    int count = 0, kept = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(logits[i]))
            r[count++] = (struct ranked){(double)logits[i], i};
    qsort(r, (size_t)count, sizeof *r, by_rank);
    if (o->top_k > 0 && o->top_k < count)
        count = o->top_k;
    double sum = 0, share = 0;
    for (int i = 0; i < count; i++)
        sum += p[i] = exp((r[i].logit - r[0].logit) / o->temperature);
    while (kept < count && (kept == 0 || share < o->top_p))
        share += p[kept++] / sum;
    while (kept > 1 && p[kept - 1] / p[0] < o->min_p)
        kept--;
    sum = 0;
    for (int i = 0; i < kept; i++)
        sum += p[i];
    int chosen = 0;
    for (double end = p[0]; chosen < kept - 1 && end <= u * sum;)
        end += p[++chosen];
    chosen = r[chosen].id;
    free(r);
    free(p);
    return chosen;
}

// SplitMix64 written from its definition, and checked against published outputs.
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(11400714819323198485));
    z = (z ^ (z >> 30)) * UINT64_C(13787848793156543929);
    z = (z ^ (z >> 27)) * UINT64_C(10723151780598845931);
    return z ^ (z >> 31);
}

START_TEST(every_choice_is_the_references)
{
    uint64_t known = 1234567;
    ck_assert_uint_eq(next(&known), UINT64_C(6457827717110365317));
    ck_assert_uint_eq(next(&known), UINT64_C(3203168211198807973));
    static const int sizes[] = {1, 2, 31, 33, 1000, 4096};
    struct random r = {7};
    float *logits = malloc(4096 * sizeof *logits);
    for (int trial = 0; trial < 600; trial++) {
        int n = sizes[trial % 6];
        for (int i = 0; i < n; i++) // halves of small integers: many are equal
            logits[i] =
                trial % 2 ? 3 * random_normal(&r) : (float)(random_bits(&r) % 20) / 2;
        if (n > 2)
            logits[random_bits(&r) % (unsigned)(n - 1)] = NAN;
        struct sampler_options o = {.temperature = 0.1 + (random_bits(&r) % 20) / 10.0,
                                    .top_k = (int)(random_bits(&r) % 3) * 20,
                                    .top_p = 1 - (random_bits(&r) % 3) * 0.123,
                                    .min_p = (random_bits(&r) % 2) * 0.05,
                                    .seed = random_bits(&r)};
        struct sampler *s = new_sampler(o, n);
        uint64_t state = o.seed;
        for (int i = 0; i < 20; i++) {
            double u = (double)(next(&state) >> 11) / 9007199254740992.0;
            int expected = reference(&o, logits, n, u);
            ck_assert_int_eq(sampler_choose(s, logits), expected);
        }
        sampler_free(s);
    }
    free(logits);
}
END_TEST

//: sampler-test-limits
START_TEST(temperature_zero_is_argmax)
{
    struct sampler_options o = {.temperature = 0, .top_p = 1};
    struct sampler *s = new_sampler(o, 4);
    ck_assert_int_eq(sampler_choose(s, (float[]){1, NAN, 3, 3}), 2);
    sampler_free(s);
}
END_TEST

START_TEST(nan_is_never_chosen_and_nothing_but_nan_is_minus_one)
{
    for (int greedy = 0; greedy < 2; greedy++) {
        struct sampler_options o = {.temperature = 1 - greedy, .top_p = 1};
        struct sampler *s = new_sampler(o, 3);
        for (int i = 0; i < 100; i++)
            ck_assert_int_eq(sampler_choose(s, (float[]){NAN, -5, NAN}), 1);
        ck_assert_int_eq(sampler_choose(s, (float[]){NAN, NAN, NAN}), -1);
        sampler_free(s);
    }
}
END_TEST

START_TEST(infinite_and_extreme_logits_are_ordered_like_others)
{
    struct sampler *s = new_sampler(all, 3);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(sampler_choose(s, (float[]){5, INFINITY, -5}), 1);
        ck_assert_int_eq(sampler_choose(s, (float[]){-INFINITY, -INFINITY, 0}), 2);
        ck_assert_int_eq(sampler_choose(s, (float[]){-FLT_MAX, FLT_MAX, 0}), 1);
        int id = sampler_choose(s, (float[]){-INFINITY, -INFINITY, NAN});
        ck_assert(id == 0 || id == 1);
    }
    sampler_free(s);
    struct sampler_options tiny = {.temperature = DBL_MIN, .top_p = 1};
    s = new_sampler(tiny, 3);
    ck_assert_int_eq(sampler_choose(s, (float[]){1, 1.0000001f, -1}), 1);
    sampler_free(s);
}
END_TEST

START_TEST(top_p_zero_and_min_p_one_leave_one_token)
{
    struct sampler_options o = {.temperature = 1, .top_p = 0};
    struct sampler *p = new_sampler(o, 4);
    o.top_p = o.min_p = 1;
    struct sampler *m = new_sampler(o, 4);
    int threes = 0;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(sampler_choose(p, (float[]){0, 1, 0.5f, 1}), 1);
        int id = sampler_choose(m, (float[]){0, 1, 0.5f, 1});
        ck_assert(id == 1 || id == 3);
        threes += id == 3; // min-p 1 keeps all that are as likely as the likeliest
    }
    ck_assert(threes > 20 && threes < 80);
    sampler_free(p);
    sampler_free(m);
}
END_TEST

START_TEST(options_out_of_range_are_refused_with_the_value)
{
    static const struct {
        struct sampler_options o;
        const char *says;
    } bad[] = {
        {{.temperature = -1, .top_p = 1}, "temperature is -1"},
        {{.temperature = NAN, .top_p = 1}, "temperature is nan"},
        {{.temperature = INFINITY, .top_p = 1}, "temperature is inf"},
        {{.temperature = 1, .top_k = -3, .top_p = 1}, "top-k is -3"},
        {{.temperature = 1, .top_p = 1.5}, "top-p is 1.5"},
        {{.temperature = 1, .top_p = NAN}, "top-p is nan"},
        {{.temperature = 1, .top_p = 1, .min_p = -0.5}, "min-p is -0.5"},
    };
    struct error e;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_ptr_null(sampler_new(&bad[i].o, 10, &e));
        ck_assert_msg(strstr(e.text, bad[i].says) != NULL, "%s", e.text);
    }
    ck_assert_ptr_null(sampler_new(&all, 0, &e));
}
END_TEST

//: sampler-test-time
// A whole vocabulary of Qwen3, as a model's logits lie: most far below the best.
START_TEST(a_choice_of_151936_takes_milliseconds)
{
    enum { N = 151936 };
    struct sampler_options o = {.temperature = 0.7, .top_k = 20, .top_p = 0.95};
    struct random r = {1};
    float *logits = malloc(N * sizeof *logits);
    random_floats(&r, logits, N);
    struct sampler *s = new_sampler(o, N);
    clock_t start = clock();
    for (int i = 0; i < 20; i++)
        ck_assert_int_ge(sampler_choose(s, logits), 0);
    double each = (double)(clock() - start) / CLOCKS_PER_SEC / 20;
    ck_assert_msg(each < 0.1, "%.1f ms", 1e3 * each);
    sampler_free(s);
    free(logits);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("sampler");
    add_case(s, "core", draws_follow_the_softmax, temperature_is_a_power_of_the_weights,
             top_k_keeps_the_likeliest, top_p_keeps_the_fewest_that_reach_it,
             min_p_keeps_what_is_near_the_likeliest, top_p_is_a_share_of_what_top_k_left,
             every_choice_is_the_references, temperature_zero_is_argmax, NULL);
    add_case(s, "limits", nan_is_never_chosen_and_nothing_but_nan_is_minus_one,
             infinite_and_extreme_logits_are_ordered_like_others,
             top_p_zero_and_min_p_one_leave_one_token,
             options_out_of_range_are_refused_with_the_value,
             a_choice_of_151936_takes_milliseconds, NULL);
    return s;
}
