#include <math.h>

#include "gemv.h"

extern "C" {
#include "blocks.h"
#include "gemv_float.h"
#include "residual.h"
}

//: gemv-float-kernel-test
static const tensor_type types[] = {TENSOR_F32, TENSOR_F16, TENSOR_BF16, TENSOR_Q8_0,
                                    TENSOR_Q5_K};

static std::vector<uint8_t> random_matrix(struct random *r, tensor_type type, int rows,
                                          int columns)
{
    const block_layout layout = tensor_layout(type);
    const size_t blocks = static_cast<size_t>(rows) * (columns / layout.block_values);
    std::vector<uint8_t> w(blocks * static_cast<size_t>(layout.block_bytes));
    random_blocks(r, w.data(), type, blocks);
    return w;
}

//: gemv-float-kernel-test-shape
static void check_shape(struct random *r, tensor_type type, int rows, int columns, int kind)
{
    const std::vector<uint8_t> w = random_matrix(r, type, rows, columns);
    const std::vector<float> x = random_activations(r, columns, kind);
    std::vector<float> expected(static_cast<size_t>(rows)), stream(expected.size());
    gemv_float_cpu(expected.data(), w.data(), type, x.data(), rows, columns);
    random_floats(r, stream.data(), stream.size());
    device_array<uint8_t> w_device(w);
    device_array<float> x_device(x), y(expected.size()), left(stream), in_place(stream),
        sum(expected.size());
    gemv_float_cuda(y.data, w_device.data, type, x_device.data, nullptr, rows, columns,
                    nullptr);
    double square = 0;
    for (float value : x)
        square += static_cast<double>(value) * static_cast<double>(value);
    check_close(y.read(), expected, 0.1 * sqrt(square)); // weights are 0.2 to 1 in size
    residual_add_cuda(sum.data, left.data, y.data, rows, nullptr);
    gemv_float_cuda(in_place.data, w_device.data, type, x_device.data, in_place.data, rows,
                    columns, nullptr);
    ck_assert(in_place.read() == sum.read());
}

//: gemv-float-kernel-test-types
START_TEST(kernel_matches_oracle_for_every_type_and_residual)
{
    struct random r = {1};
    const int rows[] = {1, 3, 33}, columns[] = {256, 768, 4096, 12288};
    for (tensor_type type : types)
        for (int m : rows)
            for (int n : columns)
                check_shape(&r, type, m, n, NORMAL);
}
END_TEST

//: gemv-float-kernel-test-ragged
START_TEST(ragged_rows_and_extremes_match_the_oracle)
{
    struct random r = {2};
    const int columns[] = {1, 7, 31, 33, 255, 1025, 1000};
    for (int n : columns)
        for (tensor_type type : types)
            if (type != TENSOR_Q5_K)
                check_shape(&r, type, 5, type == TENSOR_Q8_0 ? 32 * n : n, NORMAL);
    for (tensor_type type : types)
        for (int kind = 0; kind < ACTIVATION_KINDS; kind++)
            check_shape(&r, type, 9, 1024, kind);
}
END_TEST

//: gemv-float-kernel-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("gemv_float_cuda");
    add_case(s, "core", kernel_matches_oracle_for_every_type_and_residual, NULL);
    add_case(s, "limits", ragged_rows_and_extremes_match_the_oracle, NULL);
    return s;
}
