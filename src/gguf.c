//: gguf-looks
// The reader of GGUF files; see gguf.h.  Everything else in decoding starts from the views
// it hands out, so it believes nothing: each count, length and offset is checked against
// the bytes that are there before it is used.
#include "gguf.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// What people give a program instead of a model.
static const struct {
    size_t at;
    const char *bytes, *what;
} looks[] = {
    {0, "version https://git-lfs", "a Git LFS pointer, not the file it points to"},
    {0, "PK\x03\x04", "a zip archive"},
    {0, "\x1f\x8b", "a gzip archive"},
    {0, "tjgg", "a GGML file, older than GGUF"},
    {0, "lmgg", "a GGML file, older than GGUF"},
    {8, "{\"", "a safetensors file"}, // its JSON header follows a length
    {0, "<", "an HTML page"},
};

//: gguf-looks-text
static bool is_text(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (iscntrl(bytes[i]) && !isspace(bytes[i]))
            return false;
    return true;
}

static const char *looks_like(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        size_t length = strlen(looks[i].bytes);
        if (size >= looks[i].at + length &&
            memcmp(bytes + looks[i].at, looks[i].bytes, length) == 0)
            return looks[i].what;
    }
    return is_text(bytes, size < 256 ? size : 256) ? "a text file" : "no format known here";
}

//: gguf-magic
static bool take_magic(struct gguf_cursor *c, struct error *e)
{
    const unsigned char *m = gguf_take(c, 4, e);
    if (m == NULL)
        return failed_in(e, "the magic \"GGUF\"");
    return memcmp(m, "GGUF", 4) == 0 ||
           failed(e,
                  "the first bytes are %02x %02x %02x %02x, expected 47 47 55 46, "
                  "\"GGUF\"; it looks like %s",
                  m[0], m[1], m[2], m[3], looks_like(c->bytes, c->size));
}

static bool take_version(struct gguf_cursor *c, uint32_t *version, struct error *e)
{
    if (!gguf_take_u32(c, version, e))
        return failed_in(e, "the version");
    if (*version != 0 && (*version & 0xffff) == 0)
        return failed(e,
                      "version bytes 00 00 %02x %02x: big-endian, expected little-endian",
                      c->bytes[6], c->bytes[7]);
    return *version == 2 || *version == 3 ||
           failed(e, "version %" PRIu32 ", expected 2 or 3", *version);
}

//: gguf-counts
// The fewest bytes that an entry can take: a key of one byte with a value of one byte, and
// a tensor with a name of one byte and one dimension.
enum { LEAST_KEY = 8 + 1 + 4 + 1, LEAST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8 };

static bool take_count(struct gguf_cursor *c, size_t least, const char *what, size_t *count,
                       struct error *e)
{
    uint64_t number = 0;
    if (!gguf_take_u64(c, &number, e))
        return failed_in(e, "the number of %s", what);
    if (number > c->size / least)
        return failed(e,
                      "the number of %s is %" PRIu64
                      ", more than the %zu that a file of %zu bytes can hold",
                      what, number, c->size / least, c->size);
    *count = number;
    return true;
}

//: gguf-read-keys
enum { LONGEST_KEY = 65535, LONGEST_NAME = 63 }; // the limits of the format

static bool take_name(struct gguf_cursor *c, struct gguf_string *name, size_t longest,
                      struct error *e)
{
    if (!gguf_take_string(c, name, e))
        return failed_in(e, "the name");
    if (name->length == 0 || name->length > longest)
        return failed(e, "a name of %zu bytes, expected 1 to %zu", name->length, longest);
    return true;
}

static bool read_keys(struct gguf *g, struct gguf_cursor *c, struct error *e)
{
    for (size_t i = 0; i < g->n_values; i++) {
        struct gguf_value *v = &g->values[i];
        if (!take_name(c, &v->key, LONGEST_KEY, e))
            return failed_in(e, "key %zu of %zu", i + 1, g->n_values);
        if (!gguf_take_value(c, v, e))
            return failed_in(e, "key \"%.*s\"", GGUF_SHOW(v->key));
    }
    return true;
}

