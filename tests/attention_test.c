#include "attention.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "main.h"
#include "random.h"

//: attention-test-by-hand
START_TEST(four_positions_worked_by_hand)
{
    const float q = 1, keys[] = {1, 2, 0, 3}, values[] = {10, 20, 30, 40};
    const struct kv_shape shape = {KV_F32, 1, 4, 1};
    float maximum, sum, numerator;
    struct attention_partials p = {&maximum, &sum, &numerator};
    attention_cpu(&p, &q, keys, values, &shape, 1, 4, 1);
    ck_assert_float_eq(maximum, 3);
    ck_assert(fabsf(sum - 1.5530f) <= 5e-5f);
    ck_assert(fabsf(numerator - 50.2046f) <= 5e-5f);
    ck_assert(fabsf(numerator / sum - 32.3274f) <= 5e-5f);
}
END_TEST

//: attention-test-scale
START_TEST(two_positions_worked_by_hand)
{
    // Scores q k / sqrt(4): 0 and ln 3.  Weights relative to the greater: 1/3 and 1.
    const float q[] = {2, 0, 0, 0};
    const float keys[] = {0, 9, 9, 9, 1.0986123f, 9, 9, 9};
    const float values[] = {3, 6, 0, -3, 1, 1, 1, 1};
    const struct kv_shape shape = {KV_F32, 1, 2, 4};
    float maximum, sum, numerators[4];
    struct attention_partials p = {&maximum, &sum, numerators};
    attention_cpu(&p, q, keys, values, &shape, 1, 2, 1);
    const float expected[] = {2, 3, 1, 0}; // 3/3 + 1, 6/3 + 1, 0/3 + 1, -3/3 + 1
    ck_assert_float_eq(maximum, 1.0986123f);
    ck_assert(fabsf(sum - 4.0f / 3) <= 2e-7f);
    for (int i = 0; i < 4; i++)
        ck_assert(fabsf(numerators[i] - expected[i]) <= 5e-7f);
}
END_TEST

