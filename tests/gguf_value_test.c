#include "gguf_value.h"

#include <limits.h>
#include <string.h>

#include "gguf_writer.h"

// Takes the value that was just added to the writer, under the key "k".
static bool take_last(struct gguf_writer *w, struct gguf_value *v, struct error *e)
{
    struct gguf_cursor c = {w->keys.bytes, 9, w->keys.size};
    bool taken = gguf_take_value(&c, v, e);
    ck_assert(!taken || c.at == c.size);
    return taken;
}

static void described(struct gguf_writer *w, const char *expected)
{
    struct gguf_value v;
    struct error e;
    char text[200];
    ck_assert_msg(take_last(w, &v, &e), "%s", e.text);
    struct gguf_cursor c = {w->keys.bytes, (size_t)(v.data - w->keys.bytes), w->keys.size};
    gguf_describe_at(c, &v, text, sizeof text);
    ck_assert_str_eq(text, expected);
    gw_free(w);
}

//: test-gguf-value
START_TEST(every_type_is_read_and_described)
{
    struct gguf_writer w = gw_new();
    gw_u8(&w, "k", 200), described(&w, "200");
    gw_i8(&w, "k", -100), described(&w, "-100");
    gw_u16(&w, "k", 60000), described(&w, "60000");
    gw_i16(&w, "k", -30000), described(&w, "-30000");
    gw_u32(&w, "k", 4000000000u), described(&w, "4000000000");
    gw_i32(&w, "k", -2000000000), described(&w, "-2000000000");
    gw_u64(&w, "k", UINT64_MAX), described(&w, "18446744073709551615");
    gw_i64(&w, "k", INT64_MIN), described(&w, "-9223372036854775808");
    gw_f32(&w, "k", 0.5f), described(&w, "0.5");
    gw_f64(&w, "k", -1e100), described(&w, "-1e+100");
    gw_bool(&w, "k", true), described(&w, "true");
    gw_string(&w, "k", "tale"), described(&w, "\"tale\"");
    gw_ints(&w, "k", (const int[]){1, -2}, 2), described(&w, "[2 x i32] 1, -2");
    gw_strings(&w, "k", (const char *const[]){"a", "b", "c", "d"}, 4);
    described(&w, "[4 x string] \"a\", \"b\", \"c\", ...");
    gw_ints(&w, "k", NULL, 0), described(&w, "[0 x i32] ");
}
END_TEST

//: test-gguf-int
START_TEST(an_int_is_taken_of_any_width_where_it_fits)
{
    const struct {
        enum gguf_type type;
        uint64_t bits;
        bool fits;
        int expected;
    } cases[] = {
        {GGUF_U8, 255, true, 255},
        {GGUF_I8, 255, true, -1},
        {GGUF_U16, 65535, true, 65535},
        {GGUF_I16, 32768, true, -32768},
        {GGUF_U32, INT_MAX, true, INT_MAX},
        {GGUF_U32, 1ull << 31, false, 0},
        {GGUF_I32, 1ull << 31, true, INT_MIN},
        {GGUF_U64, INT_MAX, true, INT_MAX},
        {GGUF_U64, UINT64_MAX, false, 0},
        {GGUF_U64, 1ull << 32, false, 0},
        {GGUF_I64, UINT64_MAX, true, -1},
        {GGUF_I64, (uint64_t)INT_MIN, true, INT_MIN},
        {GGUF_I64, (uint64_t)INT_MIN - 1, false, 0},
        {GGUF_F32, 1, false, 0},
        {GGUF_BOOL, 1, false, 0},
        {GGUF_STRING, 1, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char bytes[8];
        int number = 77;
        memcpy(bytes, &cases[i].bits, sizeof bytes);
        ck_assert(gguf_int_at(cases[i].type, bytes, &number) == cases[i].fits);
        ck_assert_int_eq(number, cases[i].fits ? cases[i].expected : 77);
    }
}
END_TEST

//: test-gguf-value-limits
START_TEST(a_count_that_would_wrap_is_refused)
{
    const uint64_t counts[] = {3, 1ull << 40, 1ull << 61, (1ull << 62) + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (uint32_t type = GGUF_U8; type <= GGUF_F64; type++) {
            struct gguf_writer w = gw_new();
            gw_array(&w, "k", type, counts[i]);
            gw_put(&w.keys, NULL, 2); // two zero bytes where the elements belong
            struct gguf_value v;
            struct error e;
            ck_assert(!take_last(&w, &v, &e));
            gw_free(&w);
        }
}
END_TEST

START_TEST(unknown_types_and_nested_arrays_are_refused)
{
    struct gguf_value v;
    struct error e;
    for (uint32_t type = 13; type != 0; type = type < UINT32_MAX ? UINT32_MAX : 0) {
        struct gguf_writer w = gw_new();
        gw_key(&w, "k", type);
        gw_put(&w.keys, NULL, 64);
        ck_assert(!take_last(&w, &v, &e));
        ck_assert_ptr_nonnull(strstr(e.text, "the highest is 12"));
        gw_free(&w);
        gw_array(&w, "k", type, 1);
        gw_put(&w.keys, NULL, 64);
        ck_assert(!take_last(&w, &v, &e));
        gw_free(&w);
    }
    struct gguf_writer w = gw_new();
    gw_array(&w, "k", GGUF_ARRAY, 1);
    for (int depth = 0; depth < 1000; depth++) {
        gw_put_u32(&w.keys, GGUF_ARRAY);
        gw_put_u64(&w.keys, 1);
    }
    ck_assert(!take_last(&w, &v, &e));
    ck_assert_str_eq(e.text, "an array of arrays, expected one level");
    gw_free(&w);
}
END_TEST

START_TEST(a_description_is_cut_to_its_room_and_keeps_to_one_line)
{
    struct gguf_writer w = gw_new();
    struct gguf_value v;
    struct error e;
    char text[300];
    gw_string(&w, "k", "a\nb\x1b[2J");
    described(&w, "\"a?b?[2J\"");
    memset(text, 'x', sizeof text);
    text[299] = 0;
    gw_strings(&w, "k", (const char *const[]){text, text, text, text}, 4);
    ck_assert(take_last(&w, &v, &e));
    struct gguf_cursor c = {w.keys.bytes, (size_t)(v.data - w.keys.bytes), w.keys.size};
    for (size_t room = 1; room < sizeof text; room++) {
        memset(text, '#', sizeof text);
        gguf_describe_at(c, &v, text, room);
        ck_assert_ptr_nonnull(memchr(text, 0, room));
        ck_assert(text[room] == '#');
    }
    gw_free(&w);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("gguf_value");
    add_case(s, "core", every_type_is_read_and_described,
             an_int_is_taken_of_any_width_where_it_fits, NULL);
    add_case(s, "limits", a_count_that_would_wrap_is_refused,
             unknown_types_and_nested_arrays_are_refused,
             a_description_is_cut_to_its_room_and_keeps_to_one_line, NULL);
    return s;
}
