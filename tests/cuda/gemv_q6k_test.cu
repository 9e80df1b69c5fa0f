#include <math.h>

#include <algorithm>

#include "gemv.h"

extern "C" {
#include "gemv_q6k.h"
#include "residual.h"
}

//: gemv-q6k-kernel-matrix
// A matrix of random blocks, on both machines.
struct matrix {
    int rows, columns;
    std::vector<block_q6k> blocks;
    device_array<block_q6k> device;

    matrix(struct random *r, int rows_, int columns_)
        : rows(rows_), columns(columns_),
          blocks(random_blocks(r, rows_ * (columns_ / 256))), device(blocks)
    {
    }
    static std::vector<block_q6k> random_blocks(struct random *r, int count)
    {
        std::vector<block_q6k> w(static_cast<size_t>(count));
        for (block_q6k &b : w) {
            for (size_t i = 0; i < sizeof b; i += 2) {
                const uint32_t bits = random_bits(r);
                memcpy(reinterpret_cast<char *>(&b) + i, &bits, 2);
            }
            b.d = random_half_scale(r);
        }
        return w;
    }

    std::vector<float> oracle(const std::vector<block_q8_1> &x) const
    {
        std::vector<float> y(static_cast<size_t>(rows));
        gemv_q6k_cpu(y.data(), blocks.data(), x.data(), rows, columns);
        return y;
    }
    // Rows first..first+count-1 as a matrix of their own.
    std::vector<float> kernel(const std::vector<block_q8_1> &x, int first, int count) const
    {
        device_array<float> y(static_cast<size_t>(count));
        device_array<block_q8_1> x_device(x);
        gemv_q6k_cuda(y.data, device.data + first * (columns / 256), x_device.data, nullptr,
                      count, columns, nullptr);
        return y.read();
    }
    std::vector<float> kernel(const std::vector<block_q8_1> &x) const
    {
        return kernel(x, 0, rows);
    }
};

//: gemv-q6k-kernel-test-widths
START_TEST(kernel_matches_oracle_on_every_width_and_ragged_rows)
{
    struct random r = {1};
    const int rows[] = {1, 3, 5, 33};
    const int columns[] = {256, 512, 768, 2304, 4096, 9728, 12288, 25600};
    for (int n : columns)
        for (int m : rows) {
            const matrix w(&r, m, n);
            const auto x = quantized(random_activations(&r, n, NORMAL));
            check_close(w.kernel(x), w.oracle(x));
        }
}
END_TEST

START_TEST(kernel_matches_oracle_on_many_rows)
{
    struct random r = {2};
    const int shapes[][2] = {{1025, 256}, {1026, 2304}, {4099, 256}, {4097, 768}};
    for (const int *shape : shapes) {
        const matrix w(&r, shape[0], shape[1]);
        const auto x = quantized(random_activations(&r, shape[1], NORMAL));
        check_close(w.kernel(x), w.oracle(x));
    }
}
END_TEST

//: gemv-q6k-kernel-test-bits
START_TEST(a_row_has_the_same_bits_in_a_matrix_of_any_size)
{
    struct random r = {3};
    const matrix w(&r, 4101, 768);
    const auto x = quantized(random_activations(&r, 768, NORMAL));
    const std::vector<float> all = w.kernel(x);
    const int sizes[] = {1, 1025, 3001};
    for (int rows : sizes) {
        const std::vector<float> part = w.kernel(x, 1000, rows);
        ck_assert(std::equal(part.begin(), part.end(), all.begin() + 1000));
    }
}
END_TEST

