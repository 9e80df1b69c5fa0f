//: gguf-take
// Steps through a file's bytes; see gguf_cursor.h.
#include "gguf_cursor.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they lie");
static_assert(sizeof(size_t) == 8, "a file of any size can be mapped");

// The only way forward: count bytes are there, or it fails.
const unsigned char *gguf_take(struct gguf_cursor *c, uint64_t count, struct error *e)
{
    const unsigned char *taken = c->bytes + c->at;
    if (count > c->size - c->at) {
        failed(e, "needs %" PRIu64 " bytes at byte %zu, where the file has %zu left", count,
               c->at, c->size - c->at);
        return NULL;
    }
    c->at += count;
    return taken;
}

//: gguf-take-numbers
bool gguf_take_u32(struct gguf_cursor *c, uint32_t *number, struct error *e)
{
    const unsigned char *from = gguf_take(c, sizeof *number, e);
    if (from == NULL)
        return false;
    memcpy(number, from, sizeof *number);
    return true;
}

bool gguf_take_u64(struct gguf_cursor *c, uint64_t *number, struct error *e)
{
    const unsigned char *from = gguf_take(c, sizeof *number, e);
    if (from == NULL)
        return false;
    memcpy(number, from, sizeof *number);
    return true;
}

//: gguf-take-string
// A length, then that many bytes.
bool gguf_take_string(struct gguf_cursor *c, struct gguf_string *s, struct error *e)
{
    uint64_t length = 0;
    if (!gguf_take_u64(c, &length, e))
        return failed_in(e, "a string");
    const unsigned char *bytes = gguf_take(c, length, e);
    if (bytes == NULL)
        return failed_in(e, "a string");
    *s = (struct gguf_string){(const char *)bytes, length};
    return true;
}
