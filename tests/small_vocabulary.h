// A vocabulary made for tests: the 256 bytes, ids 0 to 255 in the byte's order, then what
// a test adds.
#ifndef LANEWISE_TESTS_SMALL_VOCABULARY_H
#define LANEWISE_TESTS_SMALL_VOCABULARY_H

#include <string.h>

#include "gguf_writer.h"
#include "tokenizer.h"
#include "utf8.h"
#include "vocabulary.h"

struct token {
    const char *name;
    int type;
};

// Adds the keys of a tokenizer.
static inline void add_tokenizer(struct gguf_writer *w, const struct token *extra,
                                 size_t n_extra, const char *const *merges, size_t n_merges)
{
    const size_t count = 256 + n_extra;
    const char **names = (const char **)calloc(count, sizeof *names);
    int *types = (int *)calloc(count, sizeof *types);
    char bytes[256][5] = {{0}};
    for (unsigned b = 0; b < 256; b++) {
        utf8_write(vocabulary_code_of((unsigned char)b), bytes[b]);
        names[b] = bytes[b];
        types[b] = TOKEN_NORMAL;
    }
    for (size_t i = 0; i < n_extra; i++) {
        names[256 + i] = extra[i].name;
        types[256 + i] = extra[i].type;
    }
    gw_string(w, "tokenizer.ggml.model", "gpt2");
    gw_string(w, "tokenizer.ggml.pre", "qwen2");
    gw_strings(w, "tokenizer.ggml.tokens", names, count);
    gw_ints(w, "tokenizer.ggml.token_type", types, count);
    gw_strings(w, "tokenizer.ggml.merges", merges, n_merges);
    free(names);
    free(types);
}

// Frees the writer; the error says why where the result is null.
static inline struct tokenizer *read_tokenizer(struct gguf_writer *w, struct error *e)
{
    struct gguf g;
    ck_assert_msg(gw_open(w, &g, e), "%s", e->text);
    struct tokenizer *t = tokenizer_new(&g, e);
    gguf_close(&g);
    return t;
}

static inline struct tokenizer *small_tokenizer(const struct token *extra, size_t n_extra,
                                                const char *const *merges, size_t n_merges)
{
    struct error e;
    struct gguf_writer w = gw_new();
    add_tokenizer(&w, extra, n_extra, merges, n_merges);
    struct tokenizer *t = read_tokenizer(&w, &e);
    ck_assert_msg(t != NULL, "%s", e.text);
    return t;
}

// Expects the ids, which end with -1.
static inline void check_ids(const struct ids *ids, const int *expected)
{
    size_t i = 0;
    for (; i < ids->count && expected[i] >= 0; i++)
        ck_assert_msg(ids->items[i] == expected[i], "id %zu is %d, expected %d", i,
                      ids->items[i], expected[i]);
    ck_assert_msg(i == ids->count && expected[i] < 0, "%zu ids, %zu as expected",
                  ids->count, i);
}

#endif
