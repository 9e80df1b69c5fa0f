#include "residual.h"

#include "main.h"

START_TEST(adds_element_by_element)
{
    const float left[3] = {1, -2, 0.5f}, right[3] = {10, 2, 0.25f};
    float y[3];
    residual_add_cpu(y, left, right, 3);
    ck_assert(y[0] == 11 && y[1] == 0 && y[2] == 0.75f);
}
END_TEST

START_TEST(may_write_over_either_operand)
{
    float left[2] = {1, 2}, right[2] = {30, 40};
    residual_add_cpu(left, left, right, 2);
    ck_assert(left[0] == 31 && left[1] == 42);
    residual_add_cpu(right, left, right, 2);
    ck_assert(right[0] == 61 && right[1] == 82);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("residual");
    add_case(s, "core", adds_element_by_element, may_write_over_either_operand, NULL);
    return s;
}
