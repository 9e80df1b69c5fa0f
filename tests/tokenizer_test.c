#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "failing_malloc.h"
#include "hex.h"
#include "main.h"
#include "random.h"
#include "small_vocabulary.h"

static struct tokenizer *tales(void)
{
    struct error e;
    struct gguf g;
    ck_assert_msg(gguf_open(&g, "data/tales-Q4_K_M.gguf", &e), "%s", e.text);
    struct tokenizer *t = tokenizer_new(&g, &e);
    ck_assert_msg(t != NULL, "%s", e.text);
    gguf_close(&g); // the tokenizer has copied what it needs
    return t;
}

static struct ids encode(const struct tokenizer *t, const char *text, size_t bytes,
                         bool special)
{
    struct error e;
    struct ids ids = {0};
    ck_assert_msg(tokenizer_encode(t, text, bytes, special, &ids, &e), "%s", e.text);
    return ids;
}

static void gives(const struct tokenizer *t, const char *text, bool special,
                  const int *expected)
{
    struct ids ids = encode(t, text, strlen(text), special);
    check_ids(&ids, expected);
    ids_free(&ids);
}

// The bytes of the ids, side by side, are the text.
static void check_bytes(const struct tokenizer *t, const struct ids *ids, const char *text,
                        size_t bytes)
{
    size_t at = 0, length;
    for (size_t i = 0; i < ids->count; i++) {
        const char *token = tokenizer_bytes(t, ids->items[i], &length);
        if (length > bytes - at || memcmp(token, text + at, length) != 0)
            ck_abort_msg("token %d at byte %zu is another text", ids->items[i], at);
        at += length;
    }
    ck_assert_uint_eq(at, bytes);
}

//: tokenizer-test-golden
START_TEST(ids_are_those_of_two_other_tokenizers)
{
    struct tokenizer *t = tales();
    FILE *f = fopen("tests/golden/tokenize.tsv", "r");
    ck_assert_ptr_nonnull(f);
    static char line[1 << 16], text[1 << 15];
    size_t rows = 0;
    for (; fgets(line, sizeof line, f) != NULL; rows += line[0] != '#') {
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = 0;
        char *ids_at = strchr(line, '\t');
        *ids_at++ = 0;
        size_t bytes = hex_bytes(line, text);
        struct ids ids = encode(t, text, bytes, false);
        for (size_t i = 0; i < ids.count; i++) {
            char *end = ids_at;
            ck_assert_msg(strtol(ids_at, &end, 10) == ids.items[i] && end != ids_at,
                          "row %zu, id %zu: %d", rows, i, ids.items[i]);
            ids_at = *end == ',' ? end + 1 : end;
        }
        ck_assert_int_eq(*ids_at, 0);
        check_bytes(t, &ids, text, bytes);
        ids_free(&ids);
    }
    fclose(f);
    ck_assert_uint_eq(rows, 34);
    tokenizer_free(t);
}
END_TEST

START_TEST(the_tales_know_their_special_tokens)
{
    struct tokenizer *t = tales();
    ck_assert_int_eq(tokenizer_count(t), 4096);
    ck_assert_int_eq(tokenizer_eos(t), 4093);
    ck_assert_int_eq(tokenizer_bos(t), -1); // add_bos_token is false
    ck_assert_int_eq(tokenizer_find(t, "<|im_start|>"), 4094);
    ck_assert_int_eq(tokenizer_find(t, "<|im_start"), -1);
    ck_assert_int_eq(tokenizer_find(t, ""), -1);
    for (int id = 0; id < 4096; id++)
        ck_assert_int_eq(tokenizer_is_control(t, id), id >= 4093);
    ck_assert(tokenizer_ends_reply(t, 4093) && tokenizer_ends_reply(t, 4095));
    ck_assert(!tokenizer_ends_reply(t, 4094) && !tokenizer_ends_reply(t, 0));
    tokenizer_free(t);
}
END_TEST

