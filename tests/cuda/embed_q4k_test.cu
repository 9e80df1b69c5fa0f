#include "device.h"

#include <math.h>

extern "C" {
#include "blocks.h"
#include "embed.h"
#include "embed_q4k.h"
#include "q4k_repack.h"
}

//: embed-q4k-test
START_TEST(a_packed_row_equals_the_oracles_to_the_bit)
{
    for (int columns : {256, 768, 1280}) {
        const int rows = 5;
        struct random r = {static_cast<uint64_t>(columns)};
        std::vector<block_q4k> table(static_cast<size_t>(rows * columns / 256));
        std::vector<uint8_t> packed(144 * table.size());
        random_blocks(&r, table.data(), TENSOR_Q4_K, table.size());
        q4k_repack_cpu(packed.data(), table.data(), table.size());
        device_array<uint8_t> device_packed(packed);
        for (int token = 0; token < rows; token++) {
            std::vector<float> expected(columns);
            embed_cpu(expected.data(), table.data(), TENSOR_Q4_K, token, columns);
            device_array<int> device_token(std::vector<int>{token});
            device_array<float> x(columns);
            embed_q4k_cuda(x.data, device_packed.data, device_token.data, rows, columns,
                           nullptr);
            const std::vector<float> found = x.read();
            ck_assert_mem_eq(found.data(), expected.data(), 4 * found.size());
        }
    }
}
END_TEST

//: embed-q4k-test-outside
// Behind the table lie zeros, which are numbers: only a check of the token gives NaN.
START_TEST(a_token_outside_the_table_gives_nan)
{
    struct random r = {1};
    std::vector<block_q4k> table(6);
    std::vector<uint8_t> packed(2 * 144 * table.size());
    random_blocks(&r, table.data(), TENSOR_Q4_K, table.size());
    q4k_repack_cpu(packed.data(), table.data(), table.size());
    device_array<uint8_t> device_packed(packed);
    for (int token : {-1, 3, INT32_MAX, INT32_MIN}) {
        device_array<int> device_token(std::vector<int>{token});
        device_array<float> x(std::vector<float>(512, 1.0f));
        embed_q4k_cuda(x.data, device_packed.data, device_token.data, 3, 512, nullptr);
        for (float found : x.read())
            ck_assert(isnan(found));
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("embed_q4k_cuda");
    add_case(s, "core", a_packed_row_equals_the_oracles_to_the_bit, NULL);
    add_case(s, "limits", a_token_outside_the_table_gives_nan, NULL);
    return s;
}
