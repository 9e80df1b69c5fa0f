#include "device.h"

#include <cmath>

#include "cuda/launch.h"
extern "C" {
#include "rmsnorm.h"
#include "random.h"
}

namespace
{
constexpr float EPSILON = 1e-6f;

std::vector<float> random_vector(int n, int seed, float deviation)
{
    std::vector<float> x(static_cast<size_t>(n));
    random_fill(x.data(), n, seed, deviation);
    return x;
}

std::vector<float> norm(const std::vector<float> &x, const std::vector<float> &weight,
                        int rows)
{
    device_array<float> y(x.size()), dx(x), dw(weight);
    rmsnorm_cuda(y.data, dx.data, dw.data, EPSILON, rows, static_cast<int>(weight.size()),
                 nullptr);
    return y.read();
}

//: rmsnorm-bound
// What the roundings of the kernel can add up to, in units of 2^-24 of the result: the sum
// is of positive numbers and passes through a thread's own additions, 5 steps of a warp and
// 3 of the block; the root halves its error, the mean's and epsilon's; root, reciprocal and
// two products count whole.
double roundings(int columns)
{
    const int additions = (columns + 255) / 256 + 5 + 3;
    return (additions + 2) / 2.0 + 4;
}

//: rmsnorm-error
// The largest |y - exact| in units of 2^-24 * |exact|; half the smallest float is forgiven.
// A y that is not finite fails.
double error_of_row(const float *y, const float *x, const float *weight, int columns)
{
    long double sum = 0, worst = 0;
    for (int i = 0; i < columns; i++)
        sum += static_cast<long double>(x[i]) * x[i];
    const long double root = sqrtl(sum / columns + EPSILON);
    for (int i = 0; i < columns; i++) {
        const long double exact = x[i] / root * weight[i];
        ck_assert(std::isfinite(y[i]));
        const long double error = fabsl(y[i] - exact) - 0x1p-150L;
        if (error > 0)
            worst = std::max(worst, error / (0x1p-24L * fabsl(exact)));
    }
    return static_cast<double>(worst);
}

//: rmsnorm-check-rows
void check_rows(const std::vector<float> &x, const std::vector<float> &weight, int rows,
                double units)
{
    const std::vector<float> y = norm(x, weight, rows);
    const size_t columns = weight.size();
    for (size_t row = 0; row < static_cast<size_t>(rows); row++)
        ck_assert(error_of_row(&y[row * columns], &x[row * columns], weight.data(),
                               static_cast<int>(columns)) <= units);
}

//: rmsnorm-one-thread
// The norm as one thread would do it: what the kernel is compared with.
__global__ void one_thread_norm_kernel(float *y, const float *x, const float *weight,
                                       float epsilon, int columns)
{
    float sum = 0;
    for (int i = 0; i < columns; i++)
        sum = fmaf(x[i], x[i], sum);
    const float scale = 1.0f / sqrtf(sum / static_cast<float>(columns) + epsilon);
    for (int i = 0; i < columns; i++)
        y[i] = x[i] * scale * weight[i];
}

//: rmsnorm-after-one-thread
} // namespace

//: rmsnorm-kernel-tests
START_TEST(kernel_is_within_four_roundings_on_bell_shaped_rows)
{
    const int shapes[][2] = {{1, 1},    {33, 31},  {3, 32},   {3, 33},   {33, 96},
                             {3, 255},  {3, 256},  {3, 257},  {1, 1000}, {3, 2560},
                             {1, 4096}, {3, 4097}, {1, 5120}, {1, 25600}};
    for (const auto &[rows, columns] : shapes)
        for (float deviation : {0.01f, 1.0f, 300.0f})
            check_rows(random_vector(rows * columns, columns + rows, deviation),
                       random_vector(columns, columns, 1), rows, 4);
}
END_TEST

//: rmsnorm-adverse
START_TEST(kernel_is_within_its_bound_on_adverse_rows)
{
    for (int columns : {32, 257, 4096, 25600}) {
        const std::vector<float> weight = random_vector(columns, 1, 1);
        std::vector<float> x(weight.size(), 0.1f); // equal values: errors do not cancel
        check_rows(x, weight, 1, roundings(columns));
        x[x.size() / 2] = -3e4f; // an outlier that outweighs all others together
        check_rows(x, weight, 1, roundings(columns));
        x.assign(x.size(), 0x1p-140f); // subnormal: their squares vanish beside epsilon
        x[0] = 0;
        check_rows(x, weight, 1, roundings(columns));
        x.assign(x.size(), 1e16f); // the sum of squares nears a float's range
        check_rows(x, weight, 1, roundings(columns));
        x.assign(x.size(), 0);
        check_rows(x, weight, 1, 0);
    }
}
END_TEST

