//: gguf-get-value
// Values of the type that a caller expects; see gguf.h.  The errors name file, key, value
// and limit: they are what a user with a wrong file gets to read.
#include "gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// A second walk uses the cursor too: a file that is changed in place while it is mapped can
// give nonsense, but cannot lead out of the map.
static struct gguf_cursor cursor_at(const struct gguf *g, const struct gguf_value *v)
{
    return (struct gguf_cursor){g->map, (size_t)(v->data - g->map), g->size};
}

void gguf_describe(const struct gguf *g, const struct gguf_value *v, char *text,
                   size_t room)
{
    gguf_describe_at(cursor_at(g, v), v, text, room);
}

//: gguf-want
// The value of a key, or a sentence that it is missing.
static const struct gguf_value *want(const struct gguf *g, const char *key, struct error *e)
{
    const struct gguf_value *v = gguf_find(g, key);
    if (v == NULL)
        failed(e, "%s: key \"%s\" is missing", file_path_shown(g->path), key);
    return v;
}

// A sentence that a value is not what was expected of its key.
static bool unwanted(const struct gguf *g, const struct gguf_value *v, const char *expected,
                     struct error *e)
{
    char text[256];
    gguf_describe(g, v, text, sizeof text);
    return failed(e, "%s: key \"%.*s\" is %s (%s), expected %s", file_path_shown(g->path),
                  GGUF_SHOW(v->key), text, gguf_type_name(v->type), expected);
}

static bool no_memory(const struct gguf *g, const struct gguf_value *v, struct error *e)
{
    return failed(e, "%s: key \"%.*s\": no memory for %" PRIu64 " elements",
                  file_path_shown(g->path), GGUF_SHOW(v->key), v->count);
}

//: gguf-get-numbers
bool gguf_get_int(const struct gguf *g, const char *key, int *value, struct error *e)
{
    const struct gguf_value *v = want(g, key, e);
    return v != NULL && (gguf_int_at(v->type, v->data, value) ||
                         unwanted(g, v, "an integer from -2147483648 to 2147483647", e));
}

bool gguf_get_float(const struct gguf *g, const char *key, double *value, struct error *e)
{
    const struct gguf_value *v = want(g, key, e);
    if (v == NULL)
        return false;
    if (v->type != GGUF_F32 && v->type != GGUF_F64)
        return unwanted(g, v, "an f32 or f64", e);
    *value = gguf_float_at(v->type, v->data);
    return true;
}

//: gguf-get-string
bool gguf_get_bool(const struct gguf *g, const char *key, bool *value, struct error *e)
{
    const struct gguf_value *v = want(g, key, e);
    if (v == NULL)
        return false;
    if (v->type != GGUF_BOOL || *v->data > 1)
        return unwanted(g, v, "a bool, stored as 0 or 1", e);
    *value = *v->data == 1;
    return true;
}

bool gguf_get_string(const struct gguf *g, const char *key, struct gguf_string *value,
                     struct error *e)
{
    const struct gguf_value *v = want(g, key, e);
    if (v == NULL)
        return false;
    if (v->type != GGUF_STRING)
        return unwanted(g, v, "a string", e);
    struct gguf_cursor c = cursor_at(g, v);
    return gguf_take_string(&c, value, e) ||
           failed_in(e, "%s: key \"%s\"", file_path_shown(g->path), key);
}

//: gguf-get-strings
bool gguf_get_strings(const struct gguf *g, const char *key, struct gguf_string **values,
                      size_t *count, struct error *e)
{
    *values = NULL;
    const struct gguf_value *v = want(g, key, e);
    if (v == NULL)
        return false;
    if (v->type != GGUF_ARRAY || v->element_type != GGUF_STRING)
        return unwanted(g, v, "an array of strings", e);
    struct gguf_cursor c = cursor_at(g, v);
    *values = calloc(v->count + 1, sizeof **values);
    if (*values == NULL)
        return no_memory(g, v, e);
    bool read = true;
    for (uint64_t i = 0; read && i < v->count; i++)
        read = gguf_take_string(&c, &(*values)[i], e);
    if (read) {
        *count = v->count;
        return true;
    }
    free(*values);
    *values = NULL;
    return failed_in(e, "%s: key \"%s\"", file_path_shown(g->path), key);
}

//: gguf-get-ints
bool gguf_get_ints(const struct gguf *g, const char *key, int **values, size_t *count,
                   struct error *e)
{
    *values = NULL;
    const struct gguf_value *v = want(g, key, e);
    if (v == NULL)
        return false;
    if (v->type != GGUF_ARRAY || !gguf_is_integer(v->element_type))
        return unwanted(g, v, "an array of integers", e);
    *values = calloc(v->count + 1, sizeof **values);
    if (*values == NULL)
        return no_memory(g, v, e);
    const size_t width = gguf_type_bytes(v->element_type);
    for (uint64_t i = 0; i < v->count; i++)
        if (!gguf_int_at(v->element_type, v->data + i * width, &(*values)[i])) {
            free(*values);
            *values = NULL;
            return failed(e, "%s: element %" PRIu64 " of key \"%s\" does not fit 32 bits",
                          file_path_shown(g->path), i, key);
        }
    *count = v->count;
    return true;
}
