#include "kv_cache.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "main.h"

START_TEST(a_layers_keys_take_heads_times_context_times_dim)
{
    const struct kv_shape f16 = {KV_F16, 8, 40960, 128}, f32 = {KV_F32, 2, 512, 128};
    ck_assert_uint_eq(kv_bytes(&f16), 83886080); // 8 * 40960 * 128 * 2
    ck_assert_uint_eq(kv_bytes(&f32), 524288);   // 2 * 512 * 128 * 4
}
END_TEST

START_TEST(bytes_beyond_a_size_t_are_none)
{
    const int k = 1 << 21; // k * k * k is 2^63
    const struct kv_shape fits = {KV_F16, k / 2, k, k}, wraps = {KV_F16, k, k, k},
                          f32 = {KV_F32, k / 2, k, k},
                          huge = {KV_F32, INT_MAX, INT_MAX, INT_MAX};
    ck_assert(kv_bytes(&fits) == (size_t)1 << 63);
    ck_assert_uint_eq(kv_bytes(&wraps), 0);
    ck_assert_uint_eq(kv_bytes(&f32), 0);
    ck_assert_uint_eq(kv_bytes(&huge), 0);
}
END_TEST

START_TEST(a_size_below_one_needs_no_bytes)
{
    const struct kv_shape none = {KV_F16, 0, 512, 128}, less = {KV_F32, 2, -512, -128};
    ck_assert_uint_eq(kv_bytes(&none), 0);
    ck_assert_uint_eq(kv_bytes(&less), 0);
}
END_TEST

//: kv-append-test
START_TEST(append_writes_one_position_of_every_head)
{
    const struct kv_shape shape = {KV_F32, 2, 3, 2};
    float keys[12], values[12];
    for (int i = 0; i < 12; i++)
        keys[i] = values[i] = -1;
    const float k[] = {1, 2, 3, 4}, v[] = {5, 6, 7, 8};
    kv_append_cpu(keys, values, k, v, 1, &shape);
    const float all_keys[] = {-1, -1, 1, 2, -1, -1, -1, -1, 3, 4, -1, -1};
    const float all_values[] = {-1, -1, 5, 6, -1, -1, -1, -1, 7, 8, -1, -1};
    for (int i = 0; i < 12; i++) {
        ck_assert_float_eq(keys[i], all_keys[i]);
        ck_assert_float_eq(values[i], all_values[i]);
    }
}
END_TEST

//: kv-cache-test-rest
START_TEST(f16_rounds_to_nearest_and_ties_to_even)
{
    const struct kv_shape shape = {KV_F16, 1, 2, 8};
    // From the definition of the format: ten bits below the leading one.
    const float k[] = {1.0f,  1 + 0x1p-11f, 1 + 0x3p-11f, 1 + 0x1.01p-11f,
                       65504, 65520,        0x1p-24f,     -0x1p-25f};
    const uint16_t expected[] = {0x3c00, 0x3c00, 0x3c02, 0x3c01,
                                 0x7bff, 0x7c00, 0x0001, 0x8000};
    uint16_t keys[16], values[16];
    memset(keys, 0xff, sizeof keys);
    kv_append_cpu(keys, values, k, k, 1, &shape);
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_eq(keys[i], 0xffff);
        ck_assert_uint_eq(keys[8 + i], expected[i]);
        ck_assert_uint_eq(values[8 + i], expected[i]);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("kv_cache");
    add_case(s, "core", append_writes_one_position_of_every_head,
             f16_rounds_to_nearest_and_ties_to_even,
             a_layers_keys_take_heads_times_context_times_dim, NULL);
    add_case(s, "limits", bytes_beyond_a_size_t_are_none, a_size_below_one_needs_no_bytes,
             NULL);
    return s;
}
