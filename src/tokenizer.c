//: ids
// Text to token ids and back; see tokenizer.h.
#include "tokenizer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpe.h"
#include "file_map.h"
#include "pretokenizer.h"
#include "vocabulary.h"

bool ids_push(struct ids *ids, int id, struct error *e)
{
    if (ids->count == ids->room) {
        size_t room = ids->room == 0 ? 64 : 2 * ids->room;
        int *items = realloc(ids->items, room * sizeof *items);
        if (items == NULL)
            return failed(e, "no memory for %zu token ids", room);
        *ids = (struct ids){items, ids->count, room};
    }
    ids->items[ids->count++] = id;
    return true;
}

//: tokenizer-struct
void ids_free(struct ids *ids)
{
    free(ids->items);
    *ids = (struct ids){0};
}

struct literal { // a token that is matched in the text as it stands, before any merge
    struct gguf_string text; // a view of the vocabulary's
    int id;
    bool control; // matched only where the caller asks for it
};

struct tokenizer {
    struct vocabulary vocabulary;
    struct bpe bpe;
    struct pretokenizer *pretokenizer;
    int byte_ids[256];        // the token of each byte; -1 where the vocabulary has none
    struct literal *literals; // (n_literals) in ascending order of their bytes
    int n_literals;
    int eos, bos, im_end, end_of_text; // -1 where there is none
};

//: tokenizer-merges
// "a b": the names of two tokens, and their names side by side are that of a third.
static bool read_merge(const struct tokenizer *t, struct gguf_string s, int rank,
                       struct bpe_merge *m, struct error *e)
{
    const char *space = memchr(s.bytes, ' ', s.length);
    if (space == NULL)
        return failed(e, "merge %d, \"%.*s\", has no space", rank, GGUF_SHOW(s));
    size_t before = (size_t)(space - s.bytes);
    struct gguf_string nothing = {"", 0}, left = {s.bytes, before};
    struct gguf_string right = {space + 1, s.length - before - 1};
    const struct vocabulary *v = &t->vocabulary;
    *m = (struct bpe_merge){vocabulary_find(v, left, nothing),
                            vocabulary_find(v, right, nothing), rank,
                            vocabulary_find(v, left, right)};
    if (m->left < 0 || m->right < 0)
        return failed(e, "merge %d, \"%.*s\": \"%.*s\" is no token", rank, GGUF_SHOW(s),
                      GGUF_SHOW(m->left < 0 ? left : right));
    if (m->result < 0)
        return failed(e, "merge %d, \"%.*s\": its result is no token", rank, GGUF_SHOW(s));
    return true;
}

//: tokenizer-read-merges
static bool read_merges(struct tokenizer *t, const struct gguf *g, struct error *e)
{
    const char *key = "tokenizer.ggml.merges";
    struct gguf_string *merges;
    size_t count;
    if (!gguf_get_strings(g, key, &merges, &count, e))
        return false;
    bool good = count <= INT_MAX && bpe_init(&t->bpe, count, e);
    if (count > INT_MAX)
        failed(e, "%s: %s has %zu elements, expected at most %d", file_path_shown(g->path),
               key, count, INT_MAX);
    for (size_t i = 0; good && i < count; i++) {
        struct bpe_merge m;
        good = read_merge(t, merges[i], (int)i, &m, e);
        if (good)
            bpe_add(&t->bpe, m);
        else
            failed_in(e, "%s: %s", file_path_shown(g->path), key);
    }
    free(merges);
    return good;
}

