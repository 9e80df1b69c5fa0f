#include "utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "main.h"

// The rows of table 3-7 written out: the characters' ranges, from which every sequence of
// up to four bytes is judged by encoding all 1,112,064 characters, not by the code's rule.
static size_t encode(unsigned c, unsigned char out[4])
{
    if (c < 0x80)
        return out[0] = (unsigned char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3F));
    out[0] = (unsigned char)(lead[n] | c);
    return n;
}

START_TEST(every_character_is_whole_and_its_beginnings_are_cut)
{
    for (unsigned c = 0; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        unsigned char b[5] = {0};
        size_t n = encode(c, b), length = 0;
        b[n] = 0x80; // what follows must not matter
        bool right = utf8_look((char *)b, n + 1, &length) == UTF8_CHARACTER && length == n;
        for (size_t cut = 1; cut < n; cut++)
            right =
                right && utf8_look((char *)b, cut, &length) == UTF8_CUT && length == cut;
        char out[4];
        right = right && utf8_read((char *)b, n) == c && utf8_write(c, out) == n &&
                memcmp(out, b, n) == 0;
        if (!right) // one assertion a character would take Check half a minute
            ck_abort_msg("U+%04X", c);
    }
}
END_TEST

// Marks which three-byte strings begin a character; all others must be cut short as bad.
START_TEST(every_three_bytes_are_judged_by_the_longest_valid_beginning)
{
    unsigned char *begins = calloc(1 << 24, 1); // longest prefix of these 3 that is one
    for (unsigned c = 0; c < 0x110000; c++) {
        unsigned char b[4] = {0};
        if (c >= 0xD800 && c < 0xE000)
            continue;
        size_t n = encode(c, b);
        begins[b[0] << 16] |= 1;
        if (n > 1)
            begins[b[0] << 16 | b[1] << 8] |= 2;
        if (n > 2)
            begins[b[0] << 16 | b[1] << 8 | b[2]] |= 4;
    }
    for (unsigned x = 0; x < 1 << 24; x++) {
        unsigned char b[3] = {(unsigned char)(x >> 16), (unsigned char)(x >> 8),
                              (unsigned char)x};
        size_t expected = 0, length = 0;
        expected += begins[x & 0xFF0000] & 1;
        expected += expected == 1 && b[0] >= 0x80 && begins[x & 0xFFFF00] & 2;
        expected += expected == 2 && b[0] >= 0xE0 && begins[x] & 4;
        enum utf8_kind kind = utf8_look((char *)b, 3, &length);
        if (expected == 0)
            expected = 1;
        if (length != expected || (length == 1 && b[0] < 0x80 && kind != UTF8_CHARACTER))
            ck_abort_msg("%06x: kind %d, %zu bytes, expected %zu", x, kind, length,
                         expected);
    }
    free(begins);
}
END_TEST

// The whole text in one push, then in pushes of every smaller size.
static void streams(const char *bytes, size_t n, const char *expected)
{
    for (size_t step = 1; step <= n; step++) {
        char out[300], once[300];
        size_t written = 0;
        struct utf8_stream s = {0};
        for (size_t at = 0; at < n; at += step) {
            size_t count = n - at < step ? n - at : step;
            size_t got = utf8_stream_push(&s, bytes + at, count, once);
            ck_assert_uint_le(got, 3 * (count + 1));
            memcpy(out + written, once, got);
            written += got;
            size_t length;
            for (size_t i = 0; i < got; i += length)
                ck_assert_int_eq(utf8_look(once + i, got - i, &length), UTF8_CHARACTER);
        }
        written += utf8_stream_end(&s, out + written);
        ck_assert_uint_eq(written, strlen(expected));
        ck_assert_mem_eq(out, expected, written);
        ck_assert_uint_eq(s.count, 0);
    }
}

#define FFFD "\xEF\xBF\xBD"

START_TEST(characters_split_over_pushes_come_out_whole)
{
    streams("a\xC3\xA9z\xE2\x82\xAC\xF0\x9F\x98\x80!", 12,
            "a\xC3\xA9z\xE2\x82\xAC\xF0\x9F\x98\x80!");
}
END_TEST

// The Unicode Standard's own examples, tables 3-8 to 3-11.
START_TEST(bad_bytes_become_one_replacement_for_each_maximal_subpart)
{
    streams("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", 9,
            FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
    streams("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", 9,
            FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
    streams("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", 9,
            FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B");
    streams("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", 9, FFFD FFFD FFFD FFFD "A");
}
END_TEST

START_TEST(a_cut_end_is_one_replacement)
{
    streams("ab\xF0\x9F\x98", 5, "ab" FFFD);
    streams("\xC3", 1, FFFD);
}
END_TEST

START_TEST(a_nul_byte_is_a_character)
{
    char out[20];
    struct utf8_stream s = {0};
    ck_assert_uint_eq(utf8_stream_push(&s, "a\0b", 3, out), 3);
    ck_assert_mem_eq(out, "a\0b", 3);
    ck_assert_uint_eq(utf8_stream_push(&s, "", 0, out), 0);
    ck_assert_uint_eq(utf8_stream_end(&s, out), 0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("utf8");
    add_case(s, "core", every_character_is_whole_and_its_beginnings_are_cut,
             characters_split_over_pushes_come_out_whole, a_nul_byte_is_a_character, NULL);
    add_case(s, "limits", every_three_bytes_are_judged_by_the_longest_valid_beginning,
             bad_bytes_become_one_replacement_for_each_maximal_subpart,
             a_cut_end_is_one_replacement, NULL);
    return s;
}