//: rmsnorm-naive-test
START_TEST(one_thread_a_row_is_off_by_a_thousand_roundings)
{
    const int columns = 25600;
    const std::vector<float> x(columns, 0.1f), weight(columns, 1.0f);
    device_array<float> y(x.size()), dx(x), dw(weight);
    launch(nullptr, 1, 1, one_thread_norm_kernel, y.data, dx.data, dw.data, EPSILON,
           columns);
    const std::vector<float> naive = y.read(), block = norm(x, weight, 1);
    ck_assert(error_of_row(naive.data(), x.data(), weight.data(), columns) > 1000);
    ck_assert(error_of_row(block.data(), x.data(), weight.data(), columns) < 10);
}
END_TEST

//: rmsnorm-kernel-forms
START_TEST(kernel_may_write_onto_its_input)
{
    for (int columns : {31, 256, 1000}) {
        const std::vector<float> x = random_vector(3 * columns, 1, 2),
                                 weight = random_vector(columns, 2, 1);
        device_array<float> dx(x), dw(weight);
        rmsnorm_cuda(dx.data, dx.data, dw.data, EPSILON, 3, columns, nullptr);
        ck_assert(dx.read() == norm(x, weight, 3));
    }
}
END_TEST

START_TEST(residual_kernel_equals_the_norm_of_the_sum)
{
    for (int columns : {1, 32, 33, 257, 4096}) {
        const int n = 3 * columns;
        const std::vector<float> left = random_vector(n, 3, 1),
                                 right = random_vector(n, 4, 1);
        const std::vector<float> weight = random_vector(columns, 5, 1);
        std::vector<float> sum(left);
        for (size_t i = 0; i < sum.size(); i++)
            sum[i] += right[i];
        const std::vector<float> expected = norm(sum, weight, 3);
        device_array<float> y(sum.size()), dl(left), dr(right), dw(weight);
        rmsnorm_residual_cuda(y.data, dl.data, dr.data, dw.data, EPSILON, 3, columns,
                              nullptr);
        ck_assert(y.read() == expected);
        rmsnorm_residual_cuda(dr.data, dl.data, dr.data, dw.data, EPSILON, 3, columns,
                              nullptr);
        ck_assert(dr.read() == expected);
    }
}
END_TEST

//: rmsnorm-q8-1-test
START_TEST(q8_1_kernel_equals_norm_and_quantizer_to_the_bit)
{
    for (int columns : {32, 96, 224, 256, 288, 1024, 2560, 4096, 5120}) {
        std::vector<float> x = random_vector(columns, columns, 2),
                           weight = random_vector(columns, 6, 1);
        x[x.size() / 3] = 500;
        std::fill_n(&x[x.size() - 32], columns > 32 ? 32 : 0, 0.0f); // a block of zeros
        const size_t count = x.size() / 32;
        device_array<float> y(x.size()), dx(x), dw(weight);
        device_array<block_q8_1> blocks(count);
        rmsnorm_q8_1_cuda(y.data, blocks.data, dx.data, dw.data, EPSILON, columns, nullptr);
        const std::vector<float> got = y.read();
        const std::vector<block_q8_1> got_blocks = blocks.read();
        std::vector<block_q8_1> expected(count);
        q8_1_cpu(expected.data(), got.data(), columns);
        ck_assert(got == norm(x, weight, 1));
        ck_assert_mem_eq(got_blocks.data(), expected.data(), count * sizeof(block_q8_1));
    }
}
END_TEST

//: rmsnorm-kernel-nan
START_TEST(nan_spoils_its_row_alone)
{
    std::vector<float> x = random_vector(3 * 300, 7, 1), weight = random_vector(300, 8, 1);
    x[300 + 299] = NAN;
    const std::vector<float> y = norm(x, weight, 3);
    for (size_t i = 0; i < y.size(); i++)
        ck_assert(std::isnan(y[i]) == (i / 300 == 1));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("rmsnorm_cuda");
    add_case(s, "core", kernel_is_within_four_roundings_on_bell_shaped_rows,
             one_thread_a_row_is_off_by_a_thousand_roundings,
             kernel_may_write_onto_its_input, residual_kernel_equals_the_norm_of_the_sum,
             q8_1_kernel_equals_norm_and_quantizer_to_the_bit, NULL);
    add_case(s, "limits", kernel_is_within_its_bound_on_adverse_rows,
             nan_spoils_its_row_alone, NULL);
    return s;
}