//: tokenizer-test-hand
// Merges by hand: "the then" is th e, and th en, and the h of "h then" is alone.
START_TEST(merges_work_within_a_piece)
{
    enum { TH = 256, THE, SPACE_TH, EN, SPACE_THE };
    const struct token extra[] = {
        {"th", 1}, {"the", 1}, {"\xC4\xA0th", 1}, {"en", 1}, {"\xC4\xA0the", 1}};
    const char *merges[] = {"t h", "e n", "th e", "\xC4\xA0 th", "\xC4\xA0th e"};
    struct tokenizer *t = small_tokenizer(extra, 5, merges, 5);
    gives(t, "the", false, (int[]){THE, -1});
    gives(t, "then", false, (int[]){TH, EN, -1});
    gives(t, "the the", false, (int[]){THE, ' ', THE, -1}); // th e outranks Ġ th
    gives(t, "t he", false, (int[]){'t', ' ', 'h', 'e', -1});
    tokenizer_free(t);
}
END_TEST

//: test-text-special
static const struct token marks[] = {{"<|im_end|>", 3}, {"<tool>", 4}, {"<tool>s", 4},
                                     {"<to", 3},        {"x<", 4},     {"[unused]", 5}};
enum { IM_END = 256, TOOL, TOOLS, TO, X_LESS, UNUSED };

START_TEST(control_tokens_in_plain_text_are_text)
{
    struct tokenizer *t = small_tokenizer(marks, 6, NULL, 0);
    gives(t, "a<|im_end|>", true, (int[]){'a', IM_END, -1});
    gives(t, "a<|im_end|>", false,
          (int[]){'a', '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>', -1});
    gives(t, "<|im_end", true, (int[]){'<', '|', 'i', 'm', '_', 'e', 'n', 'd', -1});
    tokenizer_free(t);
}
END_TEST

//: test-text-user-defined
START_TEST(user_defined_tokens_are_always_matched_longest_first)
{
    struct tokenizer *t = small_tokenizer(marks, 6, NULL, 0);
    for (int special = 0; special < 2; special++) {
        gives(t, "<tool>", special, (int[]){TOOL, -1});
        gives(t, "<tool>s<tool>", special, (int[]){TOOLS, TOOL, -1});
        gives(t, "a<tool>\n", special, (int[]){'a', TOOL, '\n', -1});
        gives(t, "x<tool>", special, (int[]){X_LESS, 't', 'o', 'o', 'l', '>', -1});
        gives(t, "[unused]", special, (int[]){'[', 'u', 'n', 'u', 's', 'e', 'd', ']', -1});
    }
    gives(t, "<to<tool", false, (int[]){'<', 't', 'o', '<', 't', 'o', 'o', 'l', -1});
    gives(t, "<to<tool", true, (int[]){TO, TO, 'o', 'l', -1});
    tokenizer_free(t);
}
END_TEST

START_TEST(a_beginning_token_is_told_where_the_file_asks_for_it)
{
    struct error e;
    struct gguf_writer w = gw_new();
    add_tokenizer(&w, marks, 6, NULL, 0);
    gw_u32(&w, "tokenizer.ggml.bos_token_id", 7);
    gw_bool(&w, "tokenizer.ggml.add_bos_token", true);
    struct tokenizer *t = read_tokenizer(&w, &e);
    ck_assert_int_eq(tokenizer_bos(t), 7);
    ck_assert_int_eq(tokenizer_eos(t), -1);
    ck_assert(!tokenizer_ends_reply(t, -1));
    gives(t, "", true, (int[]){-1}); // encode adds none: the caller does
    tokenizer_free(t);
}
END_TEST

//: tokenizer-test-round-trip
START_TEST(any_bytes_come_back)
{
    struct tokenizer *t = tales();
    struct random r = {5};
    static char text[3000];
    for (int trial = 0; trial < 200; trial++) {
        size_t n = random_bits(&r) % sizeof text;
        random_bytes(&r, text, n);
        if (trial % 2) // mostly text, so that words, runs and bad bytes meet
            for (size_t i = 0; i < n; i++)
                text[i] = "the king's \n\r\t\0<|im_end|>\xC3\xA9\xE2\x80\x83\xF0\x9F"
                    [random_bits(&r) % 33];
        for (int special = 0; special < 2; special++) {
            struct ids ids = encode(t, text, n, special);
            check_bytes(t, &ids, text, n);
            ids_free(&ids);
        }
    }
    tokenizer_free(t);
}
END_TEST

START_TEST(ids_are_appended_and_nul_bytes_are_bytes)
{
    struct error e;
    struct tokenizer *t = small_tokenizer(NULL, 0, NULL, 0);
    struct ids ids = {0};
    ck_assert(ids_push(&ids, 5, &e));
    ck_assert(tokenizer_encode(t, "a\0b", 3, false, &ids, &e));
    check_ids(&ids, (int[]){5, 'a', 0, 'b', -1});
    ids_free(&ids);
    tokenizer_free(t);
}
END_TEST

