#include "attention_case.h"

extern "C" {
#include "split_count.h"
#include "split_merge.h"
}

using blocks_q8_1 = std::vector<block_q8_1>;

struct merged_output {
    floats out;
    blocks_q8_1 blocks;
};

static merged_output merge_on_device(const host_partials &p, int heads, int splits,
                                     int head_dim, bool quantize = true)
{
    const size_t n = static_cast<size_t>(heads * head_dim);
    device_array<float> maxima(p.maxima), sums(p.sums), numerators(p.numerators), out(n);
    device_array<block_q8_1> blocks(n / 32);
    const attention_partials view = {maxima.data, sums.data, numerators.data};
    split_merge_cuda(out.data, quantize ? blocks.data : nullptr, &view, heads, splits,
                     head_dim, nullptr);
    ck_assert(numerators.read(SAME_IN_EVERY_ORDER) == p.numerators);
    merged_output result = {out.read(SAME_IN_EVERY_ORDER), {}};
    if (quantize)
        result.blocks = blocks.read(SAME_IN_EVERY_ORDER);
    return result;
}

//: split-merge-kernel-test-check
static host_partials random_partials(uint64_t seed, int heads, int splits, int head_dim)
{
    struct random r = {seed};
    const size_t n = static_cast<size_t>(heads * splits);
    host_partials p = {floats(n), floats(n), floats(n * static_cast<size_t>(head_dim))};
    for (size_t s = 0; s < n; s++) {
        p.maxima[s] = 3 * random_normal(&r);
        p.sums[s] = 1 + 50 * fabsf(random_normal(&r));
    }
    random_floats(&r, p.numerators.data(), p.numerators.size());
    return p;
}

static void empty_split(host_partials &p, size_t s, size_t head_dim)
{
    p.maxima[s] = -INFINITY;
    p.sums[s] = 0;
    std::fill_n(&p.numerators[s * head_dim], head_dim, 0.0f);
}

//: split-merge-kernel-test-tolerance
// The result is a quotient of two sums of exp(m - M) x.  In f32 an exp is off by up to 2
// ulp, a difference of maxima by half an ulp (which matters little where it is great: the
// weight is small there), a product and each addition by half an ulp.  Additions in a row
// err in both directions, so that 64 of them come to about an ulp.  Four ulp, 4 * 2^-23, of
// the magnitudes that were added, for the numerator and for the denominator, hold it all;
// the worst of these tests needs half of that.
static double tolerance(const host_partials &p, int head, int splits, int head_dim, int dim)
{
    double greatest = -INFINITY, magnitude = 0, denominator = 0;
    for (int s = head * splits; s < (head + 1) * splits; s++)
        greatest = fmax(greatest, static_cast<double>(p.maxima[s]));
    for (int s = head * splits; s < (head + 1) * splits; s++) {
        const double weight = exp(static_cast<double>(p.maxima[s]) - greatest);
        magnitude += weight * fabs(static_cast<double>(p.numerators[s * head_dim + dim]));
        denominator += weight * static_cast<double>(p.sums[s]);
    }
    const double out = fabs(p.merged(head, splits, head_dim, dim));
    return 4 * 0x1p-23 * (magnitude / denominator + out);
}

//: split-merge-kernel-test-check-all
static void check(const host_partials &p, int heads, int splits, int head_dim)
{
    const merged_output got = merge_on_device(p, heads, splits, head_dim);
    for (int head = 0; head < heads; head++)
        for (int dim = 0; dim < head_dim; dim++) {
            const double expected = p.merged(head, splits, head_dim, dim);
            const float x = got.out[static_cast<size_t>(head * head_dim + dim)];
            ck_assert(std::isfinite(x));
            ck_assert(fabs(static_cast<double>(x) - expected) <=
                      tolerance(p, head, splits, head_dim, dim));
        }
    blocks_q8_1 blocks(got.blocks.size());
    q8_1_cpu(blocks.data(), got.out.data(), heads * head_dim);
    ck_assert(memcmp(blocks.data(), got.blocks.data(), blocks.size() * sizeof blocks[0]) ==
              0);
}

