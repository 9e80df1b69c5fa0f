#include <math.h>

#include "gemv.h"

extern "C" {
#include "blocks.h"
#include "gemv_q4k.h"
#include "gemv_q4k_naive.h"
}

//: gemv-q4k-naive-test
typedef void gemv(float *, const block_q4k *, const block_q8_1 *, int, int, cudaStream_t);

static void check_steps(gemv *step)
{
    struct random r = {1};
    const int rows[] = {1, 5, 33, 130}, columns[] = {256, 768, 4096};
    for (int m : rows)
        for (int n : columns)
            for (int kind = 0; kind < ACTIVATION_KINDS; kind++) {
                std::vector<block_q4k> w(static_cast<size_t>(m * (n / 256)));
                random_blocks(&r, w.data(), TENSOR_Q4_K, w.size());
                const auto x = quantized(random_activations(&r, n, kind));
                std::vector<float> expected(static_cast<size_t>(m));
                gemv_q4k_cpu(expected.data(), w.data(), x.data(), m, n);
                device_array<block_q4k> w_device(w);
                device_array<block_q8_1> x_device(x);
                device_array<float> y(expected.size());
                step(y.data, w_device.data, x_device.data, m, n, nullptr);
                check_close(y.read(), expected);
            }
}

//: gemv-q4k-naive-test-cases
START_TEST(one_thread_a_row_matches_the_oracle)
{
    check_steps(gemv_q4k_thread_cuda);
}
END_TEST

START_TEST(one_warp_a_row_matches_the_oracle)
{
    check_steps(gemv_q4k_warp_cuda);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("gemv_q4k_naive_cuda");
    add_case(s, "core", one_thread_a_row_matches_the_oracle,
             one_warp_a_row_matches_the_oracle, NULL);
    return s;
}
