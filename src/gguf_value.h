//: gguf-value-types
// The values of a GGUF file's metadata: numbers, strings and arrays of them, each with its
// type in front.
#ifndef LANEWISE_GGUF_VALUE_H
#define LANEWISE_GGUF_VALUE_H

#include "gguf_cursor.h"

enum gguf_type { // the numbers of the format
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
};

//: gguf-value
struct gguf_value {
    struct gguf_string key;
    enum gguf_type type;         // of the value; GGUF_ARRAY for an array
    enum gguf_type element_type; // of an array's elements; the value's type otherwise
    uint64_t count;              // of an array's elements; 1 otherwise
    const unsigned char *data;   // the first element's first byte, not aligned
};

// Steps over a type number and the value that follows, and fills in all but the key.
bool gguf_take_value(struct gguf_cursor *c, struct gguf_value *v, struct error *e);

const char *gguf_type_name(enum gguf_type type); // "u32", "string", ...
size_t gguf_type_bytes(enum gguf_type type);     // 0 for a string and for an array

bool gguf_is_integer(enum gguf_type type);
// The number at from.  False where it is no integer or does not fit an int.
bool gguf_int_at(enum gguf_type type, const unsigned char *from, int *number);
double gguf_float_at(enum gguf_type type, const unsigned char *from); // of an f32 or f64

// The value at the cursor as text for people, one line: long strings and arrays are cut
// short.  text is always terminated; room >= 1.
void gguf_describe_at(struct gguf_cursor c, const struct gguf_value *v, char *text,
                      size_t room);

#endif
