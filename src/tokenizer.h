//: tokenizer
// Text to token ids and back: byte-level BPE with Qwen2's pre-tokenizer, from the metadata
// of a GGUF file.  Sennrich and others, 2016; the byte alphabet is GPT-2's.
#ifndef LANEWISE_TOKENIZER_H
#define LANEWISE_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "gguf.h"
#include "utf8.h" // what a caller writes tokens with

struct tokenizer;

struct ids { // a growing list of token ids; start from {0}
    int *items;
    size_t count, room;
};
bool ids_push(struct ids *ids, int id, struct error *e);
void ids_free(struct ids *ids);

// Reads tokenizer.ggml.*; null on failure.  Copies what it needs: g may be closed after.
struct tokenizer *tokenizer_new(const struct gguf *g, struct error *e);
void tokenizer_free(struct tokenizer *t);

//: tokenizer-functions
// Appends the ids of the text (any bytes, valid UTF-8 or not); on failure none.
// User-defined tokens are matched in the text, control tokens only where special is true:
// of several at one place the longest.  The bytes of the ids, side by side, are the text.
bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t bytes,
                      bool special, struct ids *ids, struct error *e);

int tokenizer_count(const struct tokenizer *t); // ids are 0 .. count-1
// The bytes a token stands for: a view, valid as long as t.  0 <= id < count.
const char *tokenizer_bytes(const struct tokenizer *t, int id, size_t *bytes);
bool tokenizer_is_control(const struct tokenizer *t, int id);
int tokenizer_find(const struct tokenizer *t, const char *token); // the id by name, or -1
int tokenizer_eos(const struct tokenizer *t);                     // -1 where there is none
// The id to put before every text, or -1 (bos_token_id where add_bos_token is true).
int tokenizer_bos(const struct tokenizer *t);
bool tokenizer_ends_reply(const struct tokenizer *t, int id); // eos, im_end or endoftext

#endif
