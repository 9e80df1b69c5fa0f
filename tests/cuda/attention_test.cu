#include "attention_case.h"
#include "cuda/launch.h"

//: attention-kernel-test-check
// Scores are sums of head_dim products in f32, and a weight is off by as much as its score
// is: some 1e-6 for scores of the size that models have.
static void check_close(const attention_case &c, int splits, const host_partials &expected,
                        const host_partials &got)
{
    const int dims = c.shape.head_dim;
    double largest = 0, error = 0, squares = 0, error_squares = 0;
    for (int head = 0; head < c.heads; head++)
        for (int i = 0; i < dims; i++) {
            const double wanted = expected.merged(head, splits, dims, i);
            const double found = got.merged(head, splits, dims, i);
            ck_assert(std::isfinite(wanted) && std::isfinite(found));
            largest = fmax(largest, fabs(wanted));
            error = fmax(error, fabs(found - wanted));
            squares += wanted * wanted;
            error_squares += (found - wanted) * (found - wanted);
        }
    ck_assert_msg(error <= 1e-5 * largest, "error %g of %g", error, largest);
    ck_assert_msg(error_squares <= 1e-10 * squares, "NMSE %g", error_squares / squares);
}

//: attention-kernel-test-each
// Each split's own state too: one that is wrong can hide behind a greater one.
static void check_each(const attention_case &c, const host_partials &expected,
                       const host_partials &got)
{
    for (size_t s = 0; s < expected.sums.size(); s++) {
        const float maximum = expected.maxima[s], sum = expected.sums[s];
        if (maximum == -INFINITY)
            ck_assert(got.maxima[s] == -INFINITY && got.sums[s] == 0);
        else
            ck_assert(fabsf(got.maxima[s] - maximum) <= 2e-6f * (5 + fabsf(maximum)));
        ck_assert(fabsf(got.sums[s] - sum) <= 1e-4f * sum);
        for (size_t i = c.count(static_cast<int>(s)); i < c.count(static_cast<int>(s) + 1);
             i++)
            ck_assert(fabsf(got.numerators[i] - expected.numerators[i]) <= 1e-4f * sum);
    }
}

//: attention-kernel-test-both
static void check(const attention_case &c, int splits)
{
    const host_partials expected = attend_on_host(c, splits);
    const host_partials got = attend_on_device(c, splits);
    check_close(c, splits, expected, got);
    check_each(c, expected, got);
}

//: attention-kernel-test-core
static kv_shape shape_of(kv_type type, int kv_heads, int length, int head_dim)
{
    return {type, kv_heads, length + 3, head_dim};
}

#ifdef SIMT_RACE
static const int lengths[] = {1, 63, 65, 257};
#else
static const int lengths[] = {1, 63, 64, 65, 511, 512, 513, 8191};
#endif

START_TEST(kernel_matches_oracle_at_every_length)
{
    for (kv_type type : {KV_F16, KV_F32})
        for (int length : lengths)
            check({shape_of(type, 1, length, 128), 2, length}, length > 64 ? 8 : 1);
}
END_TEST

//: attention-kernel-test-heads
START_TEST(query_heads_share_their_kv_head)
{
    const int heads[][2] = {{4, 2}, {3, 1}, {32, 8}, {16, 8}, {5, 5}};
    for (kv_type type : {KV_F16, KV_F32})
        for (const int *n : heads)
            check({shape_of(type, n[1], 37, 128), n[0], 37}, 2);
}
END_TEST

START_TEST(any_number_of_splits_gives_the_same)
{
    const attention_case c(shape_of(KV_F16, 1, 130, 128), 1, 130);
    const host_partials whole = attend_on_host(c, 1);
#ifdef SIMT_RACE
    for (int splits : {2, 7, 64})
#else
    for (int splits = 1; splits <= 64; splits++)
#endif
    {
        const host_partials got = attend_on_device(c, splits);
        check_each(c, attend_on_host(c, splits), got);
        for (int i = 0; i < 128; i++)
            ck_assert(fabs(got.merged(0, splits, 128, i) - whole.merged(0, 1, 128, i)) <=
                      1e-6);
    }
}
END_TEST

