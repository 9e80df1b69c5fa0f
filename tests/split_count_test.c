#include "split_count.h"

#include "main.h"

//: split-count-test
START_TEST(an_rtx_4090_fills_one_wave_in_every_bucket)
{
    // 128 SMs run 9 blocks of the f16 kernel each, 8 of the f32 kernel; 32 heads.
    const int buckets[] = {512, 1024, 2048, 4096, 8192};
    const int f16[] = {8, 16, 32, 36, 36}, f32[] = {8, 16, 32, 32, 32};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(split_count(buckets[i], 32, 128 * 9), f16[i]);
        ck_assert_int_eq(split_count(buckets[i], 32, 128 * 8), f32[i]);
    }
}
END_TEST

//: split-count-test-rest
START_TEST(no_split_gets_less_than_a_tile)
{
    ck_assert_int_eq(split_count(1, 1, 1000), 1);
    ck_assert_int_eq(split_count(63, 1, 1000), 1);
    ck_assert_int_eq(split_count(127, 1, 1000), 1);
    ck_assert_int_eq(split_count(128, 1, 1000), 2);
    ck_assert_int_eq(split_count(512, 4, 1000), 8);
}
END_TEST

//: split-count-test-buckets
START_TEST(splits_stop_at_64)
{
    ck_assert_int_eq(split_count(4096, 4, 100000), 64);
    ck_assert_int_eq(split_count(40960, 4, 100000), 64);
}
END_TEST

START_TEST(more_heads_than_a_wave_are_not_split)
{
    ck_assert_int_eq(split_count(8192, 32, 31), 1);
    ck_assert_int_eq(split_count(8192, 32, 32), 1);
    ck_assert_int_eq(split_count(8192, 32, 63), 1);
    ck_assert_int_eq(split_count(8192, 32, 64), 2);
    ck_assert_int_eq(split_count(8192, 32, 0), 1);
}
END_TEST

START_TEST(buckets_are_powers_of_two_from_512)
{
    const int lengths[] = {1, 511, 512, 513, 1024, 1025, 8191, 8192};
    const int buckets[] = {512, 512, 512, 1024, 1024, 2048, 8192, 8192};
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(context_bucket(lengths[i], 8192), buckets[i]);
}
END_TEST

START_TEST(the_last_bucket_is_the_context)
{
    ck_assert_int_eq(context_bucket(1, 1), 1);
    ck_assert_int_eq(context_bucket(1, 300), 300);
    ck_assert_int_eq(context_bucket(300, 300), 300);
    ck_assert_int_eq(context_bucket(512, 600), 512);
    ck_assert_int_eq(context_bucket(513, 600), 600);
    ck_assert_int_eq(context_bucket(32769, 40960), 40960);
    ck_assert_int_eq(context_bucket(2147483647, 2147483647), 2147483647);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("split_count");
    add_case(s, "core", an_rtx_4090_fills_one_wave_in_every_bucket,
             buckets_are_powers_of_two_from_512, NULL);
    add_case(s, "limits", no_split_gets_less_than_a_tile, splits_stop_at_64,
             more_heads_than_a_wave_are_not_split, the_last_bucket_is_the_context, NULL);
    return s;
}
