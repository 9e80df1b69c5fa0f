#include "argmax.h"

#include <math.h>

#include "main.h"
#include "random.h"

//: argmax-by-hand
START_TEST(largest_value_wins)
{
    const float x[] = {-3, 2.5f, 7, 6.9999f, -8};
    ck_assert_int_eq(argmax_cpu(x, 5), 2);
    ck_assert_int_eq(argmax_cpu(x, 2), 1);
    ck_assert_int_eq(argmax_cpu(x, 1), 0);
    const float negative[] = {-3, -1, -2};
    ck_assert_int_eq(argmax_cpu(negative, 3), 1);
}
END_TEST

START_TEST(ties_go_to_the_lowest_index)
{
    const float x[] = {1, 4, 4, 4}, zeros[] = {-0.0f, 0.0f}, swapped[] = {0.0f, -0.0f};
    ck_assert_int_eq(argmax_cpu(x, 4), 1);
    ck_assert_int_eq(argmax_cpu(zeros, 2), 0); // -0 equals +0
    ck_assert_int_eq(argmax_cpu(swapped, 2), 0);
}
END_TEST

//: argmax-nan
START_TEST(nan_never_wins)
{
    const float first[] = {NAN, 1, 2}, between[] = {1, NAN, 0}, all[] = {NAN, NAN, NAN};
    ck_assert_int_eq(argmax_cpu(first, 3), 2);
    ck_assert_int_eq(argmax_cpu(between, 3), 0);
    ck_assert_int_eq(argmax_cpu(all, 3), -1);
}
END_TEST

//: argmax-limits
START_TEST(infinities_are_values_like_others)
{
    const float low[] = {NAN, -INFINITY, NAN, -INFINITY}, high[] = {1, INFINITY, INFINITY};
    ck_assert_int_eq(argmax_cpu(low, 4), 1); // even where nothing is larger
    ck_assert_int_eq(argmax_cpu(high, 3), 1);
    ck_assert_int_eq(argmax_cpu(low, 0), -1); // nothing at all
}
END_TEST

START_TEST(a_lone_maximum_is_found_wherever_it_is)
{
    enum { N = 97 };
    float x[N];
    random_fill(x, N, 1, 1);
    for (int at = 0; at < N; at++) {
        float before = x[at];
        x[at] = 10;
        ck_assert_int_eq(argmax_cpu(x, N), at);
        x[at] = before;
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("argmax");
    add_case(s, "core", largest_value_wins, ties_go_to_the_lowest_index, nan_never_wins,
             NULL);
    add_case(s, "limits", infinities_are_values_like_others,
             a_lone_maximum_is_found_wherever_it_is, NULL);
    return s;
}