//: tokenizer-test-slow
// The merges of the tales' file as strings, sorted to be found: a second way to the ids.
struct named_merge {
    struct gguf_string pair; // "a b"
    size_t rank;
};

static int by_pair(const void *a, const void *b)
{
    const struct gguf_string x = ((const struct named_merge *)a)->pair;
    const struct gguf_string y = ((const struct named_merge *)b)->pair;
    int order = memcmp(x.bytes, y.bytes, x.length < y.length ? x.length : y.length);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

// Joins parts of one word, spelled in the alphabet and ended by 0, by the definition.
static size_t slowly(const struct named_merge *merges, size_t n_merges, char parts[][64],
                     size_t n)
{
    for (;;) {
        size_t at = 0, rank = n_merges;
        for (size_t i = 0; i + 1 < n; i++) {
            char pair[130];
            int length = snprintf(pair, sizeof pair, "%s %s", parts[i], parts[i + 1]);
            struct named_merge key = {{pair, (size_t)length}, 0}, *found;
            found = bsearch(&key, merges, n_merges, sizeof key, by_pair);
            if (found != NULL && found->rank < rank)
                rank = found->rank, at = i;
        }
        if (rank == n_merges)
            return n;
        char *end = parts[at] + strlen(parts[at]);
        memmove(end, parts[at + 1], strlen(parts[at + 1]) + 1);
        memmove(parts[at + 1], parts[at + 2], (n - at - 2) * sizeof *parts);
        n--;
    }
}

START_TEST(ids_are_those_of_a_slow_tokenizer_by_names)
{
    struct error e;
    struct gguf g;
    struct gguf_string *strings;
    size_t n;
    ck_assert(gguf_open(&g, "data/tales-Q4_K_M.gguf", &e));
    ck_assert(gguf_get_strings(&g, "tokenizer.ggml.merges", &strings, &n, &e));
    struct named_merge *merges = malloc(n * sizeof *merges);
    for (size_t i = 0; i < n; i++)
        merges[i] = (struct named_merge){strings[i], i};
    qsort(merges, n, sizeof *merges, by_pair);
    struct tokenizer *t = tales();
    struct random r = {11};
    for (int trial = 0; trial < 2000; trial++) {
        char word[64] = {0},
             parts[41][64] = {{0}}; // " " first is Ġ, then letters: one piece
        size_t length = 1 + random_bits(&r) % 40;
        for (size_t i = 0; i < length; i++) {
            word[i] = i == 0 ? ' ' : "etaoinshrdluwgfyTHEA"[random_bits(&r) % 20];
            strcpy(parts[i], i == 0 ? "\xC4\xA0" : (char[]){word[i], 0});
        }
        size_t count = slowly(merges, n, parts, length);
        struct ids ids = encode(t, word, length, false);
        ck_assert_uint_eq(ids.count, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(ids.items[i], tokenizer_find(t, parts[i]));
        ids_free(&ids);
    }
    tokenizer_free(t);
    free(merges);
    free(strings);
    gguf_close(&g);
}
END_TEST

//: tokenizer-test-bad
// Every file but for one key as it should be; null values leave the key out.
struct bad_file {
    const char *model, *pre, *merge;
    const char *special; // key of an id
    int id;
    const char *says;
};

static const struct bad_file bad_files[] = {
    {"llama", "qwen2", "t h", NULL, 0,
     "tokenizer.ggml.model is \"llama\", expected \"gpt2\""},
    {"gpt2", "llama-bpe", "t h", NULL, 0, "tokenizer.ggml.pre is \"llama-bpe\", expected"},
    {NULL, "qwen2", "t h", NULL, 0, "\"tokenizer.ggml.model\" is missing"},
    {"gpt2", NULL, "t h", NULL, 0, "\"tokenizer.ggml.pre\" is missing"},
    {"gpt2", "qwen2", NULL, NULL, 0, "\"tokenizer.ggml.merges\" is missing"},
    {"gpt2", "qwen2", "th", NULL, 0,
     "tokenizer.ggml.merges: merge 0, \"th\", has no space"},
    {"gpt2", "qwen2", "", NULL, 0, "merge 0, \"\", has no space"},
    {"gpt2", "qwen2", "h t", NULL, 0, "merge 0, \"h t\": its result is no token"},
    {"gpt2", "qwen2", "t xyz", NULL, 0, "merge 0, \"t xyz\": \"xyz\" is no token"},
    {"gpt2", "qwen2", " h", NULL, 0, "\"\" is no token"},
    {"gpt2", "qwen2", "t h h", NULL, 0, "\"h h\" is no token"},
    {"gpt2", "qwen2", "t h", "eos_token_id", 4, "eos_token_id is 4, expected 0 to 3"},
    {"gpt2", "qwen2", "t h", "bos_token_id", -1, "bos_token_id is -1, expected 0 to 3"},
    {"gpt2", "qwen2", "t h", "padding_token_id", 99, "padding_token_id is 99, expected 0"},
    {"gpt2", "qwen2", "t h", "add_bos_token", 2, "add_bos_token is true, but there is no"},
};

START_TEST(bad_files_are_refused_with_file_key_and_value)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        const struct bad_file *b = &bad_files[i];
        struct gguf_writer w = gw_new();
        struct error e;
        if (b->model != NULL)
            gw_string(&w, "tokenizer.ggml.model", b->model);
        if (b->pre != NULL)
            gw_string(&w, "tokenizer.ggml.pre", b->pre);
        gw_strings(&w, "tokenizer.ggml.tokens", (const char *[]){"t", "h", "th", "<|x|>"},
                   4);
        gw_ints(&w, "tokenizer.ggml.token_type", (int[]){1, 1, 1, 3}, 4);
        if (b->merge != NULL)
            gw_strings(&w, "tokenizer.ggml.merges", &b->merge, 1);
        char key[100];
        snprintf(key, sizeof key, "tokenizer.ggml.%s", b->special ? b->special : "");
        if (b->special != NULL && b->id == 2)
            gw_bool(&w, key, true);
        else if (b->special != NULL)
            gw_i32(&w, key, b->id);
        ck_assert_ptr_null(read_tokenizer(&w, &e));
        ck_assert_msg(strstr(e.text, b->says) != NULL, "%s", e.text);
        ck_assert_msg(strstr(e.text, "/tmp/lanewise-test-") == e.text, "%s", e.text);
    }
}
END_TEST

