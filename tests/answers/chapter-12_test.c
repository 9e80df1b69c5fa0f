// Answers to the exercises of chapter 12.
#include <math.h>
#include <stdbool.h>

#include "argmax.h"
#include "main.h"
#include "random.h"

//: answer-argmax-highest
static struct argmax_pair later_or_better(struct argmax_pair a, struct argmax_pair b)
{
    const bool wins = b.value > a.value || (b.value == a.value && b.index > a.index);
    return wins ? b : a;
}

// From the outside in, as a reduction does it: value i meets value n - 1 - i first.
static int argmax_highest(const float *x, int n)
{
    struct argmax_pair best = {-INFINITY, -1};
    for (int i = 0; i < n; i++) {
        const int at = i % 2 == 0 ? i / 2 : n - 1 - i / 2;
        best = later_or_better(best, (struct argmax_pair){x[at], at});
    }
    return best.index;
}

//: answer-argmax-highest-test
START_TEST(the_highest_of_equals_whatever_the_order)
{
    const float x[] = {1, 4, NAN, 4, 2, 4, 0}, low[] = {NAN, -INFINITY, NAN};
    ck_assert_int_eq(argmax_highest(x, 7), 5);
    ck_assert_int_eq(argmax_highest(low, 3), 1);
    ck_assert_int_eq(argmax_highest(low, 1), -1);
    float many[500];
    random_fill(many, 500, 1, 1);
    ck_assert_int_eq(argmax_highest(many, 500), argmax_cpu(many, 500));
}
END_TEST

//: answers-12-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 12");
    add_case(s, "answers", the_highest_of_equals_whatever_the_order, NULL);
    return s;
}
