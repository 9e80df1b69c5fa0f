#include "device.h"
#include "random.h"

extern "C" {
#include "kv_cache.h"
}

using bytes = std::vector<unsigned char>;

//: kv-append-kernel-test
static void check_append(const kv_shape &shape, int position, uint64_t seed)
{
    struct random r = {seed};
    std::vector<float> k(static_cast<size_t>(shape.kv_heads * shape.head_dim)), v(k.size());
    for (size_t i = 0; i < k.size(); i++) {
        const int exponent = static_cast<int>(random_bits(&r) % 45) - 27; // 2^-27 to 2^17
        k[i] = ldexpf(random_normal(&r), exponent);
        v[i] = random_normal(&r);
    }
    v[0] = INFINITY;
    v[1] = NAN;
    v[2] = 1 + 0x1p-11f; // half-way between two halves
    bytes keys(kv_bytes(&shape), 0x11), values(keys.size(), 0x22);
    device_array<unsigned char> device_keys(keys), device_values(values);
    device_array<float> device_k(k), device_v(v);
    device_array<int> device_position(std::vector<int>{position});
    kv_append_cuda(device_keys.data, device_values.data, device_k.data, device_v.data,
                   device_position.data, &shape, nullptr);
    kv_append_cpu(keys.data(), values.data(), k.data(), v.data(), position, &shape);
    ck_assert(device_keys.read() == keys);
    ck_assert(device_values.read() == values);
}

START_TEST(kernel_equals_oracle_at_every_position)
{
    for (kv_type type : {KV_F16, KV_F32})
        for (int position : {0, 1, 6})
            for (uint64_t seed = 0; seed < 3; seed++)
                check_append({type, 8, 7, 128}, position, seed);
}
END_TEST

START_TEST(kernel_equals_oracle_on_ragged_shapes)
{
    const kv_shape shapes[] = {{KV_F16, 1, 1, 8},
                               {KV_F16, 3, 5, 33},
                               {KV_F32, 1, 2, 257},
                               {KV_F32, 7, 31, 80},
                               {KV_F16, 2, 64, 64}};
    for (const kv_shape &shape : shapes)
        check_append(shape, shape.max_context - 1, 1);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("kv_cache_cuda");
    add_case(s, "core", kernel_equals_oracle_at_every_position, NULL);
    add_case(s, "limits", kernel_equals_oracle_on_ragged_shapes, NULL);
    return s;
}