//: gemv-q6k-kernel-test-residual
START_TEST(the_fused_residual_equals_the_kernels_in_turn_to_the_bit)
{
    struct random r = {5};
    const int shapes[][2] = {{1, 256}, {5, 4096}, {33, 768}, {1030, 512}, {4098, 256}};
    for (const int *shape : shapes) {
        const matrix w(&r, shape[0], shape[1]);
        device_array<block_q8_1> x(quantized(random_activations(&r, shape[1], NORMAL)));
        std::vector<float> stream(static_cast<size_t>(shape[0]));
        for (float &value : stream)
            value = 30 * random_normal(&r);
        device_array<float> y(stream.size()), product(stream.size()), sum(stream.size()),
            left(stream), in_place(stream);
        gemv_q6k_cuda(product.data, w.device.data, x.data, nullptr, shape[0], shape[1],
                      nullptr);
        residual_add_cuda(sum.data, left.data, product.data, shape[0], nullptr);
        gemv_q6k_cuda(y.data, w.device.data, x.data, left.data, shape[0], shape[1],
                      nullptr);
        gemv_q6k_cuda(in_place.data, w.device.data, x.data, in_place.data, shape[0],
                      shape[1], nullptr);
        const std::vector<float> expected = sum.read();
        ck_assert(y.read() == expected);
        ck_assert(in_place.read() == expected);
    }
}
END_TEST

//: gemv-q6k-kernel-test-limits
START_TEST(outliers_overflowing_sums_and_tiny_values_match_the_oracle)
{
    struct random r = {6};
    const int columns[] = {256, 2304, 4096, 12288};
    for (int kind = 0; kind < ACTIVATION_KINDS; kind++)
        for (int n : columns) {
            const matrix w(&r, 9, n);
            const auto x = quantized(random_activations(&r, n, kind));
            check_close(w.kernel(x), w.oracle(x));
        }
}
END_TEST

//: gemv-q6k-kernel-test-whole
START_TEST(whole_numbers_are_exact)
{
    struct random r = {8};
    for (int columns = 256; columns <= 4096; columns *= 2) {
        std::vector<block_q6k> w(static_cast<size_t>(6 * (columns / 256)));
        random_bytes(&r, w.data(), w.size() * sizeof w[0]);
        for (block_q6k &b : w) {
            b.d = 0x3c00; // 1
            for (int8_t &scale : b.scales)
                scale = static_cast<int8_t>(scale % 8);
        }
        std::vector<block_q8_1> x(static_cast<size_t>(columns / 32));
        random_bytes(&r, x.data(), x.size() * sizeof x[0]);
        for (block_q8_1 &b : x) {
            b.d = 0x3c00;
            for (int8_t &code : b.codes)
                code = static_cast<int8_t>(code % 8);
        }
        std::vector<float> expected(6);
        gemv_q6k_cpu(expected.data(), w.data(), x.data(), 6, columns);
        device_array<block_q6k> w_device(w);
        device_array<block_q8_1> x_device(x);
        device_array<float> y(6);
        gemv_q6k_cuda(y.data, w_device.data, x_device.data, nullptr, 6, columns, nullptr);
        ck_assert(y.read() == expected);
    }
}
END_TEST

//: gemv-q6k-kernel-test-largest
START_TEST(the_largest_codes_and_scales_match_the_oracle)
{
    for (int byte = 0; byte < 256; byte += 255)
        for (int scale = -128; scale < 128; scale += 255) {
            std::vector<block_q6k> w(3 * 16);
            memset(w.data(), byte, w.size() * sizeof w[0]);
            for (block_q6k &b : w) {
                memset(b.scales, scale, sizeof b.scales);
                b.d = 0x3c00;
            }
            const auto x = quantized(std::vector<float>(4096, -7.0f));
            std::vector<float> expected(3);
            gemv_q6k_cpu(expected.data(), w.data(), x.data(), 3, 4096);
            device_array<block_q6k> w_device(w);
            device_array<block_q8_1> x_device(x);
            device_array<float> y(3);
            gemv_q6k_cuda(y.data, w_device.data, x_device.data, nullptr, 3, 4096, nullptr);
            check_close(y.read(), expected);
        }
}
END_TEST

//: gemv-q6k-kernel-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("gemv_q6k_cuda");
    add_case(s, "core", kernel_matches_oracle_on_every_width_and_ragged_rows,
             kernel_matches_oracle_on_many_rows,
             a_row_has_the_same_bits_in_a_matrix_of_any_size,
             the_fused_residual_equals_the_kernels_in_turn_to_the_bit, NULL);
    add_case(s, "limits", outliers_overflowing_sums_and_tiny_values_match_the_oracle,
             whole_numbers_are_exact, the_largest_codes_and_scales_match_the_oracle, NULL);
    return s;
}