//: attention-kernel-test-empty
START_TEST(splits_beyond_the_last_position_are_empty)
{
    for (kv_type type : {KV_F16, KV_F32})
        for (int length : {1, 5, 63})
            check({shape_of(type, 2, length, 128), 2, length}, 64);
}
END_TEST

//: attention-kernel-test-shapes
START_TEST(other_head_dims_match_too)
{
    for (kv_type type : {KV_F16, KV_F32})
        for (int head_dim : {8, 64, 80, 96, 120, 136, 256, 264})
            check({shape_of(type, 2, 21, head_dim), 4, 21}, 2);
}
END_TEST

//: attention-kernel-test-scores
START_TEST(scores_that_grow_or_fall_match)
{
    for (float direction : {-1.0f, 1.0f}) {
        attention_case c(shape_of(KV_F32, 1, 200, 128), 1, 200);
        float *keys = reinterpret_cast<float *>(c.keys.data());
        for (int t = 0; t < 200; t++) // scores of -10 to 10, in order
            for (int i = 0; i < 128; i++)
                keys[t * 128 + i] = direction * static_cast<float>(t - 100) / 110 * c.q[i];
        check(c, 1);
        check(c, 3);
    }
}
END_TEST

//: attention-kernel-test-outliers
START_TEST(outliers_take_all_the_weight)
{
    for (kv_type type : {KV_F16, KV_F32}) {
        const auto outliers = [](int t, floats &k, floats &) {
            if (t == 17 || t == 71) // equal scores, some hundreds above the rest
                k.assign(k.size(), 50);
        };
        attention_case c(shape_of(type, 1, 100, 128), 2, 100, outliers);
        for (float &x : c.q)
            x = fabsf(x);
        check(c, 1);
        check(c, 5);
    }
}
END_TEST

//: attention-kernel-test-limits
START_TEST(a_zero_query_averages_the_values)
{
    attention_case c(shape_of(KV_F16, 1, 33, 128), 1, 33);
    c.q.assign(c.q.size(), 0);
    const host_partials got = attend_on_device(c, 3);
    for (int s = 0; s < 3; s++) {
        ck_assert(got.maxima[s] == 0);
        ck_assert(got.sums[s] == 11);
    }
    check(c, 3);
}
END_TEST

START_TEST(zero_values_give_zero)
{
    const auto zeros = [](int, floats &, floats &v) { v.assign(v.size(), 0); };
    const attention_case c(shape_of(KV_F32, 1, 40, 128), 1, 40, zeros);
    for (float x : attend_on_device(c, 2).numerators)
        ck_assert(x == 0);
}
END_TEST

START_TEST(a_nan_key_reaches_its_own_head_alone)
{
    const auto nan = [](int t, floats &k, floats &) {
        if (t == 20)
            k[128 + 3] = NAN; // of kv head 1
    };
    const host_partials got =
        attend_on_device({shape_of(KV_F16, 2, 40, 128), 2, 40, nan}, 1);
    ck_assert(std::isfinite(got.sums[0]) && std::isnan(got.sums[1]));
}
END_TEST

START_TEST(the_position_is_read_when_the_kernel_runs)
{
    const attention_case c(shape_of(KV_F16, 1, 50, 128), 1, 50);
    device_array<float> q(c.q), maxima(4), sums(4), numerators(4 * 128);
    device_array<unsigned char> keys(c.keys), values(c.values);
    device_array<int> position(1);
    attention_partials p = {maxima.data, sums.data, numerators.data};
    for (int length : {50, 1, 17}) {
        const int last = length - 1;
        CHECK_CUDA(cudaMemcpy(position.data, &last, sizeof last, cudaMemcpyHostToDevice));
        attention_cuda(&p, q.data, keys.data, values.data, &c.shape, 1, position.data, 4,
                       nullptr);
        attention_case shorter = c;
        shorter.length = length;
        check_each(c, attend_on_host(shorter, 4),
                   {maxima.read(SAME_IN_EVERY_ORDER), sums.read(SAME_IN_EVERY_ORDER),
                    numerators.read(SAME_IN_EVERY_ORDER)});
    }
}
END_TEST

