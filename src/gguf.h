// Reads a GGUF file: a header, key-value metadata, tensor descriptions, then the tensors'
// data.  The file is mapped into memory and never copied: names, strings and tensor data
// are views into the map, valid until gguf_close.
//: gguf-types
#ifndef LANEWISE_GGUF_H
#define LANEWISE_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "tensor_type.h"

struct gguf_string { // not terminated; may hold any byte
    const char *bytes;
    size_t length;
};

enum gguf_type {
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

struct gguf_value {
    struct gguf_string key;
    enum gguf_type type;         // of the value; GGUF_ARRAY for an array
    enum gguf_type element_type; // of an array's elements
    uint64_t count;              // of an array's elements; 1 otherwise
    const unsigned char *data;   // the value's first byte, not aligned
};

struct gguf_tensor {
    struct gguf_string name;
    enum tensor_type type;
    int dimensions;
    int64_t extent[4]; // extent[0] is the row length; unused ones are 1
    const void *data;  // aligned to the file's alignment
    size_t bytes;
};

struct gguf {
    char *path;
    const unsigned char *map;
    size_t size; // bytes in the file
    uint32_t version;
    size_t alignment;
    size_t data_offset; // where the tensors' data begins
    struct gguf_value *values;
    size_t n_values;
    struct gguf_tensor *tensors;
    size_t n_tensors;
    // the owner of gguf.c may add fields (an index by name)
};

//: gguf-functions
// Opens and checks the whole header; reads no tensor data.
bool gguf_open(struct gguf *g, const char *path, struct error *e);
void gguf_close(struct gguf *g);

// Null where there is none of that name.
const struct gguf_value *gguf_find(const struct gguf *g, const char *key);
const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name);

// Typed values.  A missing key or a value of another type fails with a sentence that names
// file, key, type and limit.  Integers of any width are accepted where the value fits.
bool gguf_get_int(const struct gguf *g, const char *key, int *value, struct error *e);
bool gguf_get_float(const struct gguf *g, const char *key, double *value, struct error *e);
bool gguf_get_bool(const struct gguf *g, const char *key, bool *value, struct error *e);
bool gguf_get_string(const struct gguf *g, const char *key, struct gguf_string *value,
                     struct error *e);

// An array of strings or of 32-bit integers, as newly allocated views or numbers (free with
// free()).  *count is the number of elements.
bool gguf_get_strings(const struct gguf *g, const char *key, struct gguf_string **values,
                      size_t *count, struct error *e);
bool gguf_get_ints(const struct gguf *g, const char *key, int **values, size_t *count,
                   struct error *e);

const char *gguf_type_name(enum gguf_type type);

#endif
