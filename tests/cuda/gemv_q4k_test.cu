#include <math.h>

#include <algorithm>

#include "gemv.h"

extern "C" {
#include "gemv_q4k.h"
#include "q4k_repack.h"
}

//: gemv-q4k-kernel-matrix
// A matrix of random superblocks, in the layouts of both machines.
struct matrix {
    int rows, columns;
    std::vector<block_q4k> blocks;
    device_array<uint8_t> packed;

    matrix(struct random *r, int rows_, int columns_)
        : rows(rows_), columns(columns_),
          blocks(random_blocks(r, rows_ * (columns_ / 256))), packed(repacked(blocks))
    {
    }
    static std::vector<block_q4k> random_blocks(struct random *r, int count)
    {
        std::vector<block_q4k> w(static_cast<size_t>(count));
        for (block_q4k &b : w) {
            for (size_t i = 0; i < sizeof b; i += 4) {
                const uint32_t bits = random_bits(r);
                memcpy(reinterpret_cast<char *>(&b) + i, &bits, 4);
            }
            b.d = random_half_scale(r);
            b.dmin = random_half_scale(r);
        }
        return w;
    }
    static std::vector<uint8_t> repacked(const std::vector<block_q4k> &w)
    {
        std::vector<uint8_t> bytes(w.size() * sizeof w[0]);
        q4k_repack_cpu(bytes.data(), w.data(), w.size());
        return bytes;
    }

    std::vector<float> oracle(const std::vector<block_q8_1> &x) const
    {
        std::vector<float> y(static_cast<size_t>(rows));
        gemv_q4k_cpu(y.data(), blocks.data(), x.data(), rows, columns);
        return y;
    }
    std::vector<float> kernel(const std::vector<block_q8_1> &x) const
    {
        device_array<float> y(static_cast<size_t>(rows));
        device_array<block_q8_1> x_device(x);
        gemv_q4k_cuda(y.data, packed.data, x_device.data, nullptr, rows, columns, nullptr);
        return y.read();
    }
};

#if defined SIMT_RACE || defined __SANITIZE_ADDRESS__ // which are slow
enum { WIDE = 768 };
#else
enum { WIDE = 12288 };
#endif

//: gemv-q4k-kernel-test-widths
START_TEST(kernel_matches_oracle_on_every_width_and_ragged_rows)
{
    struct random r = {1};
    const int rows[] = {1, 3, 5, 33};
    const int columns[] = {256, 512, 768, 2048, 2304, 4096, 5120, 9728, 12288, 25600};
    for (int n : columns)
        for (int m : rows) {
            const matrix w(&r, m, n);
            const auto x = quantized(random_activations(&r, n, NORMAL));
            check_close(w.kernel(x), w.oracle(x));
        }
}
END_TEST

//: gemv-q4k-kernel-test-many
START_TEST(kernel_matches_oracle_on_many_rows)
{
    struct random r = {2};
    const int shapes[][2] = {{1027, 256}, {1025, 4096}, {1026, 12288}, {4099, 256},
                             {4097, 768}, {4097, 4096}, {4098, 12288}};
    for (const int *shape : shapes) {
        if (shape[0] > 1024 && shape[1] > WIDE)
            continue;
        const matrix w(&r, shape[0], shape[1]);
        const auto x = quantized(random_activations(&r, shape[1], NORMAL));
        check_close(w.kernel(x), w.oracle(x));
    }
}
END_TEST

//: gemv-q4k-kernel-test-bits
START_TEST(a_row_has_the_same_bits_in_a_matrix_of_any_size)
{
    struct random r = {3};
    for (int columns = 512; columns <= WIDE; columns *= 8) {
        const matrix w(&r, 4101, columns);
        const auto x = quantized(random_activations(&r, columns, NORMAL));
        const std::vector<float> all = w.kernel(x);
        const int sizes[] = {1, 1025, 3001};
        for (int rows : sizes) {
            matrix part(&r, rows, columns);
            const size_t first = 1000 * (w.blocks.size() / 4101);
            std::copy_n(w.blocks.begin() + static_cast<long>(first), part.blocks.size(),
                        part.blocks.begin());
            const device_array<uint8_t> packed(matrix::repacked(part.blocks));
            device_array<float> y(static_cast<size_t>(rows));
            device_array<block_q8_1> x_device(x);
            gemv_q4k_cuda(y.data, packed.data, x_device.data, nullptr, rows, columns,
                          nullptr);
            const std::vector<float> found = y.read();
            ck_assert(std::equal(found.begin(), found.end(), all.begin() + 1000));
        }
    }
}
END_TEST

//: gemv-q4k-kernel-test-group
START_TEST(a_group_has_the_bits_of_single_launches)
{
    struct random r = {4};
    const int rows[][3] = {{33, 5, 7},         {1, 3, 1100}, {601, 5, 7},
                           {4096, 1024, 1024}, {2100, 3, 5}, {2100, 2100, 5}};
    for (const int *m : rows)
        for (int columns = 768; columns <= (m[0] > 1000 ? 768 : 4096); columns += 3328) {
            const matrix w[] = {
                {&r, m[0], columns}, {&r, m[1], columns}, {&r, m[2], columns}};
            const auto x = quantized(random_activations(&r, columns, NORMAL));
            device_array<float> y0(w[0].blocks.size() * 256 / static_cast<size_t>(columns)),
                y1(static_cast<size_t>(m[1])), y2(static_cast<size_t>(m[2]));
            device_array<block_q8_1> x_device(x);
            const gemv_q4k_matrix group[] = {{y0.data, w[0].packed.data, nullptr, m[0]},
                                             {y1.data, w[1].packed.data, nullptr, m[1]},
                                             {y2.data, w[2].packed.data, nullptr, m[2]}};
            gemv_q4k_group_cuda(group, 3, x_device.data, columns, nullptr);
            ck_assert(y0.read() == w[0].kernel(x));
            ck_assert(y1.read() == w[1].kernel(x));
            ck_assert(y2.read() == w[2].kernel(x));
            device_array<float> z0(y0.count), z1(y1.count);
            const gemv_q4k_matrix pair[] = {{z0.data, w[0].packed.data, nullptr, m[0]},
                                            {z1.data, w[1].packed.data, nullptr, m[1]}};
            gemv_q4k_group_cuda(pair, 2, x_device.data, columns, nullptr);
            ck_assert(z0.read() == y0.read());
            ck_assert(z1.read() == y1.read());
        }
}
END_TEST

