#include "half.h"

#include <math.h>

#include "main.h"

// The value of a finite half, from the format's definition.
static double half_value(int half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double size =
        exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
    return half >> 15 ? -size : size;
}

//: half-test-hand
START_TEST(halves_worked_out_by_hand)
{
    const struct {
        uint16_t half;
        float value;
    } known[] = {
        {0x0000, 0},          {0x3c00, 1},          {0x3800, 0.5f},     {0xc000, -2},
        {0x3e00, 1.5f},       {0x7bff, 65504},      {0x0001, 0x1p-24f}, {0x0400, 0x1p-14f},
        {0x03ff, 0x3ffp-24f}, {0x3555, 0x555p-12f}, {0x7c00, INFINITY}, {0xfc00, -INFINITY},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert_float_eq(half_to_float(known[i].half), known[i].value);
        ck_assert_uint_eq(half_from_float(known[i].value), known[i].half);
    }
}
END_TEST

//: half-test-all
START_TEST(every_half_has_its_value_and_comes_back)
{
    for (int half = 0; half < 65536; half++) {
        float x = half_to_float((uint16_t)half);
        if ((half & 0x7fff) > 0x7c00) {
            ck_assert(isnan(x));
            ck_assert_int_eq(half_from_float(x), 0x7fff);
            continue;
        }
        if ((half & 0x7fff) == 0x7c00)
            ck_assert(isinf(x) && (x < 0) == (half > 0x8000));
        else
            ck_assert_uint_eq(bits_from_float(x), bits_from_float((float)half_value(half)));
        ck_assert_int_eq(half_from_float(x), half);
    }
}
END_TEST

//: half-test-rounding
// Between neighbours only the midpoint can go wrong, and the floats next to it; as rounding
// never decreases, these three decide every float in between.
START_TEST(rounding_is_to_nearest_with_ties_to_even)
{
    for (int half = 0; half < 0x7c00; half++) {
        double next = half == 0x7bff ? 65536 : half_value(half + 1);
        float middle = (float)((half_value(half) + next) / 2); // exact
        int even = half % 2 == 0 ? half : half + 1;
        ck_assert_int_eq(half_from_float(middle), even);
        ck_assert_int_eq(half_from_float(-middle), 0x8000 | even);
        ck_assert_int_eq(half_from_float(nextafterf(middle, 0)), half);
        ck_assert_int_eq(half_from_float(nextafterf(middle, INFINITY)), half + 1);
    }
}
END_TEST

//: half-test-end
START_TEST(bf16_is_the_upper_half_of_a_float)
{
    ck_assert_float_eq(bf16_to_float(0x3f80), 1);
    ck_assert_float_eq(bf16_to_float(0xc040), -3);
    ck_assert_float_eq(bf16_to_float(0x0001), 0x1p-133f);
    ck_assert(isinf(bf16_to_float(0x7f80)) && isnan(bf16_to_float(0xffff)));
}
END_TEST

START_TEST(values_beyond_half_become_infinite_or_zero)
{
    ck_assert_uint_eq(half_from_float(3e38f), 0x7c00);
    ck_assert_uint_eq(half_from_float(-65520), 0xfc00);
    ck_assert_uint_eq(half_from_float(130000), 0x7c00);
    ck_assert_uint_eq(half_from_float(0x1p-25f), 0); // a tie with 2^-24
    ck_assert_uint_eq(half_from_float(-1e-40f), 0x8000);
    ck_assert_uint_eq(half_from_float(-NAN), 0x7fff);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("half");
    add_case(s, "core", halves_worked_out_by_hand, every_half_has_its_value_and_comes_back,
             rounding_is_to_nearest_with_ties_to_even, bf16_is_the_upper_half_of_a_float,
             NULL);
    add_case(s, "limits", values_beyond_half_become_infinite_or_zero, NULL);
    return s;
}
