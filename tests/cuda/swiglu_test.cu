#include "device.h"

#include <cmath>

extern "C" {
#include "random.h"
#include "swiglu.h"
}

namespace
{
std::vector<float> random_vector(int n, int seed, float deviation)
{
    std::vector<float> x(static_cast<size_t>(n));
    random_fill(x.data(), n, seed, deviation);
    return x;
}

std::vector<float> glu(const std::vector<float> &gate, const std::vector<float> &up)
{
    device_array<float> y(gate.size()), dg(gate), du(up);
    swiglu_cuda(y.data, nullptr, dg.data, du.data, static_cast<int>(gate.size()), nullptr);
    return y.read(SAME_IN_EVERY_ORDER);
}

//: swiglu-bound
// Sum, quotient and product round once each, and expf is off by up to an ulp, which is two
// roundings: five roundings of 2^-24.  Below -88.7 expf(-gate) is infinite and the kernel's
// silu is 0, where the exact one is at most 88.8 * e^-88.7 < 2^-121.  Among subnormal
// numbers a rounding is half of 2^-149: silu's, which up multiplies, and the product's.
void check_close(float y, float gate, float up)
{
    const long double exact = gate / (1 + expl(-static_cast<long double>(gate))) * up;
    const long double lost = (gate < -88.7f ? 0x1p-121L : 0x1p-150L) * fabsl(up);
    ck_assert(std::isfinite(y));
    ck_assert(fabsl(y - exact) <= 5 * 0x1p-24L * fabsl(exact) + lost + 0x1p-150L);
}
} // namespace

//: swiglu-kernel-tests
START_TEST(kernel_is_within_five_roundings_on_any_length)
{
    for (int n : {1, 31, 32, 33, 255, 256, 257, 1000, 12288})
        for (float deviation : {0.1f, 3.0f, 40.0f}) {
            const std::vector<float> gate = random_vector(n, n, deviation),
                                     up = random_vector(n, n + 1, 2);
            const std::vector<float> y = glu(gate, up);
            for (size_t i = 0; i < y.size(); i++)
                check_close(y[i], gate[i], up[i]);
        }
}
END_TEST

//: swiglu-blocks-test
START_TEST(blocks_equal_the_quantizer_s_of_the_output_to_the_bit)
{
    for (int n : {32, 96, 256, 288, 768, 9728}) {
        std::vector<float> gate = random_vector(n, n, 3);
        const std::vector<float> up = random_vector(n, n + 1, 3);
        std::fill_n(gate.begin(), 32, -200.0f); // a block of zeros
        const size_t count = gate.size() / 32;
        device_array<float> dg(gate), du(up);
        device_array<block_q8_1> blocks(count);
        const std::vector<float> plain = glu(gate, up);
        swiglu_cuda(du.data, blocks.data, dg.data, du.data, n, nullptr); // onto up
        const std::vector<float> y = du.read(SAME_IN_EVERY_ORDER);
        const std::vector<block_q8_1> got = blocks.read(SAME_IN_EVERY_ORDER);
        std::vector<block_q8_1> expected(count);
        q8_1_cpu(expected.data(), y.data(), n);
        ck_assert(y == plain);
        ck_assert_mem_eq(got.data(), expected.data(), count * sizeof(block_q8_1));
    }
}
END_TEST

//: swiglu-extremes
START_TEST(extreme_gates_stay_finite)
{
    const std::vector<float> gate = {0,    -0.0f,  0x1p-149f, -0x1p-149f, 88,
                                     -88,  -88.6f, -89,       -104,       104,
                                     -200, 3e38f,  -3e38f,    1e-20f};
    const std::vector<float> up(gate.size(), 1.0f), large(gate.size(), 3e37f);
    const std::vector<float> y = glu(gate, up), z = glu(gate, large);
    for (size_t i = 0; i < gate.size(); i++) {
        check_close(y[i], gate[i], 1);
        if (gate[i] < 1)
            check_close(z[i], gate[i], 3e37f);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("swiglu_cuda");
    add_case(s, "core", kernel_is_within_five_roundings_on_any_length,
             blocks_equal_the_quantizer_s_of_the_output_to_the_bit, NULL);
    add_case(s, "limits", extreme_gates_stay_finite, NULL);
    return s;
}
