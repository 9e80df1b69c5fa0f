//: gguf-type-table
// The values of a GGUF file's metadata; see gguf_value.h.
#include "gguf_value.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { N_TYPES = GGUF_F64 + 1 };

// bytes is 0 for what has no fixed size.
static const struct {
    const char *name;
    size_t bytes;
} types[N_TYPES] = {
    [GGUF_U8] = {"u8", 1},       [GGUF_I8] = {"i8", 1},     [GGUF_U16] = {"u16", 2},
    [GGUF_I16] = {"i16", 2},     [GGUF_U32] = {"u32", 4},   [GGUF_I32] = {"i32", 4},
    [GGUF_U64] = {"u64", 8},     [GGUF_I64] = {"i64", 8},   [GGUF_F32] = {"f32", 4},
    [GGUF_F64] = {"f64", 8},     [GGUF_BOOL] = {"bool", 1}, [GGUF_STRING] = {"string", 0},
    [GGUF_ARRAY] = {"array", 0},
};

//: gguf-type-names
const char *gguf_type_name(enum gguf_type type)
{
    return (unsigned)type < N_TYPES ? types[type].name : "unknown";
}

size_t gguf_type_bytes(enum gguf_type type)
{
    return types[type].bytes;
}

static bool take_type(struct gguf_cursor *c, enum gguf_type *type, struct error *e)
{
    uint32_t number = 0;
    if (!gguf_take_u32(c, &number, e))
        return failed_in(e, "the type");
    if (number >= N_TYPES)
        return failed(e, "type number %" PRIu32 ", the highest is %d", number, N_TYPES - 1);
    *type = (enum gguf_type)number;
    return true;
}

//: gguf-elements
// Steps over count values of one type.  Dividing what is left, and not multiplying the
// count, is what keeps a count near 2^64 from wrapping into a small number.
static bool skip_elements(struct gguf_cursor *c, enum gguf_type type, uint64_t count,
                          struct error *e)
{
    size_t least = type == GGUF_STRING ? sizeof(uint64_t) : types[type].bytes;
    if (count > (c->size - c->at) / least)
        return failed(e,
                      "%" PRIu64
                      " values of type %s, at least %zu bytes each, at byte %zu, "
                      "where the file has %zu bytes left",
                      count, types[type].name, least, c->at, c->size - c->at);
    if (type != GGUF_STRING) {
        c->at += count * least;
        return true;
    }
    struct gguf_string s;
    for (uint64_t i = 0; i < count; i++)
        if (!gguf_take_string(c, &s, e))
            return failed_in(e, "element %" PRIu64 " of %" PRIu64, i, count);
    return true;
}

//: gguf-take-value
static bool take_array_head(struct gguf_cursor *c, struct gguf_value *v, struct error *e)
{
    if (!take_type(c, &v->element_type, e))
        return failed_in(e, "an array's elements");
    if (v->element_type == GGUF_ARRAY)
        return failed(e, "an array of arrays, expected one level");
    if (!gguf_take_u64(c, &v->count, e))
        return failed_in(e, "an array's count");
    return true;
}

bool gguf_take_value(struct gguf_cursor *c, struct gguf_value *v, struct error *e)
{
    if (!take_type(c, &v->type, e))
        return false;
    v->element_type = v->type;
    v->count = 1;
    if (v->type == GGUF_ARRAY && !take_array_head(c, v, e))
        return false;
    v->data = c->bytes + c->at;
    return skip_elements(c, v->element_type, v->count, e);
}

//: gguf-integers
static bool is_signed(enum gguf_type type)
{
    return type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32 || type == GGUF_I64;
}

bool gguf_is_integer(enum gguf_type type)
{
    return is_signed(type) || type == GGUF_U8 || type == GGUF_U16 || type == GGUF_U32 ||
           type == GGUF_U64;
}

// The 64 bits of an integer of any width, its sign spread over them.
static uint64_t integer_at(enum gguf_type type, const unsigned char *from)
{
    uint64_t bits = 0;
    memcpy(&bits, from, types[type].bytes);
    uint64_t sign = (uint64_t)1 << (8 * types[type].bytes - 1);
    return is_signed(type) && (bits & sign) != 0 ? bits | ~(sign - 1) : bits;
}

//: gguf-numbers
bool gguf_int_at(enum gguf_type type, const unsigned char *from, int *number)
{
    if (!gguf_is_integer(type))
        return false;
    uint64_t bits = integer_at(type, from);
    int narrow = (int)(int64_t)bits; // the value, if it fits: checked next
    if ((uint64_t)(int64_t)narrow != bits || (!is_signed(type) && bits > INT_MAX))
        return false;
    *number = narrow;
    return true;
}

double gguf_float_at(enum gguf_type type, const unsigned char *from)
{
    float narrow;
    double wide;
    memcpy(&narrow, from, sizeof narrow);
    if (type == GGUF_F32)
        return narrow;
    memcpy(&wide, from, sizeof wide);
    return wide;
}

//: gguf-describe-element
// One element at the cursor, which moves past it.
static int describe_element(struct gguf_cursor *c, enum gguf_type type, char *text,
                            size_t room)
{
    struct error ignored;
    struct gguf_string s;
    if (type == GGUF_STRING)
        return !gguf_take_string(c, &s, &ignored)
                   ? snprintf(text, room, "?")
                   : snprintf(text, room, "\"%.*s%s\"", GGUF_SHOW(s),
                              s.length > GGUF_SHOWN ? "..." : "");
    const unsigned char *from = gguf_take(c, types[type].bytes, &ignored);
    if (from == NULL)
        return snprintf(text, room, "?");
    if (type == GGUF_BOOL)
        return snprintf(text, room, "%s", *from != 0 ? "true" : "false");
    if (type == GGUF_F32 || type == GGUF_F64)
        return snprintf(text, room, "%g", gguf_float_at(type, from));
    uint64_t bits = integer_at(type, from);
    return is_signed(type) ? snprintf(text, room, "%" PRId64, (int64_t)bits)
                           : snprintf(text, room, "%" PRIu64, bits);
}

//: gguf-describe
void gguf_describe_at(struct gguf_cursor c, const struct gguf_value *v, char *text,
                      size_t room)
{
    enum { FIRST = 3 };
    size_t used = 0;
    text[0] = 0;
    if (v->type == GGUF_ARRAY)
        used += (size_t)snprintf(text, room, "[%" PRIu64 " x %s] ", v->count,
                                 types[v->element_type].name);
    for (uint64_t i = 0; i < v->count && i < FIRST && used < room; i++) {
        if (i > 0)
            used += (size_t)snprintf(text + used, room - used, ", ");
        if (used < room)
            used += (size_t)describe_element(&c, v->element_type, text + used, room - used);
    }
    if (v->count > FIRST && used < room)
        snprintf(text + used, room - used, ", ...");
    error_one_line(text);
}
