//: gguf-tensor-view
// Reads a GGUF file: a header, key-value metadata, tensor descriptions, then the tensors'
// data.  The file is mapped into memory and never copied: names, strings and tensor data
// are views into the map, valid until gguf_close.
#ifndef LANEWISE_GGUF_H
#define LANEWISE_GGUF_H

#include "file_map.h"
#include "gguf_value.h"
#include "tensor_type.h"

struct gguf_tensor {
    struct gguf_string name;
    enum tensor_type type;
    int dimensions;
    int64_t extent[4]; // extent[0] is the row length; unused ones are 1; each fits an int
    const void *data;  // aligned to the file's alignment
    size_t bytes;
};

//: gguf-file
struct gguf {
    char *path;
    const unsigned char *map;
    size_t size; // bytes in the file
    uint32_t version;
    size_t alignment;   // of every tensor's data: a power of two, at least 8
    size_t data_offset; // where the tensors' data begins
    struct gguf_value *values;
    size_t n_values;
    struct gguf_tensor *tensors;
    size_t n_tensors;
    // The names of the values and of the tensors in ascending order, for searching: each
    // pointer is to the first member of a value or of a tensor.
    const struct gguf_string **keys_sorted, **names_sorted;
};

// Opens and checks the whole header; reads no tensor data.  Time and memory are bounded by
// the header's size.  A failure leaves nothing to close, though gguf_close does no harm.
// A program calls file_map_guard() (file_map.h) before: the file may shrink at any time.
bool gguf_open(struct gguf *g, const char *path, struct error *e);
void gguf_close(struct gguf *g);

// Null where there is none of that name.
const struct gguf_value *gguf_find(const struct gguf *g, const char *key);
const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name);

//: gguf-get
// Typed values.  A missing key or a value of another type fails with a sentence that names
// file, key, type and limit.  Integers of any width are accepted where the value fits.
bool gguf_get_int(const struct gguf *g, const char *key, int *value, struct error *e);
bool gguf_get_float(const struct gguf *g, const char *key, double *value, struct error *e);
bool gguf_get_bool(const struct gguf *g, const char *key, bool *value, struct error *e);
bool gguf_get_string(const struct gguf *g, const char *key, struct gguf_string *value,
                     struct error *e);

// An array of strings or of integers, as newly allocated views or numbers (free with
// free()).  *count is the number of elements; on failure *values is null.
bool gguf_get_strings(const struct gguf *g, const char *key, struct gguf_string **values,
                      size_t *count, struct error *e);
bool gguf_get_ints(const struct gguf *g, const char *key, int **values, size_t *count,
                   struct error *e);

// A value as text for people, one line: long strings and arrays are cut short.  text is
// always terminated; room >= 1.
void gguf_describe(const struct gguf *g, const struct gguf_value *value, char *text,
                   size_t room);

#endif
