#include "pretokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "main.h"
#include "random.h"

// The lengths of a text's pieces, which must be the text side by side; how many there are.
static size_t cut(const char *text, size_t bytes, size_t *lengths, size_t room)
{
    struct error e;
    struct pretokenizer *p = pretokenizer_new(&e);
    struct cutter *c = cutter_new(p, &e);
    size_t count = 0, at = 0, length;
    const char *piece;
    cutter_start(c, text, bytes);
    while (ck_assert_msg(cutter_next(c, &piece, &length, &e), "%s", e.text), length > 0) {
        ck_assert_ptr_eq(piece, text + at);
        ck_assert_uint_lt(count, room);
        lengths[count++] = length;
        at += length;
    }
    ck_assert_uint_eq(at, bytes);
    cutter_free(c);
    pretokenizer_free(p);
    return count;
}

//: pretokenizer-test
// Expects the pieces, given side by side with | between them.
static void pieces(const char *expected)
{
    char text[100] = {0};
    size_t bytes = 0, lengths[100], count = 0, wanted[100] = {0};
    for (const char *s = expected; *s != 0; s++)
        if (*s == '|')
            count++;
        else
            text[bytes++] = *s, wanted[count]++;
    ck_assert_uint_eq(cut(text, bytes, lengths, 100), count + (bytes > 0));
    ck_assert_mem_eq(lengths, wanted, (count + (bytes > 0)) * sizeof *lengths);
}

//: test-pieces-by-hand
START_TEST(words_take_the_space_before_them)
{
    pieces("Once| upon| a| time|,| said| he|.");
    pieces("I|'ll| say| '|it|'S|'");
    pieces("1|2|3| |4|th");
    pieces("a| | b|  \n\n|c|!!\n\n|d");
    pieces("");
}
END_TEST

// Spaces before a word give it their last one; lines end a run of blanks.
START_TEST(runs_of_spaces_are_cut_before_the_word)
{
    pieces("x|    | y");
    pieces("x|\t\t|\ty|    ");
    pieces("x|  \n  \n|  | y");
}
END_TEST

//: test-pieces-golden
START_TEST(pieces_are_those_of_another_engine)
{
    FILE *f = fopen("tests/golden/pieces.tsv", "r");
    ck_assert_ptr_nonnull(f);
    char line[4000];
    size_t rows = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        if (line[0] == '#')
            continue;
        char text[2000] = {0};
        size_t lengths[1000];
        size_t bytes = hex_bytes(strtok(line, "\t"), text);
        size_t count = cut(text, bytes, lengths, 1000);
        for (size_t i = 0; i < count; i++) {
            char *number = strtok(NULL, ",\n");
            ck_assert_msg(number != NULL && strtoul(number, NULL, 10) == lengths[i],
                          "row %zu, piece %zu: %zu bytes, expected %s", rows, i, lengths[i],
                          number);
        }
        ck_assert_ptr_null(strtok(NULL, ",\n"));
        rows++;
    }
    fclose(f);
    ck_assert_uint_eq(rows, 174);
}
END_TEST

//: pretokenizer-test-limits
START_TEST(bytes_that_are_not_utf8_are_pieces_of_their_own)
{
    pieces("ab|\xC3\xC3\xFF|cd|\x80");
    pieces("\xED\xA0\x80| a|\xE2\x82");
    pieces("a|\xC0\x80| |\xF5");
}
END_TEST

START_TEST(any_bytes_are_cut_without_loss)
{
    struct random r = {3};
    static char text[2000] = {0};
    static size_t lengths[2000];
    for (size_t n = 0; n < sizeof text; n += 1 + n / 4) {
        random_bytes(&r, text, n);
        cut(text, n, lengths, 2000);
        for (size_t i = 0; i < n; i++) // mostly whitespace and letters
            text[i] = " \n\r\ta'\0\xC3\xA9\xE3\x80"[random_bits(&r) % 11];
        cut(text, n, lengths, 2000);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("pretokenizer");
    add_case(s, "core", words_take_the_space_before_them,
             runs_of_spaces_are_cut_before_the_word, pieces_are_those_of_another_engine,
             NULL);
    add_case(s, "limits", bytes_that_are_not_utf8_are_pieces_of_their_own,
             any_bytes_are_cut_without_loss, NULL);
    return s;
}