//: tokenizer-literals
static int compare_literals(const void *a, const void *b)
{
    const struct gguf_string x = ((const struct literal *)a)->text;
    const struct gguf_string y = ((const struct literal *)b)->text;
    int order = memcmp(x.bytes, y.bytes, x.length < y.length ? x.length : y.length);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

//: tokenizer-collect-literals
// Each place of a text may be compared with a whole token, so their length is bounded.
enum { LONGEST_LITERAL = 256 };

static bool collect_literals(struct tokenizer *t, const struct gguf *g, struct error *e)
{
    const struct vocabulary *v = &t->vocabulary;
    t->literals = malloc((size_t)v->count * sizeof *t->literals);
    if (t->literals == NULL)
        return failed(e, "no memory for %d tokens", v->count);
    for (int id = 0; id < v->count; id++) {
        bool control = v->types[id] == TOKEN_CONTROL;
        size_t length = v->bytes[id].length;
        if ((!control && v->types[id] != TOKEN_USER_DEFINED) || length == 0)
            continue;
        if (length > LONGEST_LITERAL)
            return failed(e,
                          "%s: tokenizer.ggml.tokens: token %d of %zu bytes, expected at "
                          "most %d for one of type %d",
                          file_path_shown(g->path), id, length, LONGEST_LITERAL,
                          v->types[id]);
        t->literals[t->n_literals++] = (struct literal){v->bytes[id], id, control};
    }
    qsort(t->literals, (size_t)t->n_literals, sizeof *t->literals, compare_literals);
    return true;
}

//: tokenizer-expect
// Other kinds have other rules; guessing would give wrong ids without a word.
static bool expect(const struct gguf *g, const char *key, const char *expected,
                   struct error *e)
{
    struct gguf_string kind;
    if (!gguf_get_string(g, key, &kind, e))
        return false;
    if (kind.length == strlen(expected) && memcmp(kind.bytes, expected, kind.length) == 0)
        return true;
    return failed(e, "%s: %s is \"%.*s\", expected \"%s\"", file_path_shown(g->path), key,
                  GGUF_SHOW(kind), expected);
}

static bool read_id(const struct gguf *g, const char *key, int count, int *id,
                    struct error *e)
{
    *id = -1; // where the key is absent
    if (gguf_find(g, key) == NULL)
        return true;
    if (!gguf_get_int(g, key, id, e))
        return false;
    return (*id >= 0 && *id < count) ||
           failed(e, "%s: %s is %d, expected 0 to %d", file_path_shown(g->path), key, *id,
                  count - 1);
}

//: tokenizer-read-special
static bool read_special(struct tokenizer *t, const struct gguf *g, struct error *e)
{
    static const char *const others[] = {"padding", "unknown", "seperator", "eot", "eom"};
    const int count = t->vocabulary.count;
    bool add_bos = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char key[64];
        int id;
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", others[i]);
        if (!read_id(g, key, count, &id, e))
            return false;
    }
    const char *key = "tokenizer.ggml.add_bos_token";
    if (!read_id(g, "tokenizer.ggml.eos_token_id", count, &t->eos, e) ||
        !read_id(g, "tokenizer.ggml.bos_token_id", count, &t->bos, e) ||
        (gguf_find(g, key) != NULL && !gguf_get_bool(g, key, &add_bos, e)))
        return false;
    if (add_bos && t->bos < 0)
        return failed(e, "%s: %s is true, but there is no bos_token_id",
                      file_path_shown(g->path), key);
    t->bos = add_bos ? t->bos : -1;
    return true;
}

//: tokenizer-load
static bool load(struct tokenizer *t, const struct gguf *g, struct error *e)
{
    if (!expect(g, "tokenizer.ggml.model", "gpt2", e) ||
        !expect(g, "tokenizer.ggml.pre", "qwen2", e) ||
        !vocabulary_init(&t->vocabulary, g, e) || !read_merges(t, g, e) ||
        !collect_literals(t, g, e) || !read_special(t, g, e))
        return false;
    for (int b = 0; b < 256; b++)
        t->byte_ids[b] = vocabulary_find_byte(&t->vocabulary, (unsigned char)b);
    t->im_end = tokenizer_find(t, "<|im_end|>");
    t->end_of_text = tokenizer_find(t, "<|endoftext|>");
    t->pretokenizer = pretokenizer_new(e);
    return t->pretokenizer != NULL;
}

//: tokenizer-new
struct tokenizer *tokenizer_new(const struct gguf *g, struct error *e)
{
    struct tokenizer *t = calloc(1, sizeof *t);
    if (t == NULL)
        failed(e, "no memory for the tokenizer");
    else if (!load(t, g, e)) {
        tokenizer_free(t);
        t = NULL;
    }
    return t;
}

void tokenizer_free(struct tokenizer *t)
{
    if (t == NULL)
        return;
    vocabulary_free(&t->vocabulary);
    bpe_free(&t->bpe);
    pretokenizer_free(t->pretokenizer);
    free(t->literals);
    free(t);
}

//: tokenizer-encode-piece
struct encoding { // what one call of tokenizer_encode works with
    const struct tokenizer *t;
    struct cutter *cutter;
    struct bpe_piece piece;
    struct ids *ids;
};

