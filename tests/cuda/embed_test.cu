#include "device.h"

#include <math.h>

extern "C" {
#include "blocks.h"
#include "embed.h"
}

//: embed-test-kernel
// A random table, and its row gathered by the kernel; to the bit as the oracle gathers it.
static void check_row(enum tensor_type type, int rows, int columns, int token)
{
    const auto layout = tensor_layout(type);
    struct random r = {static_cast<uint64_t>(1000 * type + columns + token)};
    const size_t blocks = static_cast<size_t>(rows) * (columns / layout.block_values);
    std::vector<uint8_t> table(blocks * layout.block_bytes);
    random_blocks(&r, table.data(), type, blocks);
    std::vector<float> expected(columns);
    embed_cpu(expected.data(), table.data(), type, token, columns);

    device_array<uint8_t> device_table(table);
    device_array<int> device_token(std::vector<int>{token});
    device_array<float> x(columns);
    embed_cuda(x.data, device_table.data, type, device_token.data, rows, columns, nullptr);
    const std::vector<float> found = x.read();
    for (int i = 0; i < columns; i++)
        ck_assert_msg(bits_from_float(found[i]) == bits_from_float(expected[i]),
                      "%s, token %d, value %d: %a, expected %a", layout.name, token, i,
                      (double)found[i], (double)expected[i]);
}

//: embed-test-types
START_TEST(kernel_equals_oracle_to_the_bit_for_every_type)
{
    for (enum tensor_type type : all_types)
        for (int columns : {256, 768})
            for (int token : {0, 3, 6})
                check_row(type, 7, columns, token);
}
END_TEST

START_TEST(rows_need_not_fill_the_block_of_threads)
{
    for (int columns : {1, 31, 33, 255, 257, 1000})
        for (enum tensor_type type : {TENSOR_F32, TENSOR_F16, TENSOR_BF16})
            check_row(type, 3, columns, 2);
    for (int columns : {32, 96, 1024 + 32})
        check_row(TENSOR_Q8_0, 3, columns, 2);
}
END_TEST

//: embed-test-halves
START_TEST(every_half_is_gathered_as_the_oracle_gathers_it)
{
    const int columns = 8192; // 8 rows of all 65,536 halves
    std::vector<uint16_t> table(65536);
    for (size_t i = 0; i < table.size(); i++)
        table[i] = static_cast<uint16_t>(i);
    device_array<uint16_t> device_table(table);
    for (int token = 0; token < 8; token++) {
        device_array<int> device_token(std::vector<int>{token});
        device_array<float> x(columns);
        embed_cuda(x.data, device_table.data, TENSOR_F16, device_token.data, 8, columns,
                   nullptr);
        const std::vector<float> found = x.read();
        for (int i = 0; i < columns; i++) {
            const float expected = half_to_float(table[token * columns + i]);
            ck_assert(isnan(expected)
                          ? isnan(found[i])
                          : bits_from_float(found[i]) == bits_from_float(expected));
        }
    }
}
END_TEST

//: embed-test-outside
// Row 3 is there, with numbers in it, but the kernel is told of three rows.
START_TEST(a_token_outside_the_table_gives_nan)
{
    struct random r = {1};
    std::vector<uint8_t> table(4 * 2 * 144);
    random_blocks(&r, table.data(), TENSOR_Q4_K, 4 * 2);
    device_array<uint8_t> device_table(table);
    for (int token : {-1, 3, INT32_MAX, INT32_MIN}) {
        device_array<int> device_token(std::vector<int>{token});
        device_array<float> x(std::vector<float>(512, 1.0f));
        embed_cuda(x.data, device_table.data, TENSOR_Q4_K, device_token.data, 3, 512,
                   nullptr);
        for (float found : x.read())
            ck_assert(isnan(found));
    }
}
END_TEST

//: embed-test-late
START_TEST(the_token_is_read_when_the_kernel_runs)
{
    const std::vector<float> table = {10, 20, 30};
    const int second = 1;
    device_array<float> device_table(table), x(1);
    device_array<int> token(std::vector<int>{0});
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMemcpyAsync(token.data, &second, sizeof second, cudaMemcpyHostToDevice,
                               stream));
    embed_cuda(x.data, device_table.data, TENSOR_F32, token.data, 3, 1, stream);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    ck_assert_float_eq(x.read()[0], 20);
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("embed_cuda");
    add_case(s, "core", kernel_equals_oracle_to_the_bit_for_every_type,
             the_token_is_read_when_the_kernel_runs, NULL);
    add_case(s, "limits", rows_need_not_fill_the_block_of_threads,
             every_half_is_gathered_as_the_oracle_gathers_it,
             a_token_outside_the_table_gives_nan, NULL);
    return s;
}