START_TEST(merges_of_another_type_are_refused)
{
    struct gguf_writer w = gw_new();
    struct error e;
    gw_string(&w, "tokenizer.ggml.model", "gpt2");
    gw_string(&w, "tokenizer.ggml.pre", "qwen2");
    gw_strings(&w, "tokenizer.ggml.tokens", (const char *[]){"t"}, 1);
    gw_ints(&w, "tokenizer.ggml.token_type", (int[]){1}, 1);
    gw_ints(&w, "tokenizer.ggml.merges", (int[]){1}, 1);
    ck_assert_ptr_null(read_tokenizer(&w, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "tokenizer.ggml.merges"));
    ck_assert_ptr_nonnull(strstr(e.text, "expected an array of strings"));
}
END_TEST

START_TEST(a_token_that_is_looked_for_in_text_has_256_bytes_at_most)
{
    char name[258];
    for (size_t length = 256; length <= 257; length++)
        for (int type = TOKEN_NORMAL; type <= TOKEN_BYTE; type++) {
            struct error e;
            struct gguf_writer w = gw_new();
            memset(name, 'x', length);
            name[length] = 0;
            add_tokenizer(&w, (struct token[]){{name, type}}, 1, NULL, 0);
            struct tokenizer *t = read_tokenizer(&w, &e);
            bool looked_for = type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED;
            ck_assert_int_eq(t == NULL, looked_for && length == 257);
            if (t == NULL)
                ck_assert_msg(strstr(e.text, "tokenizer.ggml.tokens: token 256 of 257 "
                                             "bytes, expected at most 256") != NULL,
                              "%s", e.text);
            tokenizer_free(t);
        }
}
END_TEST

START_TEST(a_byte_without_a_token_is_an_error_and_adds_nothing)
{
    struct gguf_writer w = gw_new();
    struct error e;
    gw_string(&w, "tokenizer.ggml.model", "gpt2");
    gw_string(&w, "tokenizer.ggml.pre", "qwen2");
    gw_strings(&w, "tokenizer.ggml.tokens", (const char *[]){"t"}, 1);
    gw_ints(&w, "tokenizer.ggml.token_type", (int[]){1}, 1);
    gw_strings(&w, "tokenizer.ggml.merges", NULL, 0);
    struct tokenizer *t = read_tokenizer(&w, &e);
    struct ids ids = {0};
    ck_assert(!tokenizer_encode(t, "tt at", 5, false, &ids, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "no token for the byte 0x20"));
    ck_assert_uint_eq(ids.count, 0);
    ids_free(&ids);
    tokenizer_free(t);
}
END_TEST

