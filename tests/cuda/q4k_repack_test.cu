#include "device.h"

#include "cuda/launch.h"
extern "C" {
#include "blocks.h"
#include "q4k_repack.h"
}

namespace
{
//: repack-naive-metadata
__device__ void naive_record(uint8_t *metadata, const uint8_t *s, int group)
{
    int scale[2], min[2];
    for (int i = 0; i < 2; i++) {
        const int j = 2 * group + i;
        scale[i] = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        min[i] = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
    }
    const int record = scale[0] | scale[1] << 6 | min[0] << 12 | min[1] << 18;
    for (int byte = 0; byte < 3; byte++)
        metadata[4 + 4 * byte + group] = static_cast<uint8_t>(record >> 8 * byte & 255);
}

//: repack-naive-kernel
// The obvious kernel: a thread a superblock, byte by byte.
__global__ void naive_repack_kernel(uint8_t *packed, const block_q4k *blocks, size_t total)
{
    const size_t b = static_cast<size_t>(blockIdx.x) * 256 + threadIdx.x;
    if (b >= total)
        return;
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&blocks[b]);
    uint8_t *codes = packed + 128 * b, *metadata = packed + 128 * total + 16 * b;
    for (int i = 0; i < 128; i++)
        codes[i / 32 * 32 + i % 16 / 4 * 8 + i % 32 / 16 * 4 + i % 4] = bytes[16 + i];
    for (int i = 0; i < 4; i++)
        metadata[i] = bytes[i]; // d and dmin
    for (int group = 0; group < 4; group++)
        naive_record(metadata, bytes + 4, group);
}
} // namespace

//: repack-kernel-test-random
static std::vector<block_q4k> random_tensor(uint64_t seed, size_t count)
{
    struct random r = {seed};
    std::vector<block_q4k> blocks(count);
    random_bytes(&r, blocks.data(), count * sizeof(block_q4k));
    return blocks;
}

static std::vector<uint8_t> repacked_by_oracle(const std::vector<block_q4k> &blocks)
{
    std::vector<uint8_t> packed(144 * blocks.size());
    q4k_repack_cpu(packed.data(), blocks.data(), blocks.size());
    return packed;
}

//: repack-kernel-test-whole
START_TEST(kernel_equals_oracle_to_the_byte)
{
    for (size_t count : {1, 2, 31, 32, 33, 64, 100}) {
        const std::vector<block_q4k> tensor = random_tensor(count, count);
        device_array<block_q4k> blocks(tensor);
        device_array<uint8_t> packed(144 * count);
        q4k_repack_cuda(packed.data, blocks.data, 0, count, count, nullptr);
        ck_assert(packed.read() == repacked_by_oracle(tensor));
    }
}
END_TEST

//: repack-naive-test
START_TEST(naive_kernel_equals_oracle_to_the_byte)
{
    const std::vector<block_q4k> tensor = random_tensor(6, 300);
    device_array<block_q4k> blocks(tensor);
    device_array<uint8_t> packed(144 * tensor.size());
    launch(nullptr, 2, 256, naive_repack_kernel, packed.data, blocks.data, tensor.size());
    ck_assert(packed.read() == repacked_by_oracle(tensor));
}
END_TEST

//: repack-kernel-test-bits
// One bit set in a whole block, each of the 1,152 in turn, in 1,152 blocks.
START_TEST(every_bit_goes_where_the_oracle_puts_it)
{
    std::vector<block_q4k> tensor(8 * 144);
    for (size_t bit = 0; bit < tensor.size(); bit++) {
        memset(&tensor[bit], 0, 144);
        reinterpret_cast<uint8_t *>(&tensor[bit])[bit / 8] =
            static_cast<uint8_t>(1 << bit % 8);
    }
    device_array<block_q4k> blocks(tensor);
    device_array<uint8_t> packed(144 * tensor.size());
    q4k_repack_cuda(packed.data, blocks.data, 0, tensor.size(), tensor.size(), nullptr);
    ck_assert(packed.read() == repacked_by_oracle(tensor));
}
END_TEST

//: repack-kernel-test-chunks
START_TEST(chunks_through_a_staging_buffer_make_the_whole)
{
    const size_t total = 77;
    const std::vector<block_q4k> tensor = random_tensor(9, total);
    for (size_t chunk : {1, 5, 33, 76, 77, 100}) {
        device_array<uint8_t> packed(144 * total);
        for (size_t first = 0; first < total; first += chunk) {
            const size_t count = first + chunk < total ? chunk : total - first;
            device_array<block_q4k> staging(std::vector<block_q4k>(
                tensor.begin() + first, tensor.begin() + first + count));
            q4k_repack_cuda(packed.data, staging.data, first, count, total, nullptr);
            staging.read();
        }
        ck_assert(packed.read() == repacked_by_oracle(tensor));
    }
}
END_TEST

//: repack-kernel-test-part
START_TEST(other_blocks_places_are_left_alone)
{
    const size_t total = 40, first = 3, count = 34;
    const std::vector<block_q4k> tensor = random_tensor(5, total);
    std::vector<uint8_t> expected(144 * total, 0x5a), all = repacked_by_oracle(tensor);
    memcpy(&expected[128 * first], &all[128 * first], 128 * count);
    memcpy(&expected[128 * total + 16 * first], &all[128 * total + 16 * first], 16 * count);
    device_array<block_q4k> blocks(
        std::vector<block_q4k>(tensor.begin() + first, tensor.begin() + first + count));
    device_array<uint8_t> packed(std::vector<uint8_t>(144 * total, 0x5a));
    q4k_repack_cuda(packed.data, blocks.data, first, count, total, nullptr);
    q4k_repack_cuda(packed.data, blocks.data, first, 0, total, nullptr); // none: no launch
    ck_assert(packed.read() == expected);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("q4k_repack_cuda");
    add_case(s, "core", naive_kernel_equals_oracle_to_the_byte,
             kernel_equals_oracle_to_the_byte, every_bit_goes_where_the_oracle_puts_it,
             NULL);
    add_case(s, "limits", chunks_through_a_staging_buffer_make_the_whole,
             other_blocks_places_are_left_alone, NULL);
    return s;
}
