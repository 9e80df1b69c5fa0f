// Answers to the exercises of chapter 11.
#include <math.h>

#include "main.h"
#include "swiglu.h"

//: answer-silu-is-the-identity
static float silu_in_float(float x)
{
    return x / (1.0f + expf(-x));
}

START_TEST(silu_is_the_identity_from_17_on)
{
    for (float x = 17; x < 1000; x += 0.25f)
        ck_assert_float_eq(silu_in_float(x), x);
    ck_assert_float_ne(silu_in_float(16), 16); // expf(-16) is above 2^-24
}
END_TEST

//: answer-silu-far-below
static float silu_without_overflow(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0 ? x * e : x) / (1.0f + e);
}

START_TEST(silu_keeps_its_digits_down_to_88_and_some_beyond)
{
    const double exact = -90 / (1 + exp(90));
    ck_assert_float_eq(silu_in_float(-90), 0);
    ck_assert(fabs(silu_without_overflow(-90) - exact) <= 1e-5 * fabs(exact));
    for (float x = -80; x < 80; x += 0.37f) {
        const double silu = x / (1 + exp(-(double)x));
        ck_assert(fabs(silu_without_overflow(x) - silu) <= 6 * 0x1p-24 * fabs(silu));
    }
}
END_TEST

//: answers-11-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 11");
    add_case(s, "answers", silu_is_the_identity_from_17_on,
             silu_keeps_its_digits_down_to_88_and_some_beyond, NULL);
    return s;
}
