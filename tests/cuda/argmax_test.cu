#include "device.h"

#include <cmath>

extern "C" {
#include "argmax.h"
#include "random.h"
}

namespace
{
int argmax(const std::vector<float> &x)
{
    const int n = static_cast<int>(x.size());
    device_array<float> dx(x);
    device_array<argmax_pair> partials(static_cast<size_t>(argmax_partials(n)));
    device_array<int> index(1);
    argmax_cuda(index.data, partials.data, dx.data, n, nullptr);
    partials.read(); // its fences
    return index.read()[0];
}

std::vector<float> random_vector(int n, int seed)
{
    std::vector<float> x(static_cast<size_t>(n));
    random_fill(x.data(), n, seed, 1);
    return x;
}
} // namespace

//: argmax-kernel-tests
START_TEST(kernel_equals_oracle_on_any_length)
{
    for (int n :
         {1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4096, 151936, 300000}) {
        const std::vector<float> x = random_vector(n, n);
        ck_assert_int_eq(argmax(x), argmax_cpu(x.data(), n));
    }
}
END_TEST

START_TEST(a_lone_maximum_is_found_in_every_place)
{
    for (size_t at :
         {0, 1, 31, 32, 255, 256, 511, 767, 768, 1023, 1024, 1500, 2047, 2048, 2999}) {
        std::vector<float> x = random_vector(3000, 1);
        x[at] = 10;
        ck_assert_int_eq(argmax(x), static_cast<int>(at));
    }
    std::vector<float> x = random_vector(300000, 1); // more partial pairs than threads
    x[299000] = 10;
    ck_assert_int_eq(argmax(x), 299000);
}
END_TEST

//: argmax-ties-test
START_TEST(ties_go_to_the_lowest_index_across_lanes_warps_and_blocks)
{
    const size_t places[] = {3, 5, 40, 256 + 4, 512 + 2, 1024 + 1, 2048, 300000 - 1};
    for (size_t first : places)
        for (size_t second : places) {
            if (first >= second || (second > 3000 && first != 2048))
                continue;
            std::vector<float> x(second + 1, -1.0f);
            x[first] = -0.0f;
            x[second] = 0.0f;
            ck_assert_int_eq(argmax(x), static_cast<int>(first));
        }
    ck_assert_int_eq(argmax(std::vector<float>(5000, 2.5f)), 0);
}
END_TEST

//: argmax-kernel-limits
START_TEST(nan_never_wins_and_minus_infinity_may)
{
    for (int n : {1, 33, 1025, 5000}) {
        std::vector<float> x(static_cast<size_t>(n), NAN);
        ck_assert_int_eq(argmax(x), -1);
        x.back() = -INFINITY;
        ck_assert_int_eq(argmax(x), n - 1);
        x[x.size() / 2] = -INFINITY;
        ck_assert_int_eq(argmax(x), n / 2);
        x[0] = INFINITY;
        ck_assert_int_eq(argmax(x), 0);
    }
}
END_TEST

START_TEST(nan_among_values_changes_nothing)
{
    std::vector<float> x = random_vector(4096, 9);
    for (size_t i = 0; i < x.size(); i += 3)
        x[i] = i % 2 == 0 ? NAN : -NAN;
    ck_assert_int_eq(argmax(x), argmax_cpu(x.data(), 4096));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("argmax_cuda");
    add_case(s, "core", kernel_equals_oracle_on_any_length,
             a_lone_maximum_is_found_in_every_place,
             ties_go_to_the_lowest_index_across_lanes_warps_and_blocks, NULL);
    add_case(s, "limits", nan_never_wins_and_minus_infinity_may,
             nan_among_values_changes_nothing, NULL);
    return s;
}
