#include "device.h"

extern "C" {
#include "residual.h"
}

START_TEST(kernel_equals_oracle_on_any_length)
{
    const int lengths[] = {1, 31, 256, 257, 1000};
    for (int n : lengths) {
        std::vector<float> left, right, expected(static_cast<size_t>(n));
        for (int i = 0; i < n; i++) {
            left.push_back(static_cast<float>(i) * 0.37f - 3.0f);
            right.push_back(1.0f / static_cast<float>(i + 1));
        }
        residual_add_cpu(expected.data(), left.data(), right.data(), n);
        device_array<float> y(expected.size()), a(left), b(right);
        residual_add_cuda(y.data, a.data, b.data, n, nullptr);
        ck_assert(y.read() == expected);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("residual_cuda");
    add_case(s, "core", kernel_equals_oracle_on_any_length, NULL);
    return s;
}