//: attention-kernel-test-wave
START_TEST(a_wave_is_a_whole_number_of_blocks_for_each_multiprocessor)
{
    cudaDeviceProp properties;
    CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
    const int f16 = attention_cuda_wave(KV_F16, 128),
              f32 = attention_cuda_wave(KV_F32, 128);
    ck_assert_int_gt(f16, 0);
    ck_assert_int_gt(f32, 0);
    ck_assert_int_eq(f16 % properties.multiProcessorCount, 0);
    ck_assert_int_eq(f32 % properties.multiProcessorCount, 0);
    ck_assert_int_gt(attention_cuda_wave(KV_F16, 256), 0);
    if (properties.major == 8 && properties.minor == 9) {
        ck_assert_int_eq(f16, 9 * properties.multiProcessorCount); // 56 registers a thread
        ck_assert_int_eq(f32, 8 * properties.multiProcessorCount); // 64
    }
}
END_TEST

//: attention-kernel-test-naive
// A thread for each dimension: each finds every score for itself.
__global__ void naive_kernel(float *out, const float *q, const float *keys,
                             const float *values, int length)
{
    const int dims = static_cast<int>(blockDim.x), dim = static_cast<int>(threadIdx.x);
    float maximum = -INFINITY, sum = 0, numerator = 0;
    for (int t = 0; t < length; t++) {
        float score = 0;
        for (int i = 0; i < dims; i++)
            score = fmaf(q[i], keys[t * dims + i], score);
        score /= sqrtf(static_cast<float>(dims));
        const float greatest = fmaxf(maximum, score);
        const float shrink = expf(maximum - greatest), weight = expf(score - greatest);
        maximum = greatest;
        sum = fmaf(sum, shrink, weight);
        numerator = fmaf(numerator, shrink, weight * values[t * dims + dim]);
    }
    out[dim] = numerator / sum;
}

//: attention-kernel-test-naive-matches
START_TEST(the_naive_kernel_matches_too)
{
    const attention_case c(shape_of(KV_F32, 1, 50, 128), 1, 50);
    device_array<float> q(c.q), out(128);
    device_array<unsigned char> keys(c.keys), values(c.values);
    launch(nullptr, 1, 128, naive_kernel, out.data, q.data,
           reinterpret_cast<const float *>(keys.data),
           reinterpret_cast<const float *>(values.data), c.length);
    const floats got = out.read(SAME_IN_EVERY_ORDER);
    const host_partials expected = attend_on_host(c, 1);
    for (int i = 0; i < 128; i++)
        ck_assert(fabs(static_cast<double>(got[i]) - expected.merged(0, 1, 128, i)) <=
                  1e-6);
}
END_TEST

//: attention-kernel-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("attention_cuda");
    add_case(s, "core", kernel_matches_oracle_at_every_length,
             query_heads_share_their_kv_head, any_number_of_splits_gives_the_same,
             splits_beyond_the_last_position_are_empty, other_head_dims_match_too,
             scores_that_grow_or_fall_match, the_naive_kernel_matches_too,
             a_wave_is_a_whole_number_of_blocks_for_each_multiprocessor, NULL);
    add_case(s, "limits", outliers_take_all_the_weight, a_zero_query_averages_the_values,
             zero_values_give_zero, a_nan_key_reaches_its_own_head_alone,
             the_position_is_read_when_the_kernel_runs, NULL);
    return s;
}
