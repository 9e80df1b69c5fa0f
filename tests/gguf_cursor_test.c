#include "gguf_cursor.h"

#include <string.h>

#include "main.h"

static struct gguf_cursor over(const void *bytes, size_t size)
{
    return (struct gguf_cursor){bytes, 0, size};
}

//: test-gguf-cursor
START_TEST(numbers_come_lowest_byte_first)
{
    const unsigned char bytes[] = {0x01, 0x02, 0x03, 0x84, 5, 0, 0, 0, 0, 0, 0, 0x80};
    struct gguf_cursor c = over(bytes, sizeof bytes);
    struct error e;
    uint32_t narrow;
    uint64_t wide;
    ck_assert(gguf_take_u32(&c, &narrow, &e));
    ck_assert_uint_eq(narrow, 0x84030201);
    ck_assert(gguf_take_u64(&c, &wide, &e));
    ck_assert_uint_eq(wide, 0x8000000000000005);
    ck_assert_uint_eq(c.at, sizeof bytes);
}
END_TEST

START_TEST(a_string_is_a_view_into_the_bytes)
{
    const char bytes[] = "\x03\0\0\0\0\0\0\0a\0c";
    struct gguf_cursor c = over(bytes, sizeof bytes - 1);
    struct error e;
    struct gguf_string s;
    ck_assert(gguf_take_string(&c, &s, &e));
    ck_assert_uint_eq(s.length, 3);
    ck_assert_ptr_eq(s.bytes, bytes + 8);
}
END_TEST

//: test-gguf-cursor-end
START_TEST(nothing_is_taken_past_the_end)
{
    const unsigned char bytes[7] = {0};
    struct error e;
    uint32_t narrow;
    uint64_t wide;
    struct gguf_cursor c = over(bytes, sizeof bytes);
    ck_assert(!gguf_take_u64(&c, &wide, &e));
    ck_assert_str_eq(e.text, "needs 8 bytes at byte 0, where the file has 7 left");
    ck_assert(gguf_take_u32(&c, &narrow, &e));
    ck_assert(!gguf_take_u32(&c, &narrow, &e));
    ck_assert_uint_eq(c.at, 4);
    ck_assert(!gguf_take(&c, UINT64_MAX, &e)); // 4 + 2^64-1 would wrap to 3
    ck_assert(!gguf_take(&c, UINT64_MAX - 3, &e));
    ck_assert_ptr_eq(gguf_take(&c, 3, &e), bytes + 4);
    ck_assert_ptr_nonnull(gguf_take(&c, 0, &e));
    ck_assert(!gguf_take(&c, 1, &e));
}
END_TEST

//: test-gguf-cursor-strings
START_TEST(a_string_longer_than_the_file_is_refused)
{
    const uint64_t lengths[] = {2, 1ull << 40, INT64_MAX, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        unsigned char bytes[9] = {0};
        memcpy(bytes, &lengths[i], 8);
        struct gguf_cursor c = over(bytes, sizeof bytes);
        struct gguf_string s;
        struct error e;
        ck_assert(!gguf_take_string(&c, &s, &e));
        ck_assert_ptr_nonnull(strstr(e.text, "a string: needs"));
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("gguf_cursor");
    add_case(s, "core", numbers_come_lowest_byte_first, a_string_is_a_view_into_the_bytes,
             NULL);
    add_case(s, "limits", nothing_is_taken_past_the_end,
             a_string_longer_than_the_file_is_refused, NULL);
    return s;
}
