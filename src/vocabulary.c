//: byte-alphabet
// The tokens of a model by id and by name; see vocabulary.h.
#include "vocabulary.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "file_map.h"
#include "utf8.h"

// Bytes 33-126, 161-172 and 174-255 are printable characters of Latin-1 and stand for
// themselves; the other 68, in order, for U+0100 and up.
unsigned vocabulary_code_of(unsigned char byte)
{
    if (byte <= 32)
        return 0x100u + byte;
    if (byte >= 127 && byte <= 160)
        return 0x100u + 33 + byte - 127;
    return byte == 173 ? 0x100u + 67 : byte;
}

//: byte-of-code
int vocabulary_byte_of(unsigned code)
{
    unsigned byte = code < 0x100         ? code
                    : code <= 0x100 + 32 ? code - 0x100
                    : code <= 0x100 + 66 ? code - 0x100 - 33 + 127
                                         : 173;
    return byte < 256 && vocabulary_code_of((unsigned char)byte) == code ? (int)byte : -1;
}

//: token-bytes
// Writes what a token of this name stands for and returns its length.  A name that is not
// of the alphabet throughout stands for itself.
static size_t spell(struct gguf_string name, char *out)
{
    size_t length, written = 0;
    for (size_t i = 0; i < name.length; i += length) {
        const char *at = name.bytes + i;
        int byte = -1;
        if (utf8_look(at, name.length - i, &length) == UTF8_CHARACTER)
            byte = vocabulary_byte_of(utf8_read(at, length));
        if (byte < 0) {
            memcpy(out, name.bytes, name.length);
            return name.length;
        }
        out[written++] = (char)byte;
    }
    return written;
}

//: vocabulary-hash
// The slot that holds the token named left followed by right, or the empty one where it
// would be.  The hash is FNV-1a, of Fowler, Noll and Vo.
static int *slot_of(const struct vocabulary *v, struct gguf_string left,
                    struct gguf_string right)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < left.length; i++)
        hash = (hash ^ (unsigned char)left.bytes[i]) * 0x100000001B3u;
    for (size_t i = 0; i < right.length; i++)
        hash = (hash ^ (unsigned char)right.bytes[i]) * 0x100000001B3u;
    for (size_t i = hash ^ hash >> 32;; i++) {
        int *slot = &v->slots[i & (v->n_slots - 1)];
        if (*slot < 0)
            return slot;
        struct gguf_string name = v->names[*slot];
        if (name.length == left.length + right.length &&
            memcmp(name.bytes, left.bytes, left.length) == 0 &&
            memcmp(name.bytes + left.length, right.bytes, right.length) == 0)
            return slot;
    }
}

//: vocabulary-find
int vocabulary_find(const struct vocabulary *v, struct gguf_string left,
                    struct gguf_string right)
{
    return *slot_of(v, left, right);
}

int vocabulary_find_byte(const struct vocabulary *v, unsigned char byte)
{
    char name[4];
    size_t length = utf8_write(vocabulary_code_of(byte), name);
    return vocabulary_find(v, (struct gguf_string){name, length},
                           (struct gguf_string){"", 0});
}

void vocabulary_free(struct vocabulary *v)
{
    free(v->names);
    free(v->bytes);
    free(v->types);
    free(v->text);
    free(v->slots);
    *v = (struct vocabulary){0};
}

//: vocabulary-read
static bool read_types(struct vocabulary *v, const struct gguf *g, struct error *e)
{
    const char *key = "tokenizer.ggml.token_type";
    int *types;
    size_t count;
    if (!gguf_get_ints(g, key, &types, &count, e))
        return false;
    bool good = count == (size_t)v->count;
    if (!good)
        failed(e, "%s: %s has %zu elements, tokenizer.ggml.tokens has %d",
               file_path_shown(g->path), key, count, v->count);
    for (int i = 0; good && i < v->count; i++) {
        good = types[i] >= TOKEN_NORMAL && types[i] <= TOKEN_BYTE;
        if (!good)
            failed(e, "%s: %s: token %d is of type %d, expected 1 to 6",
                   file_path_shown(g->path), key, i, types[i]);
        v->types[i] = (unsigned char)types[i];
    }
    free(types);
    return good;
}

//: vocabulary-copy
// Copies the names one after another, and after them what the tokens stand for, which is
// never longer.
static bool copy_text(struct vocabulary *v, struct error *e)
{
    size_t total = 0;
    for (int i = 0; i < v->count; i++)
        total += v->names[i].length; // views into the file: the sum is below its size
    char *at = v->text = malloc(2 * total + 1);
    if (at == NULL)
        return failed(e, "no memory for %zu bytes of tokens", 2 * total);
    for (int i = 0; i < v->count; i++) {
        memcpy(at, v->names[i].bytes, v->names[i].length);
        v->names[i].bytes = at;
        at += v->names[i].length;
    }
    for (int i = 0; i < v->count; i++) {
        v->bytes[i] = v->names[i];
        if (v->types[i] != TOKEN_NORMAL)
            continue;
        v->bytes[i] = (struct gguf_string){at, spell(v->names[i], at)};
        at += v->bytes[i].length;
    }
    return true;
}

//: vocabulary-table
static bool fill_table(struct vocabulary *v, const struct gguf *g, struct error *e)
{
    for (v->n_slots = 2; v->n_slots / 2 < (size_t)v->count;)
        v->n_slots *= 2;
    v->slots = malloc(v->n_slots * sizeof *v->slots);
    if (v->slots == NULL)
        return failed(e, "no memory for a table of %d tokens", v->count);
    for (size_t i = 0; i < v->n_slots; i++)
        v->slots[i] = -1;
    for (int i = 0; i < v->count; i++) {
        int *slot = slot_of(v, v->names[i], (struct gguf_string){"", 0});
        if (*slot >= 0)
            return failed(e,
                          "%s: tokenizer.ggml.tokens: tokens %d and %d are both \"%.*s\"",
                          file_path_shown(g->path), *slot, i, GGUF_SHOW(v->names[i]));
        *slot = i;
    }
    return true;
}

//: vocabulary-init
bool vocabulary_init(struct vocabulary *v, const struct gguf *g, struct error *e)
{
    *v = (struct vocabulary){0};
    size_t count;
    if (!gguf_get_strings(g, "tokenizer.ggml.tokens", &v->names, &count, e))
        return false;
    if (count == 0 || count > INT_MAX) {
        vocabulary_free(v);
        return failed(e, "%s: tokenizer.ggml.tokens has %zu elements, expected 1 to %d",
                      file_path_shown(g->path), count, INT_MAX);
    }
    v->count = (int)count;
    v->bytes = malloc(count * sizeof *v->bytes);
    v->types = malloc(count);
    bool good = v->bytes != NULL && v->types != NULL;
    if (!good)
        failed(e, "no memory for %zu tokens", count);
    if (good && read_types(v, g, e) && copy_text(v, e) && fill_table(v, g, e))
        return true;
    vocabulary_free(v);
    return false;
}
