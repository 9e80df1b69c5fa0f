#include "error.h"

#include <string.h>

#include "main.h"

START_TEST(failed_formats_and_returns_false)
{
    struct error e;
    ck_assert(!failed(&e, "%s: %d columns, expected %d", "w", 3, 4));
    ck_assert_str_eq(e.text, "w: 3 columns, expected 4");
}
END_TEST

START_TEST(context_goes_in_front)
{
    struct error e;
    failed(&e, "no such file");
    ck_assert(!failed_in(&e, "reading %s", "x.gguf"));
    ck_assert_str_eq(e.text, "reading x.gguf: no such file");
}
END_TEST

START_TEST(long_text_is_cut_not_overrun)
{
    struct error e;
    char longer[4000];
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = 0;
    failed(&e, "%s", longer);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    failed_in(&e, "%s", longer);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
}
END_TEST

START_TEST(an_error_is_one_line_whatever_a_file_holds)
{
    struct error e;
    failed(&e, "key \"%s\"", "a\nb\x1b[2Jc\x7f");
    ck_assert_str_eq(e.text, "key \"a?b?[2Jc?\"");
    failed_in(&e, "%s", "x\ny.gguf");
    ck_assert_str_eq(e.text, "x?y.gguf: key \"a?b?[2Jc?\"");
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("error");
    add_case(s, "core", failed_formats_and_returns_false, context_goes_in_front, NULL);
    add_case(s, "limits", long_text_is_cut_not_overrun,
             an_error_is_one_line_whatever_a_file_holds, NULL);
    return s;
}