//: split-merge-kernel-test-core
START_TEST(kernel_matches_the_formula_for_any_number_of_splits)
{
    for (int splits = 1; splits <= MAX_SPLITS; splits++)
        check(random_partials(static_cast<uint64_t>(splits), 2, splits, 128), 2, splits,
              128);
}
END_TEST

//: split-merge-kernel-test-dims
START_TEST(kernel_matches_the_formula_for_any_head_dim)
{
    const int shapes[][2] = {{4, 8},  {2, 16},  {3, 32},  {2, 64}, {2, 80},
                             {1, 96}, {4, 136}, {2, 256}, {1, 288}};
    for (const int *n : shapes) // heads, head_dim
        check(random_partials(7, n[0], 5, n[1]), n[0], 5, n[1]);
}
END_TEST

START_TEST(empty_splits_anywhere_change_nothing)
{
    for (int splits : {2, 33, 64}) {
        host_partials p = random_partials(9, 2, splits, 128);
        for (int s = 0; s < 2 * splits; s++)
            if (s % splits != splits / 2) // one of each head remains
                empty_split(p, static_cast<size_t>(s), 128);
        check(p, 2, splits, 128);
    }
}
END_TEST

//: split-merge-kernel-test-attention
START_TEST(attention_and_merge_match_their_oracles)
{
    for (kv_type type : {KV_F16, KV_F32})
        for (int splits : {1, 8, 36}) {
            const attention_case c({type, 2, 300, 128}, 4, 300);
            host_partials expected = attend_on_host(c, splits);
            const attention_partials view = expected.view();
            floats out(4 * 128);
            split_merge_cpu(out.data(), nullptr, &view, 4, splits, 128);
            const merged_output got =
                merge_on_device(attend_on_device(c, splits), 4, splits, 128);
            float largest = 0, error = 0;
            for (size_t i = 0; i < out.size(); i++) {
                ck_assert(std::isfinite(got.out[i]));
                largest = fmaxf(largest, fabsf(out[i]));
                error = fmaxf(error, fabsf(got.out[i] - out[i]));
            }
            ck_assert(error <= 1e-5f * largest);
        }
}
END_TEST

//: split-merge-kernel-test-limits
START_TEST(maxima_too_great_for_exp_are_relative)
{
    for (float far : {-5000.0f, 5000.0f}) {
        host_partials p = random_partials(3, 2, 6, 64);
        for (float &m : p.maxima)
            m = roundf(m * 1024) / 1024; // stays exact beyond 4096
        const floats near_out = merge_on_device(p, 2, 6, 64).out;
        for (float &m : p.maxima)
            m += far;
        ck_assert(merge_on_device(p, 2, 6, 64).out == near_out);
    }
}
END_TEST

START_TEST(a_nan_reaches_its_own_head_alone)
{
    host_partials p = random_partials(4, 3, 4, 64);
    p.sums[4 + 3] = NAN; // of head 1
    const floats out = merge_on_device(p, 3, 4, 64).out;
    for (size_t i = 0; i < out.size(); i++)
        ck_assert(std::isnan(out[i]) == (i / 64 == 1));
}
END_TEST

START_TEST(without_blocks_the_result_is_the_same)
{
    const host_partials p = random_partials(5, 2, 3, 80);
    ck_assert(merge_on_device(p, 2, 3, 80, false).out == merge_on_device(p, 2, 3, 80).out);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("split_merge_cuda");
    add_case(s, "core", kernel_matches_the_formula_for_any_number_of_splits,
             kernel_matches_the_formula_for_any_head_dim,
             empty_splits_anywhere_change_nothing, attention_and_merge_match_their_oracles,
             NULL);
    add_case(s, "limits", maxima_too_great_for_exp_are_relative,
             a_nan_reaches_its_own_head_alone, without_blocks_the_result_is_the_same, NULL);
    return s;
}