#if FAILING_MALLOC
// Reads a tokenizer and encodes with it, the allocation after `good` others failing.
static bool starved(const struct gguf *g, long good, struct error *e)
{
    struct ids ids = {0};
    allocations.before_failure = good;
    struct tokenizer *t = tokenizer_new(g, e);
    bool done = t != NULL && tokenizer_encode(t, "the <tool>s then", 16, true, &ids, e);
    tokenizer_free(t);
    const bool all_good = allocations.before_failure >= 0;
    allocations.before_failure = -1;
    ck_assert(done || (e->text[0] != 0 && ids.count == 0));
    ids_free(&ids);
    return done && all_good;
}

START_TEST(where_memory_runs_out_it_says_so_and_frees_all)
{
    struct gguf g;
    struct error e;
    struct gguf_writer w = gw_new();
    const char *merges[] = {"t h"};
    add_tokenizer(&w, (const struct token[]){{"th", 1}, {"<tool>", 4}}, 2, merges, 1);
    ck_assert(gw_open(&w, &g, &e));
    long good = 0;
    for (bool done = false; !done; good++) {
        const long live = allocations.live;
        e.text[0] = 0;
        done = starved(&g, good, &e);
        ck_assert_int_eq(allocations.live, live);
    }
    ck_assert_int_gt(good, 15);
    gguf_close(&g);
}
END_TEST
#endif

//: tokenizer-test-time
static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

enum { MERGES = 151387, OTHERS = 293 }; // with the 256 bytes Qwen3's 151,936 tokens

// Token i of a merge: the blank, the line feed, "!" and the byte 0x80, doubled ten times
// each, then all strings of two, three and four letters, as many as are needed.  A string's
// merge is that of all but its last letter, or of its halves.
static void name_token(int i, char *name, char *merge)
{
    static const char *const doubled[] = {"\xC4\xA0", "\xC4\x8A", "!", "\xC4\xA2"};
    size_t split;
    name[0] = 0;
    if (i < 40) {
        for (int copies = 0; copies < 2 << i % 10; copies++)
            strcat(name, doubled[i / 10]);
        split = strlen(name) / 2;
    } else {
        int length = i - 40 < 676 ? 2 : i - 40 < 676 + 17576 ? 3 : 4;
        int rest = i - 40 - (length > 2 ? 676 : 0) - (length > 3 ? 17576 : 0);
        for (int at = length; at-- > 0; rest /= 26)
            name[at] = (char)('a' + rest % 26);
        name[length] = 0;
        split = (size_t)length - 1;
    }
    sprintf(merge, "%.*s %s", (int)split, name, name + split);
}

static void add_large_tokenizer(struct gguf_writer *w)
{
    enum { LONGEST = 2100 };
    struct token *extra = calloc(MERGES + OTHERS, sizeof *extra);
    const char **merges = calloc(MERGES, sizeof *merges);
    char *text = malloc(40 * 2 * LONGEST + (MERGES + OTHERS) * 32), *at = text;
    for (int i = 0; i < MERGES + OTHERS; i++) {
        extra[i] = (struct token){at, TOKEN_NORMAL};
        if (i < MERGES) {
            char merge[LONGEST];
            name_token(i, at, merge);
            at += strlen(at) + 1;
            merges[i] = strcpy(at, merge);
        } else {
            sprintf(at, "<|extra_%d|>", i);
            extra[i].type = i % 2 ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
        }
        at += strlen(at) + 1;
    }
    add_tokenizer(w, extra, MERGES + OTHERS, merges, MERGES);
    free(text);
    free(extra);
    free(merges);
}

static struct tokenizer *large(double *seconds)
{
    struct error e;
    struct gguf g;
    struct gguf_writer w = gw_new();
    add_large_tokenizer(&w);
    ck_assert_msg(gw_open(&w, &g, &e), "%s", e.text);
    double start = now();
    struct tokenizer *t = tokenizer_new(&g, &e);
    *seconds = now() - start;
    ck_assert_msg(t != NULL, "%s", e.text);
    gguf_close(&g);
    return t;
}

