#include <math.h>

#include "device.h"
#include "random.h"

extern "C" {
#include "q8_1.h"
}

//: q8-1-kernel-test
static void check_bytes(const std::vector<float> &x)
{
    const int n = static_cast<int>(x.size());
    std::vector<block_q8_1> expected(x.size() / 32);
    q8_1_cpu(expected.data(), x.data(), n);
    device_array<float> in(x);
    device_array<block_q8_1> out(expected.size());
    q8_1_cuda(out.data, in.data, n, nullptr);
    const std::vector<block_q8_1> found = out.read();
    for (size_t b = 0; b < expected.size(); b++)
        ck_assert_mem_eq(&found[b], &expected[b], sizeof found[b]);
}

//: q8-1-kernel-test-random
START_TEST(kernel_equals_oracle_to_the_byte)
{
    struct random r = {1};
    const size_t lengths[] = {32, 96, 224, 256, 288, 1024, 4096};
    for (int seed = 0; seed < 10; seed++)
        for (size_t n : lengths) {
            std::vector<float> x(n);
            random_floats(&r, x.data(), n);
            check_bytes(x);
            x[n / 3] = 3000;
            check_bytes(x);
        }
}
END_TEST

//: q8-1-kernel-test-limits
START_TEST(kernel_equals_oracle_on_halves_and_extremes)
{
    struct random r = {2};
    const float scales[] = {0,         -0.0f,  0x1p-149f, 0x1p-140f,
                            0x1p-126f, 1e-20f, 1e-6f,     1e30f};
    for (float scale : scales) {
        std::vector<float> x(256);
        for (float &value : x)
            value =
                scale * static_cast<float>(static_cast<int>(random_bits(&r) % 511) - 255);
        check_bytes(x);
    }
    std::vector<float> halves(256);
    for (int i = 0; i < 256; i++)
        halves[static_cast<size_t>(i)] = i % 32 ? static_cast<float>(i - 128) * 0.5f : 127;
    check_bytes(halves);
    check_bytes(std::vector<float>(64, 3000.0f));
    check_bytes(std::vector<float>(64, -3.0e38f));
}
END_TEST

//: q8-1-kernel-test-nan
START_TEST(kernel_equals_oracle_on_infinity_and_nan)
{
    const float strange[] = {INFINITY, -INFINITY, NAN, -NAN};
    for (float value : strange)
        for (size_t at = 0; at < 32; at++) {
            std::vector<float> x(96, 1.0f);
            x[32 + at] = value;
            check_bytes(x);
        }
}
END_TEST

//: q8-1-kernel-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("q8_1_cuda");
    add_case(s, "core", kernel_equals_oracle_to_the_byte, NULL);
    add_case(s, "limits", kernel_equals_oracle_on_halves_and_extremes,
             kernel_equals_oracle_on_infinity_and_nan, NULL);
    return s;
}
