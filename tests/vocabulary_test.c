#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf_writer.h"
#include "main.h"

static struct gguf_string string(const char *s)
{
    return (struct gguf_string){s, strlen(s)};
}

static const struct gguf_string nothing = {"", 0};

START_TEST(the_byte_alphabet_is_printable_and_goes_both_ways)
{
    // Read off formats: 33-126, 161-172 and 174-255 are themselves, the others U+0100 on.
    unsigned next = 0x100, seen = 0;
    for (unsigned b = 0; b < 256; b++) {
        bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        unsigned expected = itself ? b : next++;
        ck_assert_uint_eq(vocabulary_code_of((unsigned char)b), expected);
        ck_assert_int_eq(vocabulary_byte_of(expected), (int)b);
    }
    ck_assert_uint_eq(next, 0x100 + 68);
    for (unsigned code = 0; code < 0x110000; code++)
        seen += vocabulary_byte_of(code) >= 0;
    ck_assert_uint_eq(seen, 256);
}
END_TEST

// The two arrays of a small file; null leaves a key out.
static bool init(struct vocabulary *v, const char *const *tokens, size_t n_tokens,
                 const int *types, size_t n_types, struct error *e)
{
    struct gguf g;
    struct gguf_writer w = gw_new();
    if (tokens != NULL)
        gw_strings(&w, "tokenizer.ggml.tokens", tokens, n_tokens);
    if (types != NULL)
        gw_ints(&w, "tokenizer.ggml.token_type", types, n_types);
    ck_assert(gw_open(&w, &g, e));
    bool good = vocabulary_init(v, &g, e);
    gguf_close(&g);
    return good;
}

START_TEST(tokens_are_found_by_name_and_stand_for_bytes)
{
    // Ġ is the space, Ċ the line feed, é two bytes of which Ã and © are the characters.
    const char *tokens[] = {
        "a",          "\xC4\xA0the",   "\xC4\x8A",     "\xC3\x83\xC2\xA9",
        "<|im_end|>", "\xC4\xA0think", "\xE6\x97\xA5", ""};
    const int types[] = {1, 1, 1, 1, 3, 4, 1, 1};
    const char *bytes[] = {"a",          " the",          "\n",           "\xC3\xA9",
                           "<|im_end|>", "\xC4\xA0think", "\xE6\x97\xA5", ""};
    struct vocabulary v;
    struct error e;
    ck_assert_msg(init(&v, tokens, 8, types, 8, &e), "%s", e.text);
    ck_assert_int_eq(v.count, 8);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(vocabulary_find(&v, string(tokens[i]), nothing), i);
        ck_assert_uint_eq(v.bytes[i].length, strlen(bytes[i]));
        ck_assert_mem_eq(v.bytes[i].bytes, bytes[i], v.bytes[i].length);
        ck_assert_int_eq(v.types[i], types[i]);
    }
    ck_assert_int_eq(vocabulary_find(&v, string("\xC4\xA0t"), string("he")), 1);
    ck_assert_int_eq(vocabulary_find(&v, string("\xC4\xA0t"), string("h")), -1);
    ck_assert_int_eq(vocabulary_find_byte(&v, '\n'), 2);
    ck_assert_int_eq(vocabulary_find_byte(&v, 'b'), -1);
    vocabulary_free(&v);
}
END_TEST

START_TEST(arrays_that_do_not_fit_together_are_refused)
{
    const char *two[] = {"a", "b"}, *same[] = {"a", "x\ny", "x\ny"};
    struct vocabulary v;
    struct error e;
    ck_assert(!init(&v, NULL, 0, (int[]){1, 1}, 2, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "\"tokenizer.ggml.tokens\" is missing"));
    ck_assert(!init(&v, two, 2, NULL, 0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "\"tokenizer.ggml.token_type\" is missing"));
    ck_assert(!init(&v, two, 2, (int[]){1}, 1, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "tokenizer.ggml.token_type has 1 elements"));
    ck_assert_ptr_nonnull(strstr(e.text, "tokenizer.ggml.tokens has 2"));
    ck_assert(!init(&v, two, 2, (int[]){1, 7}, 2, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "token 1 is of type 7, expected 1 to 6"));
    ck_assert(!init(&v, two, 2, (int[]){0, 1}, 2, &e));
    ck_assert(!init(&v, two, 0, (int[]){1}, 0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "has 0 elements"));
    ck_assert(!init(&v, same, 3, (int[]){1, 1, 1}, 3, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "tokens 1 and 2 are both \"x?y\""));
}
END_TEST

START_TEST(arrays_of_other_elements_are_refused)
{
    struct vocabulary v;
    struct gguf g;
    struct error e;
    struct gguf_writer w = gw_new();
    gw_ints(&w, "tokenizer.ggml.tokens", (int[]){1}, 1);
    ck_assert(gw_open(&w, &g, &e));
    ck_assert(!vocabulary_init(&v, &g, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "tokenizer.ggml.tokens"));
    ck_assert_ptr_nonnull(strstr(e.text, "expected an array of strings"));
    gguf_close(&g);
    w = gw_new();
    gw_strings(&w, "tokenizer.ggml.tokens", (const char *[]){"a"}, 1);
    gw_strings(&w, "tokenizer.ggml.token_type", (const char *[]){"a"}, 1);
    ck_assert(gw_open(&w, &g, &e));
    ck_assert(!vocabulary_init(&v, &g, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "tokenizer.ggml.token_type"));
    ck_assert_ptr_nonnull(strstr(e.text, "expected an array of integers"));
    gguf_close(&g);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("vocabulary");
    add_case(s, "core", the_byte_alphabet_is_printable_and_goes_both_ways,
             tokens_are_found_by_name_and_stand_for_bytes, NULL);
    add_case(s, "limits", arrays_that_do_not_fit_together_are_refused,
             arrays_of_other_elements_are_refused, NULL);
    return s;
}
