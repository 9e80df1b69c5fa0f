//: vocabulary
// The tokens of a model by id and by name.  A file spells a token in the byte alphabet of
// GPT-2, where each of the 256 bytes is a printable character; that spelling is the
// token's name, and the bytes it stands for are what text is made of.
#ifndef LANEWISE_VOCABULARY_H
#define LANEWISE_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "gguf.h"

enum token_type { // as tokenizer.ggml.token_type numbers them
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN,
    TOKEN_CONTROL,      // <|im_end|>: never matched in what a user types
    TOKEN_USER_DEFINED, // <think>: matched wherever it stands
    TOKEN_UNUSED,
    TOKEN_BYTE,
};

//: vocabulary-struct
struct vocabulary {
    int count;                 // ids are 0 .. count - 1
    struct gguf_string *names; // (count) as the file spells them
    struct gguf_string *bytes; // (count) what they stand for
    unsigned char *types;      // (count) enum token_type
    char *text;                // what names and bytes are views of
    int *slots;                // a hash table of ids by name; -1 in an empty slot
    size_t n_slots;            // a power of two, at least twice the count
};

// Reads tokenizer.ggml.tokens and .token_type and copies them: g may be closed after.
bool vocabulary_init(struct vocabulary *v, const struct gguf *g, struct error *e);
void vocabulary_free(struct vocabulary *v);

// The id of the token whose name is left followed by right, or -1.
int vocabulary_find(const struct vocabulary *v, struct gguf_string left,
                    struct gguf_string right);
int vocabulary_find_byte(const struct vocabulary *v, unsigned char byte);
// The byte alphabet: the code point that stands for a byte, and back; -1 if it is none.
unsigned vocabulary_code_of(unsigned char byte);
int vocabulary_byte_of(unsigned code);

#endif