//: gemv-q4k-kernel-test-residual
START_TEST(the_fused_residual_equals_the_sum_after_it_to_the_bit)
{
    struct random r = {5};
    const int shapes[][2] = {{1, 256}, {5, 4096}, {33, 768}, {1030, 12288}, {4098, 512}};
    for (const int *shape : shapes) {
        const matrix w(&r, shape[0], shape[1]);
        const auto x = quantized(random_activations(&r, shape[1], NORMAL));
        std::vector<float> stream(static_cast<size_t>(shape[0])), sum(stream.size());
        random_floats(&r, stream.data(), stream.size());
        for (float &value : stream)
            value *= 30;
        const std::vector<float> product = w.kernel(x);
        for (size_t i = 0; i < sum.size(); i++)
            sum[i] = stream[i] + product[i];
        device_array<float> y(stream.size()), in_place(stream), left(stream);
        device_array<block_q8_1> x_device(x);
        gemv_q4k_cuda(y.data, w.packed.data, x_device.data, left.data, shape[0], shape[1],
                      nullptr);
        ck_assert(y.read() == sum);
        gemv_q4k_cuda(in_place.data, w.packed.data, x_device.data, in_place.data, shape[0],
                      shape[1], nullptr);
        ck_assert(in_place.read() == sum);
    }
}
END_TEST

//: gemv-q4k-kernel-test-limits
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

//: gemv-q4k-kernel-test-sums
START_TEST(the_stored_sums_are_never_read)
{
    struct random r = {7};
    const matrix w(&r, 5, 4096);
    auto x = quantized(random_activations(&r, 4096, NORMAL));
    const std::vector<float> expected = w.kernel(x);
    for (block_q8_1 &block : x)
        block.sum = 0x7fff; // NaN
    ck_assert(w.kernel(x) == expected);
}
END_TEST

//: gemv-q4k-kernel-test-whole
START_TEST(whole_numbers_are_exact)
{
    // Scales of 1 and small codes: every sum is a whole number below 2^24.
    struct random r = {8};
    for (int columns = 256; columns <= 4096; columns *= 2) {
        matrix w(&r, 6, columns);
        for (block_q4k &b : w.blocks) {
            b.d = b.dmin = 0x3c00;       // 1
            for (int i = 0; i < 12; i++) // scales and minima of 0 to 15
                b.scales[i] &= i < 8 ? 15 : 255;
        }
        const device_array<uint8_t> packed(matrix::repacked(w.blocks));
        std::vector<block_q8_1> x(static_cast<size_t>(columns / 32));
        for (block_q8_1 &b : x) {
            for (int8_t &code : b.codes)
                code = static_cast<int8_t>(static_cast<int>(random_bits(&r) % 15) - 7);
            b.d = 0x3c00;
            b.sum = 0;
        }
        device_array<float> y(6);
        device_array<block_q8_1> x_device(x);
        gemv_q4k_cuda(y.data, packed.data, x_device.data, nullptr, 6, columns, nullptr);
        ck_assert(y.read() == w.oracle(x));
    }
}
END_TEST

//: gemv-q4k-kernel-test-largest
START_TEST(the_largest_codes_and_scales_match_the_oracle)
{
    struct random r = {9};
    for (int sign = -1; sign <= 1; sign += 2)
        for (int byte = 0; byte < 256; byte += 85) { // codes 0, 5, 10 and 15
            matrix w(&r, 3, 4096);
            for (block_q4k &b : w.blocks) {
                memset(b.scales, 0xff, sizeof b.scales);
                memset(b.codes, byte, sizeof b.codes);
            }
            const device_array<uint8_t> packed(matrix::repacked(w.blocks));
            const auto x =
                quantized(std::vector<float>(4096, static_cast<float>(sign) * 7));
            device_array<float> y(3);
            device_array<block_q8_1> x_device(x);
            gemv_q4k_cuda(y.data, packed.data, x_device.data, nullptr, 3, 4096, nullptr);
            check_close(y.read(), w.oracle(x));
        }
}
END_TEST

//: gemv-q4k-kernel-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("gemv_q4k_cuda");
    add_case(s, "core", kernel_matches_oracle_on_every_width_and_ragged_rows,
             kernel_matches_oracle_on_many_rows,
             a_row_has_the_same_bits_in_a_matrix_of_any_size,
             a_group_has_the_bits_of_single_launches,
             the_fused_residual_equals_the_sum_after_it_to_the_bit, NULL);
    add_case(s, "limits", outliers_overflowing_sums_and_tiny_values_match_the_oracle,
             the_stored_sums_are_never_read, whole_numbers_are_exact,
             the_largest_codes_and_scales_match_the_oracle, NULL);
    return s;
}