//: gguf-compare
// Names in ascending order make a search of a few steps and put a name that stands twice
// beside itself.  Sorting has no bad case that a file could be made for, as hashing has.
static int compare_strings(const struct gguf_string *a, const struct gguf_string *b)
{
    int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_strings(*(const struct gguf_string *const *)a,
                           *(const struct gguf_string *const *)b);
}

//: gguf-sort
static_assert(offsetof(struct gguf_value, key) == 0, "a pointer to a key is to its value");
static_assert(offsetof(struct gguf_tensor, name) == 0, "likewise for a tensor");

// Sorts the names that lie at the start of each of count entries of the given size.
static bool sort_names(const struct gguf_string **sorted, const void *entries, size_t count,
                       size_t entry_size, const char *what, struct error *e)
{
    for (size_t i = 0; i < count; i++)
        sorted[i] = (const void *)((const char *)entries + i * entry_size);
    qsort(sorted, count, sizeof *sorted, compare_entries);
    for (size_t i = 1; i < count; i++)
        if (compare_strings(sorted[i - 1], sorted[i]) == 0)
            return failed(e, "%s \"%.*s\" appears twice, expected once", what,
                          GGUF_SHOW(*sorted[i]));
    return true;
}

//: gguf-find
static const void *find_name(const struct gguf_string **sorted, size_t count,
                             const char *name)
{
    const struct gguf_string wanted = {name, strlen(name)}, *key = &wanted;
    if (count == 0)
        return NULL;
    const struct gguf_string **found =
        bsearch(&key, sorted, count, sizeof *sorted, compare_entries);
    return found != NULL ? *found : NULL;
}

const struct gguf_value *gguf_find(const struct gguf *g, const char *key)
{
    return find_name(g->keys_sorted, g->n_values, key);
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name)
{
    return find_name(g->names_sorted, g->n_tensors, name);
}

//: gguf-alignment
// The one key that the container itself obeys.
static bool read_alignment(struct gguf *g, struct error *e)
{
    const struct gguf_value *v = gguf_find(g, "general.alignment");
    uint32_t alignment = 32;
    if (v != NULL && v->type != GGUF_U32)
        return failed(e, "key \"general.alignment\" is of type %s, expected u32",
                      gguf_type_name(v->type));
    if (v != NULL)
        memcpy(&alignment, v->data, sizeof alignment);
    bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!power_of_two || alignment < 8 || alignment > 1u << 30)
        return failed(e,
                      "key \"general.alignment\" is %" PRIu32
                      ", expected a power of two from 8 to 1073741824",
                      alignment);
    g->alignment = alignment;
    return true;
}

//: gguf-shape
// The dimensions, as (row length, rows, ...).  Each fits an int; their product may not.
static bool take_shape(struct gguf_cursor *c, struct gguf_tensor *t, struct error *e)
{
    uint32_t dimensions = 0;
    if (!gguf_take_u32(c, &dimensions, e))
        return failed_in(e, "the number of dimensions");
    if (dimensions < 1 || dimensions > 4)
        return failed(e, "%" PRIu32 " dimensions, expected 1 to 4", dimensions);
    t->dimensions = (int)dimensions;
    for (int i = 0; i < 4; i++) {
        uint64_t extent = 1;
        if (i < t->dimensions && !gguf_take_u64(c, &extent, e))
            return failed_in(e, "dimension %d", i);
        if (extent < 1 || extent > INT_MAX)
            return failed(e, "dimension %d is %" PRIu64 ", expected 1 to %d", i, extent,
                          INT_MAX);
        t->extent[i] = (int64_t)extent;
    }
    return true;
}

