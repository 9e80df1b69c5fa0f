#include "gguf.h"

#include <stdlib.h>
#include <string.h>

#include "gguf_writer.h"

static struct gguf g;
static struct error e;

static void open_samples(void)
{
    struct gguf_writer w = gw_new();
    gw_u32(&w, "layers", 6);
    gw_i64(&w, "negative", -7);
    gw_u64(&w, "large", 1ull << 40);
    gw_f32(&w, "half", 0.5f);
    gw_f64(&w, "third", 1.0 / 3.0);
    gw_bool(&w, "yes", true);
    gw_key(&w, "perhaps", GGUF_BOOL), gw_put(&w.keys, "\x02", 1);
    gw_string(&w, "name", "Tales");
    gw_strings(&w, "tokens", (const char *const[]){"a", "", "\xc3\xa9"}, 3);
    gw_ints(&w, "types", (const int[]){1, -3, 2147483647}, 3);
    gw_array(&w, "bytes", GGUF_U8, 2), gw_put(&w.keys, "\x01\xff", 2);
    gw_array(&w, "longs", GGUF_U64, 1), gw_put_u64(&w.keys, 1ull << 31);
    gw_ints(&w, "none", NULL, 0);
    ck_assert_msg(gw_open(&w, &g, &e), "%s", e.text);
}

static void close_samples(void)
{
    gguf_close(&g);
}

static void says(const char *text)
{
    ck_assert_msg(strstr(e.text, text) != NULL, "\"%s\" has no \"%s\"", e.text, text);
    ck_assert(strncmp(e.text, "/tmp/lanewise-test-", 19) == 0); // the file stands in front
}

//: test-gguf-get
START_TEST(values_come_in_the_type_that_is_asked_for)
{
    int number;
    double real;
    bool truth;
    struct gguf_string s;
    ck_assert(gguf_get_int(&g, "layers", &number, &e) && number == 6);
    ck_assert(gguf_get_int(&g, "negative", &number, &e) && number == -7);
    ck_assert(gguf_get_float(&g, "half", &real, &e) && real == 0.5);
    ck_assert(gguf_get_float(&g, "third", &real, &e) && real == 1.0 / 3.0);
    ck_assert(gguf_get_bool(&g, "yes", &truth, &e) && truth);
    ck_assert(gguf_get_string(&g, "name", &s, &e));
    ck_assert_uint_eq(s.length, 5);
    ck_assert_mem_eq(s.bytes, "Tales", 5);
}
END_TEST

START_TEST(arrays_come_whole)
{
    struct gguf_string *strings;
    int *ints;
    size_t count;
    ck_assert(gguf_get_strings(&g, "tokens", &strings, &count, &e));
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(strings[1].length, 0);
    ck_assert_mem_eq(strings[2].bytes, "\xc3\xa9", 2);
    free(strings);
    ck_assert(gguf_get_ints(&g, "types", &ints, &count, &e));
    ck_assert_uint_eq(count, 3);
    ck_assert(ints[0] == 1 && ints[1] == -3 && ints[2] == 2147483647);
    free(ints);
    ck_assert(gguf_get_ints(&g, "bytes", &ints, &count, &e));
    ck_assert(count == 2 && ints[1] == 255);
    free(ints);
    ck_assert(gguf_get_ints(&g, "none", &ints, &count, &e));
    ck_assert(count == 0 && ints != NULL);
    free(ints);
}
END_TEST

//: test-gguf-get-wrong
START_TEST(a_wrong_value_is_named_with_its_key_and_limit)
{
    int number = 5;
    double real;
    bool truth;
    struct gguf_string s;
    ck_assert(!gguf_get_int(&g, "width", &number, &e));
    says("key \"width\" is missing");
    ck_assert(!gguf_get_int(&g, "large", &number, &e));
    says("key \"large\" is 1099511627776 (u64), expected an integer from -2147483648 to");
    ck_assert(!gguf_get_int(&g, "half", &number, &e));
    says("key \"half\" is 0.5 (f32), expected an integer");
    ck_assert(!gguf_get_int(&g, "types", &number, &e));
    says("(array), expected an integer");
    ck_assert_int_eq(number, 5);
    ck_assert(!gguf_get_float(&g, "layers", &real, &e));
    says("key \"layers\" is 6 (u32), expected an f32 or f64");
    ck_assert(!gguf_get_bool(&g, "perhaps", &truth, &e));
    says("key \"perhaps\"");
    ck_assert(!gguf_get_string(&g, "tokens", &s, &e));
    says("expected a string");
}
END_TEST

//: test-gguf-get-wrong-arrays
START_TEST(a_wrong_array_is_named_likewise)
{
    int *ints;
    struct gguf_string *strings;
    size_t count;
    ck_assert(!gguf_get_strings(&g, "types", &strings, &count, &e));
    says("expected an array of strings");
    ck_assert_ptr_null(strings);
    ck_assert(!gguf_get_ints(&g, "longs", &ints, &count, &e));
    says("element 0 of key \"longs\" does not fit 32 bits");
    ck_assert_ptr_null(ints);
    ck_assert(!gguf_get_ints(&g, "tokens", &ints, &count, &e));
    says("expected an array of integers");
}
END_TEST

START_TEST(a_value_is_described_for_people)
{
    char text[100];
    gguf_describe(&g, gguf_find(&g, "types"), text, sizeof text);
    ck_assert_str_eq(text, "[3 x i32] 1, -3, 2147483647");
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("gguf_get");
    TCase *c = tcase_create("core");
    tcase_add_checked_fixture(c, open_samples, close_samples);
    tcase_add_test(c, values_come_in_the_type_that_is_asked_for);
    tcase_add_test(c, arrays_come_whole);
    tcase_add_test(c, a_wrong_value_is_named_with_its_key_and_limit);
    tcase_add_test(c, a_wrong_array_is_named_likewise);
    tcase_add_test(c, a_value_is_described_for_people);
    suite_add_tcase(s, c);
    return s;
}
