// Builds small GGUF files for tests.  Everything is static: include it and use it.
//
//     struct gguf_writer w = gw_new();
//     gw_string(&w, "general.architecture", "qwen3");
//     gw_u32(&w, "qwen3.block_count", 1);
//     gw_strings(&w, "tokenizer.ggml.tokens", (const char *[]){"a", "b"}, 2);
//     gw_matrix(&w, "blk.0.ffn_up.weight", TENSOR_F32, 2, 64, values, 2 * 64 * 4);
//     struct gguf g;
//     struct error e;
//     ck_assert(gw_open(&w, &g, &e)); // through a temporary file; frees the writer
//
// Keys and tensors come out in the order of the calls.  Nothing is checked, so that a test
// can build wrong files: a key may be added twice, a tensor's bytes may be too few, and the
// fields of struct gguf_writer may be changed before the file is laid out.
#ifndef LANEWISE_TESTS_GGUF_WRITER_H
#define LANEWISE_TESTS_GGUF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "main.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "gguf.h"
#ifdef __cplusplus
}
#endif

#define GW_UNUSED __attribute__((unused))

struct gw_bytes { // a growing run of bytes
    unsigned char *bytes;
    size_t size, room;
};

struct gguf_writer {
    uint32_t version;   // 3
    size_t alignment;   // of the tensors' data: 32; not a key unless the test adds it
    uint64_t n_keys;    // what the header says; counts the calls
    uint64_t n_tensors; // likewise
    struct gw_bytes keys, infos, data;
};

static GW_UNUSED struct gguf_writer gw_new(void)
{
    struct gguf_writer w;
    memset(&w, 0, sizeof w);
    w.version = 3;
    w.alignment = 32;
    return w;
}

static GW_UNUSED void gw_free(struct gguf_writer *w)
{
    free(w->keys.bytes);
    free(w->infos.bytes);
    free(w->data.bytes);
    *w = gw_new();
}

// ---- Bytes ------------------------------------------------------------------------------

// Appends size bytes; bytes may be null for zeros.
static GW_UNUSED void gw_put(struct gw_bytes *b, const void *bytes, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size) + 64;
        b->bytes = (unsigned char *)realloc(b->bytes, b->room);
        ck_assert_ptr_nonnull(b->bytes);
    }
    if (bytes != NULL && size > 0)
        memcpy(b->bytes + b->size, bytes, size);
    else if (size > 0)
        memset(b->bytes + b->size, 0, size);
    b->size += size;
}

static GW_UNUSED void gw_put_u32(struct gw_bytes *b, uint32_t value)
{
    gw_put(b, &value, sizeof value);
}

static GW_UNUSED void gw_put_u64(struct gw_bytes *b, uint64_t value)
{
    gw_put(b, &value, sizeof value);
}

static GW_UNUSED void gw_put_string(struct gw_bytes *b, const char *text)
{
    gw_put_u64(b, strlen(text));
    gw_put(b, text, strlen(text));
}

// ---- Keys -------------------------------------------------------------------------------

// A key and the number of its value's type; the value's bytes are to follow in w->keys.
static GW_UNUSED void gw_key(struct gguf_writer *w, const char *key, uint32_t type)
{
    gw_put_string(&w->keys, key);
    gw_put_u32(&w->keys, type);
    w->n_keys++;
}

// The start of an array; its elements' bytes are to follow in w->keys.
static GW_UNUSED void gw_array(struct gguf_writer *w, const char *key, uint32_t type,
                               uint64_t count)
{
    gw_key(w, key, GGUF_ARRAY);
    gw_put_u32(&w->keys, type);
    gw_put_u64(&w->keys, count);
}

#define GW_SCALAR(name, ctype, type)                                                \
    static GW_UNUSED void name(struct gguf_writer *w, const char *key, ctype value) \
    {                                                                               \
        gw_key(w, key, type);                                                       \
        gw_put(&w->keys, &value, sizeof value);                                     \
    }
GW_SCALAR(gw_u8, uint8_t, GGUF_U8)
GW_SCALAR(gw_i8, int8_t, GGUF_I8)
GW_SCALAR(gw_u16, uint16_t, GGUF_U16)
GW_SCALAR(gw_i16, int16_t, GGUF_I16)
GW_SCALAR(gw_u32, uint32_t, GGUF_U32)
GW_SCALAR(gw_i32, int32_t, GGUF_I32)
GW_SCALAR(gw_u64, uint64_t, GGUF_U64)
GW_SCALAR(gw_i64, int64_t, GGUF_I64)
GW_SCALAR(gw_f32, float, GGUF_F32)
GW_SCALAR(gw_f64, double, GGUF_F64)
GW_SCALAR(gw_bool, bool, GGUF_BOOL)
#undef GW_SCALAR