//: gguf-layout
static bool take_tensor_type(struct gguf_cursor *c, struct gguf_tensor *t, struct error *e)
{
    uint32_t type = 0;
    if (!gguf_take_u32(c, &type, e))
        return failed_in(e, "the type");
    const struct block_layout layout = tensor_layout(type);
    if (layout.name == NULL)
        return failed(e, "type number %" PRIu32 " is unknown", type);
    if (layout.block_values == 0)
        return failed(e,
                      "type %s (number %" PRIu32
                      ") is not supported; supported are F32, F16, BF16, Q8_0, Q4_K, Q5_K "
                      "and Q6_K",
                      layout.name, type);
    if (t->extent[0] % layout.block_values != 0)
        return failed(
            e, "rows of %" PRId64 " values, expected a multiple of %d, a block of %s",
            t->extent[0], layout.block_values, layout.name);
    t->type = (enum tensor_type)type;
    return true;
}

//: gguf-bytes
// The bytes of the whole tensor, at most limit.  Each step divides the limit before it
// multiplies, so no product can wrap.
static bool count_bytes(struct gguf_tensor *t, size_t limit, struct error *e)
{
    const struct block_layout layout = tensor_layout(t->type);
    size_t bytes = (size_t)layout.block_bytes;
    const size_t factors[4] = {(size_t)(t->extent[0] / layout.block_values),
                               (size_t)t->extent[1], (size_t)t->extent[2],
                               (size_t)t->extent[3]};
    for (int i = 0; i < 4; i++) {
        if (factors[i] > limit / bytes)
            return failed(e,
                          "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64
                          " values of type %s, more than the file's %zu bytes",
                          t->extent[0], t->extent[1], t->extent[2], t->extent[3],
                          layout.name, limit);
        bytes *= factors[i];
    }
    t->bytes = bytes;
    return true;
}

//: gguf-tensor
// A description.  The offset waits in *offset: where the data begins is known only after
// the last description.
static bool take_tensor(struct gguf_cursor *c, struct gguf_tensor *t, uint64_t *offset,
                        struct error *e)
{
    return take_shape(c, t, e) && take_tensor_type(c, t, e) && count_bytes(t, c->size, e) &&
           (gguf_take_u64(c, offset, e) || failed_in(e, "the offset"));
}

// Puts the tensor where its offset says, if that is aligned and inside the file.
static bool place_tensor(const struct gguf *g, struct gguf_tensor *t, uint64_t offset,
                         struct error *e)
{
    if (offset % g->alignment != 0)
        return failed(e, "offset %" PRIu64 ", expected a multiple of %zu", offset,
                      g->alignment);
    size_t room = g->data_offset < g->size ? g->size - g->data_offset : 0;
    if (t->bytes > room || offset > room - t->bytes)
        return failed(
            e, "%zu bytes at offset %" PRIu64 ", where the file has %zu bytes of data",
            t->bytes, offset, room);
    t->data = g->map + g->data_offset + offset;
    return true;
}

//: gguf-read-tensors
static bool read_tensors(struct gguf *g, struct gguf_cursor *c, uint64_t *offsets,
                         struct error *e)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        if (!take_name(c, &t->name, LONGEST_NAME, e))
            return failed_in(e, "tensor %zu of %zu", i + 1, g->n_tensors);
        if (!take_tensor(c, t, &offsets[i], e))
            return failed_in(e, "tensor \"%.*s\"", GGUF_SHOW(t->name));
    }
    // The cursor is inside the file and the alignment is at most 2^30: this cannot wrap.
    g->data_offset = (c->at + g->alignment - 1) / g->alignment * g->alignment;
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!place_tensor(g, &g->tensors[i], offsets[i], e))
            return failed_in(e, "tensor \"%.*s\"", GGUF_SHOW(g->tensors[i].name));
    return true;
}

//: gguf-overlap-check
static int compare_places(const void *a, const void *b)
{
    const struct gguf_tensor *s = *(const struct gguf_tensor *const *)a;
    const struct gguf_tensor *t = *(const struct gguf_tensor *const *)b;
    return (s->data > t->data) - (s->data < t->data);
}