static bool encode_piece(struct encoding *c, const char *bytes, size_t count,
                         struct error *e)
{
    if (!bpe_piece_reserve(&c->piece, count, e))
        return false;
    for (size_t i = 0; i < count; i++) {
        c->piece.ids[i] = c->t->byte_ids[(unsigned char)bytes[i]];
        if (c->piece.ids[i] < 0)
            return failed(e, "tokenizer.ggml.tokens has no token for the byte 0x%02X",
                          (unsigned char)bytes[i]);
    }
    size_t left = bpe_apply(&c->t->bpe, &c->piece, count);
    for (size_t i = 0; i < left; i++)
        if (!ids_push(c->ids, c->piece.ids[i], e))
            return false;
    return true;
}

//: tokenizer-steps
static bool encode_plain(struct encoding *c, const char *text, size_t bytes,
                         struct error *e)
{
    const char *piece;
    size_t count;
    bool good;
    cutter_start(c->cutter, text, bytes);
    while ((good = cutter_next(c->cutter, &piece, &count, e)) && count > 0)
        if (!encode_piece(c, piece, count, e))
            return false;
    return good;
}

// The first of literals low .. high - 1 whose byte number `at` is this one or a higher.
static int first_from(const struct tokenizer *t, int low, int high, size_t at, int byte)
{
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((unsigned char)t->literals[middle].text.bytes[at] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

//: tokenizer-literal-at
// The longest control or user-defined token that the text begins with; null for none.
// literals low .. high - 1 are those that begin with the first `at` bytes of the text.
static const struct literal *literal_at(const struct tokenizer *t, const char *text,
                                        size_t bytes, bool special)
{
    const struct literal *longest = NULL;
    int low = 0, high = t->n_literals;
    for (size_t at = 0; low < high && at < bytes; at++) {
        const int byte = (unsigned char)text[at];
        low = first_from(t, low, high, at, byte);
        high = first_from(t, low, high, at, byte + 1);
        if (low < high && t->literals[low].text.length == at + 1) { // the shortest is first
            const struct literal *l = &t->literals[low++];
            longest = special || !l->control ? l : longest;
        }
    }
    return longest;
}

//: tokenizer-encode-text
static bool encode(struct encoding *c, const char *text, size_t bytes, bool special,
                   struct error *e)
{
    size_t plain = 0; // where the text begins that no such token has claimed
    for (size_t at = 0; at < bytes;) {
        const struct literal *l = literal_at(c->t, text + at, bytes - at, special);
        if (l == NULL) {
            at++;
            continue;
        }
        if (!encode_plain(c, text + plain, at - plain, e) || !ids_push(c->ids, l->id, e))
            return false;
        plain = at += l->text.length;
    }
    return encode_plain(c, text + plain, bytes - plain, e);
}

//: tokenizer-encode
bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t bytes,
                      bool special, struct ids *ids, struct error *e)
{
    size_t before = ids->count;
    struct encoding c = {.t = t, .cutter = cutter_new(t->pretokenizer, e), .ids = ids};
    bool done = c.cutter != NULL && encode(&c, text, bytes, special, e);
    cutter_free(c.cutter);
    bpe_piece_free(&c.piece);
    if (!done)
        ids->count = before;
    return done;
}

int tokenizer_count(const struct tokenizer *t)
{
    return t->vocabulary.count;
}

const char *tokenizer_bytes(const struct tokenizer *t, int id, size_t *bytes)
{
    *bytes = t->vocabulary.bytes[id].length;
    return t->vocabulary.bytes[id].bytes;
}

//: tokenizer-views
bool tokenizer_is_control(const struct tokenizer *t, int id)
{
    return t->vocabulary.types[id] == TOKEN_CONTROL;
}

int tokenizer_find(const struct tokenizer *t, const char *token)
{
    struct gguf_string name = {token, strlen(token)};
    return vocabulary_find(&t->vocabulary, name, (struct gguf_string){"", 0});
}

int tokenizer_eos(const struct tokenizer *t)
{
    return t->eos;
}

int tokenizer_bos(const struct tokenizer *t)
{
    return t->bos;
}

bool tokenizer_ends_reply(const struct tokenizer *t, int id)
{
    return id >= 0 && (id == t->eos || id == t->im_end || id == t->end_of_text);
}