START_TEST(a_vocabulary_of_151936_is_read_within_a_second)
{
    double seconds;
    struct tokenizer *t = large(&seconds);
    ck_assert_int_eq(tokenizer_count(t), 151936);
    ck_assert_msg(seconds < 1, "%.2f s", seconds);
    gives(t, "aabc zz", false, // aa and bc outrank aab
          (int[]){tokenizer_find(t, "aa"), tokenizer_find(t, "bc"), ' ',
                  tokenizer_find(t, "zz"), -1});
    tokenizer_free(t);
}
END_TEST

// The kinds of text that have been known to take a tokenizer minutes.
static const struct {
    const char *name, *of; // the bytes to choose from; null: all
} kinds[] = {
    {"letters", "a"},
    {"blanks", " "},
    {"line feeds", "\n"},
    {"marks", "!"},
    {"digits", "7"},
    {"bytes of no character", "\x80"},
    {"angles", "<"},
    {"blanks and lines", " \n"},
    {"words", "etaoin shrdlu\n"},
    {"anything", NULL},
    {"apostrophes", "'s"},
    {"a mix", " !a\n"},
    {"ideographs' bytes", "\xE3\x81\x82"},
};

// Seconds to encode n bytes of a kind; a blank run ends in a word, so that it is cut.
static double encode_time(const struct tokenizer *t, const char *of, size_t n)
{
    struct random r = {9};
    char *text = malloc(n);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = random_bits(&r);
        text[i] = of == NULL ? (char)bits : of[bits % strlen(of)];
    }
    text[n - 1] = 'x';
    double start = now();
    struct ids ids = encode(t, text, n, true);
    double seconds = now() - start;
    check_bytes(t, &ids, text, n);
    ids_free(&ids);
    free(text);
    return seconds;
}

// A quarter of the text must take near a quarter of the time: squares would take a
// sixteenth.  The bounds leave room for a slow, busy machine.
static void check_times(const struct tokenizer *t)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double little = encode_time(t, kinds[i].of, 62500);
        ck_assert_msg(little < 1, "a sixteenth of %s: %.2f s", kinds[i].name, little);
        double quarter = encode_time(t, kinds[i].of, 250000);
        double whole = encode_time(t, kinds[i].of, 1000000);
        if (getenv("LANEWISE_TIMES") != NULL)
            printf("%-24s %.3f s, a quarter %.3f s\n", kinds[i].name, whole, quarter);
        ck_assert_msg(whole < 2, "a megabyte of %s: %.2f s", kinds[i].name, whole);
        ck_assert_msg(whole < 8 * quarter + 0.1, "%s: %.3f s, a quarter %.3f s",
                      kinds[i].name, whole, quarter);
    }
}

START_TEST(a_megabyte_of_any_text_takes_little_time_with_the_tales)
{
    struct tokenizer *t = tales();
    check_times(t);
    tokenizer_free(t);
}
END_TEST

START_TEST(a_megabyte_of_any_text_takes_little_time_with_151936_tokens)
{
    double seconds;
    struct tokenizer *t = large(&seconds);
    check_times(t);
    tokenizer_free(t);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("tokenizer");
    add_case(s, "core", ids_are_those_of_two_other_tokenizers,
             the_tales_know_their_special_tokens, merges_work_within_a_piece,
             control_tokens_in_plain_text_are_text,
             user_defined_tokens_are_always_matched_longest_first,
             a_beginning_token_is_told_where_the_file_asks_for_it,
             ids_are_appended_and_nul_bytes_are_bytes,
             ids_are_those_of_a_slow_tokenizer_by_names, NULL);
    add_case(s, "limits", any_bytes_come_back,
             bad_files_are_refused_with_file_key_and_value,
             merges_of_another_type_are_refused,
             a_token_that_is_looked_for_in_text_has_256_bytes_at_most,
             a_byte_without_a_token_is_an_error_and_adds_nothing,
             a_vocabulary_of_151936_is_read_within_a_second,
             a_megabyte_of_any_text_takes_little_time_with_the_tales,
             a_megabyte_of_any_text_takes_little_time_with_151936_tokens, NULL);
#if FAILING_MALLOC
    add_case(s, "memory", where_memory_runs_out_it_says_so_and_frees_all, NULL);
#endif
    return s;
}