// In the order of their data, each tensor must end before the next begins.  order has room
// for a pointer to each.
static bool check_overlap(const struct gguf *g, const struct gguf_tensor **order,
                          struct error *e)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        order[i] = &g->tensors[i];
    qsort(order, g->n_tensors, sizeof *order, compare_places);
    for (size_t i = 1; i < g->n_tensors; i++) {
        const struct gguf_tensor *s = order[i - 1], *t = order[i];
        size_t between = (size_t)((const char *)t->data - (const char *)s->data);
        if (between < s->bytes)
            return failed(e, "tensor \"%.*s\" begins %zu bytes after \"%.*s\", %zu long",
                          GGUF_SHOW(t->name), between, GGUF_SHOW(s->name), s->bytes);
    }
    return true;
}

//: gguf-memory
// Zeroed memory for count entries.  count is at most the file's size, so the product is
// within 64 bits.
static void *reserve(size_t count, size_t entry_size, struct error *e)
{
    void *entries = calloc(count > 0 ? count : 1, entry_size);
    if (entries == NULL)
        failed(e, "no memory for %zu entries of %zu bytes", count, entry_size);
    return entries;
}

static bool reserve_entries(struct gguf *g, struct error *e)
{
    g->values = reserve(g->n_values, sizeof *g->values, e);
    g->keys_sorted = reserve(g->n_values, sizeof *g->keys_sorted, e);
    g->tensors = reserve(g->n_tensors, sizeof *g->tensors, e);
    g->names_sorted = reserve(g->n_tensors, sizeof *g->names_sorted, e);
    return g->values != NULL && g->keys_sorted != NULL && g->tensors != NULL &&
           g->names_sorted != NULL;
}

//: gguf-read-entries
static bool read_sorted(struct gguf *g, struct gguf_cursor *c, uint64_t *offsets,
                        const struct gguf_tensor **order, struct error *e)
{
    return read_keys(g, c, e) &&
           sort_names(g->keys_sorted, g->values, g->n_values, sizeof *g->values, "key",
                      e) &&
           read_alignment(g, e) && read_tensors(g, c, offsets, e) &&
           sort_names(g->names_sorted, g->tensors, g->n_tensors, sizeof *g->tensors,
                      "tensor", e) &&
           check_overlap(g, order, e);
}

static bool read_entries(struct gguf *g, struct gguf_cursor *c, struct error *e)
{
    uint64_t *offsets = reserve(g->n_tensors, sizeof *offsets, e);
    const struct gguf_tensor **order = reserve(g->n_tensors, sizeof *order, e);
    bool read = offsets != NULL && order != NULL && reserve_entries(g, e) &&
                read_sorted(g, c, offsets, order, e);
    free(offsets);
    free(order);
    return read;
}

//: gguf-read
static bool read_header(struct gguf *g, struct error *e)
{
    struct gguf_cursor c = {g->map, 0, g->size};
    return take_magic(&c, e) && take_version(&c, &g->version, e) &&
           take_count(&c, LEAST_TENSOR, "tensors", &g->n_tensors, e) &&
           take_count(&c, LEAST_KEY, "keys", &g->n_values, e) && read_entries(g, &c, e);
}

static bool open_and_read(struct gguf *g, const char *path, struct error *e)
{
    g->path = reserve(strlen(path) + 1, 1, e);
    if (g->path == NULL)
        return false;
    strcpy(g->path, path);
    return file_map(path, &g->map, &g->size, e) && read_header(g, e);
}

//: gguf-open-close
bool gguf_open(struct gguf *g, const char *path, struct error *e)
{
    *g = (struct gguf){0};
    if (open_and_read(g, path, e))
        return true;
    gguf_close(g);
    return failed_in(e, "%s", file_path_shown(path));
}

void gguf_close(struct gguf *g)
{
    file_unmap(g->map, g->size);
    free(g->path);
    free(g->values);
    free(g->tensors);
    free(g->keys_sorted);
    free(g->names_sorted);
    *g = (struct gguf){0};
}