static GW_UNUSED void gw_string(struct gguf_writer *w, const char *key, const char *value)
{
    gw_key(w, key, GGUF_STRING);
    gw_put_string(&w->keys, value);
}

static GW_UNUSED void gw_strings(struct gguf_writer *w, const char *key,
                                 const char *const *values, size_t count)
{
    gw_array(w, key, GGUF_STRING, count);
    for (size_t i = 0; i < count; i++)
        gw_put_string(&w->keys, values[i]);
}

static GW_UNUSED void gw_ints(struct gguf_writer *w, const char *key, const int *values,
                              size_t count)
{
    gw_array(w, key, GGUF_I32, count);
    gw_put(&w->keys, values, count * sizeof *values);
}

// ---- Tensors ----------------------------------------------------------------------------

// A description alone, of any type number and offset.
static GW_UNUSED void gw_info(struct gguf_writer *w, const char *name, uint32_t type,
                              uint32_t dimensions, const uint64_t *extent, uint64_t offset)
{
    gw_put_string(&w->infos, name);
    gw_put_u32(&w->infos, dimensions);
    for (uint32_t i = 0; i < dimensions; i++)
        gw_put_u64(&w->infos, extent[i]);
    gw_put_u32(&w->infos, type);
    gw_put_u64(&w->infos, offset);
    w->n_tensors++;
}

// A tensor of any shape (extent[0] is the row length) with its data; null data for zeros.
static GW_UNUSED void gw_tensor(struct gguf_writer *w, const char *name, uint32_t type,
                                uint32_t dimensions, const uint64_t *extent,
                                const void *data, size_t bytes)
{
    gw_info(w, name, type, dimensions, extent, w->data.size);
    gw_put(&w->data, data, bytes);
    if (w->alignment > 0)
        while (w->data.size % w->alignment != 0)
            gw_put(&w->data, NULL, 1);
}

static GW_UNUSED void gw_matrix(struct gguf_writer *w, const char *name, uint32_t type,
                                uint64_t rows, uint64_t columns, const void *data,
                                size_t bytes)
{
    const uint64_t extent[2] = {columns, rows};
    gw_tensor(w, name, type, 2, extent, data, bytes);
}

static GW_UNUSED void gw_vector(struct gguf_writer *w, const char *name,
                                const float *values, uint64_t count)
{
    gw_tensor(w, name, TENSOR_F32, 1, &count, values, (size_t)count * sizeof(float));
}

// ---- Files ------------------------------------------------------------------------------

// The whole file, newly allocated.
static GW_UNUSED struct gw_bytes gw_file(const struct gguf_writer *w)
{
    struct gw_bytes file = {NULL, 0, 0};
    gw_put(&file, "GGUF", 4);
    gw_put_u32(&file, w->version);
    gw_put_u64(&file, w->n_tensors);
    gw_put_u64(&file, w->n_keys);
    gw_put(&file, w->keys.bytes, w->keys.size);
    gw_put(&file, w->infos.bytes, w->infos.size);
    if (w->alignment > 0)
        while (w->data.size > 0 && file.size % w->alignment != 0)
            gw_put(&file, NULL, 1);
    gw_put(&file, w->data.bytes, w->data.size);
    return file;
}

#define GW_PATH 64 // room for the path of a temporary file

// Writes the bytes to a new temporary file and puts its name into path; unlink() it.
static GW_UNUSED void gw_save_bytes(char path[GW_PATH], const void *bytes, size_t size)
{
    snprintf(path, GW_PATH, "/tmp/lanewise-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        ck_assert(n > 0);
        done += (size_t)n;
    }
    close(fd);
}

// Writes the file to a new temporary file and frees the writer; unlink() the path.
static GW_UNUSED void gw_save(struct gguf_writer *w, char path[GW_PATH])
{
    struct gw_bytes file = gw_file(w);
    gw_save_bytes(path, file.bytes, file.size);
    free(file.bytes);
    gw_free(w);
}

// Opens the file by way of a temporary one and frees the writer.  gguf_close() g.
static GW_UNUSED bool gw_open(struct gguf_writer *w, struct gguf *g, struct error *e)
{
    char path[GW_PATH];
    gw_save(w, path);
    bool opened = gguf_open(g, path, e);
    unlink(path);
    return opened;
}

#endif