//: attention-test-case
// A cache of random keys and values, and queries; freed by case_free.
struct test_case {
    struct kv_shape shape;
    int heads, length, splits;
    float *q, *k, *v;    // k and v as f32
    void *keys, *values; // the same in the cache's type
    struct attention_partials p;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = malloc(count * size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void *in_cache_type(float *x, size_t n, enum kv_type type)
{
    if (type == KV_F32)
        return memcpy(allocate(n, 4), x, n * 4);
    uint16_t *halves = allocate(n, 2);
    for (size_t i = 0; i < n; i++) {
        halves[i] = half_from_float(x[i]);
        x[i] = half_to_float(halves[i]);
    }
    return halves;
}

static struct test_case new_case(struct kv_shape shape, int heads, int length, int splits)
{
    struct test_case c = {.shape = shape, .heads = heads, .length = length};
    c.splits = splits;
    const size_t dim = (size_t)shape.head_dim, partials = (size_t)(heads * splits);
    const size_t n = (size_t)shape.kv_heads * (size_t)shape.max_context * dim;
    struct random r = {(uint64_t)(heads * 1000 + length)};
    random_floats(&r, c.q = allocate((size_t)heads * dim, 4), (size_t)heads * dim);
    random_floats(&r, c.k = allocate(n, 4), n);
    random_floats(&r, c.v = allocate(n, 4), n);
    c.keys = in_cache_type(c.k, n, shape.type);
    c.values = in_cache_type(c.v, n, shape.type);
    c.p.maxima = allocate(partials, 4);
    c.p.sums = allocate(partials, 4);
    c.p.numerators = allocate(partials * dim, 4);
    return c;
}

static void run_case(struct test_case *c)
{
    attention_cpu(&c->p, c->q, c->keys, c->values, &c->shape, c->heads, c->length,
                  c->splits);
}

static void case_free(struct test_case *c)
{
    free(c->q), free(c->k), free(c->v), free(c->keys), free(c->values);
    free(c->p.maxima), free(c->p.sums), free(c->p.numerators);
}

//: attention-test-formula
static double score(const struct test_case *c, int head, int position)
{
    const int dim = c->shape.head_dim, kv_head = head / (c->heads / c->shape.kv_heads);
    const float *q = c->q + head * dim;
    const float *k = c->k + (kv_head * c->shape.max_context + position) * dim;
    double sum = 0;
    for (int i = 0; i < dim; i++)
        sum += (double)q[i] * (double)k[i];
    return sum / sqrt(dim);
}

// The result of one head and dimension by the plain formula: all exponentials, no maximum,
// no order.  Returns what the partials should merge to.
static double formula(const struct test_case *c, int head, int i)
{
    const int dim = c->shape.head_dim, kv_head = head / (c->heads / c->shape.kv_heads);
    double numerator = 0, denominator = 0;
    for (int t = 0; t < c->length; t++) {
        const double weight = exp(score(c, head, t));
        denominator += weight;
        numerator += weight * (double)c->v[(kv_head * c->shape.max_context + t) * dim + i];
    }
    return numerator / denominator;
}

//: attention-test-merged
static double merged(const struct test_case *c, int head, int i)
{
    double numerator = 0, denominator = 0;
    for (int s = 0; s < c->splits; s++) {
        const int partial = head * c->splits + s;
        const double weight = exp((double)c->p.maxima[partial]);
        denominator += weight * (double)c->p.sums[partial];
        numerator += weight * (double)c->p.numerators[partial * c->shape.head_dim + i];
    }
    return numerator / denominator;
}

static void check_formula(struct test_case *c)
{
    run_case(c);
    for (int head = 0; head < c->heads; head++)
        for (int i = 0; i < c->shape.head_dim; i++) {
            const double got = merged(c, head, i);
            ck_assert(isfinite(got));
            ck_assert(fabs(got - formula(c, head, i)) <= 1e-6);
        }
    case_free(c);
}

//: attention-test-core
START_TEST(every_shape_gives_the_formula)
{
    const int shapes[][5] = {// kv heads, heads, head_dim, length, splits
                             {1, 1, 8, 1, 1},    {2, 4, 128, 63, 1},  {1, 3, 64, 64, 3},
                             {2, 4, 80, 65, 7},  {8, 32, 16, 33, 5},  {8, 16, 24, 31, 31},
                             {1, 2, 256, 20, 2}, {1, 1, 128, 513, 8}, {1, 1, 33, 5, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int type = KV_F16; type <= KV_F32; type++) {
            const int *n = shapes[i];
            struct kv_shape shape = {(enum kv_type)type, n[0], n[3] + 3, n[2]};
            struct test_case c = new_case(shape, n[1], n[3], n[4]);
            check_formula(&c);
        }
}
END_TEST

START_TEST(scores_that_grow_or_fall_give_the_formula)
{
    for (int direction = -1; direction <= 1; direction += 2) {
        struct test_case c = new_case((struct kv_shape){KV_F32, 1, 100, 16}, 1, 100, 3);
        for (int t = 0; t < 100; t++) // scores of -25 to 25 in order
            for (int i = 0; i < 16; i++)
                c.k[t * 16 + i] = (float)(direction * (t - 50)) / 8 * c.q[i];
        memcpy(c.keys, c.k, 100 * 16 * sizeof(float));
        check_formula(&c);
    }
}
END_TEST

//: attention-test-counts
START_TEST(equal_scores_count_the_positions_of_each_split)
{
    const int cases[][2] = {{10, 1}, {10, 3}, {10, 4}, {10, 10}, {5, 64}, {1, 2}, {64, 63}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        const int length = cases[n][0], splits = cases[n][1];
        struct test_case c =
            new_case((struct kv_shape){KV_F16, 1, 64, 8}, 1, length, splits);
        memset(c.q, 0, 8 * sizeof(float));
        run_case(&c);
        const int each = length % splits == 0 ? length / splits : length / splits + 1;
        for (int s = 0, left = length; s < splits; s++, left -= each) {
            const int here = left < 0 ? 0 : left < each ? left : each;
            ck_assert_float_eq(c.p.sums[s], (float)here);
            ck_assert(c.p.maxima[s] == (here > 0 ? 0 : -INFINITY));
            for (int i = 0; i < 8 && here == 0; i++)
                ck_assert_float_eq(c.p.numerators[s * 8 + i], 0);
        }
        case_free(&c);
    }
}
END_TEST

//: attention-test-limits
START_TEST(an_outlier_takes_all_the_weight)
{
    struct test_case c = new_case((struct kv_shape){KV_F32, 1, 9, 8}, 1, 9, 1);
    for (int i = 0; i < 8; i++)
        c.k[4 * 8 + i] = c.q[i] * 1000; // a score in the thousands; exp would overflow
    memcpy(c.keys, c.k, 9 * 8 * sizeof(float));
    run_case(&c);
    ck_assert(isfinite(c.p.maxima[0]) && c.p.maxima[0] > 1000);
    ck_assert(fabsf(c.p.sums[0] - 1) <= 1e-3f); // its score was rounded to be the maximum
    for (int i = 0; i < 8; i++)
        ck_assert(fabsf(c.p.numerators[i] / c.p.sums[0] - c.v[4 * 8 + i]) <= 1e-6f);
    case_free(&c);
}
END_TEST

//: attention-test-rest
START_TEST(positions_past_the_length_are_not_read)
{
    struct test_case c = new_case((struct kv_shape){KV_F32, 2, 8, 8}, 4, 5, 2);
    for (int head = 0; head < 2; head++)
        for (int i = 5 * 8; i < 8 * 8; i++)
            ((float *)c.keys)[head * 64 + i] = ((float *)c.values)[head * 64 + i] = NAN;
    check_formula(&c);
}
END_TEST

START_TEST(a_nan_in_the_cache_reaches_the_result)
{
    for (int position = 0; position < 3; position++) {
        struct test_case c = new_case((struct kv_shape){KV_F32, 1, 3, 8}, 1, 3, 1);
        ((float *)c.keys)[position * 8 + 3] = NAN;
        run_case(&c);
        ck_assert(isnan(c.p.sums[0]));
        case_free(&c);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("attention");
    add_case(s, "core", four_positions_worked_by_hand, two_positions_worked_by_hand,
             every_shape_gives_the_formula, scores_that_grow_or_fall_give_the_formula,
             equal_scores_count_the_positions_of_each_split, NULL);
    add_case(s, "limits", an_outlier_takes_all_the_weight,
             positions_past_the_length_are_not_read, a_nan_in_the_cache_reaches_the_result,
             NULL);
    return s;
}
