//: utf8-look
// UTF-8; see utf8.h.
#include "utf8.h"

#include <string.h>

// How long a character with this first byte is, and between what its second byte lies:
// narrower than 80..BF where a longer form, a surrogate or a code past 10FFFF would start.
static size_t first_byte(unsigned char b, unsigned char *low, unsigned char *high)
{
    *low = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
    *high = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
    return b < 0x80 ? 1 : b < 0xC2 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b < 0xF5 ? 4 : 0;
}

static size_t replacement(char *out)
{
    memcpy(out, "\xEF\xBF\xBD", 3);
    return 3;
}

//: utf8-look-at
enum utf8_kind utf8_look(const char *bytes, size_t n, size_t *length)
{
    unsigned char low, high;
    size_t expected = first_byte((unsigned char)bytes[0], &low, &high);
    *length = 1;
    if (expected == 0)
        return UTF8_BAD;
    for (; *length < expected; ++*length, low = 0x80, high = 0xBF) {
        if (*length == n)
            return UTF8_CUT;
        unsigned char b = (unsigned char)bytes[*length];
        if (b < low || b > high)
            return UTF8_BAD;
    }
    return UTF8_CHARACTER;
}

//: utf8-code
unsigned utf8_read(const char *bytes, size_t length)
{
    unsigned code = (unsigned char)bytes[0];
    if (length > 1)
        code &= 0x7Fu >> length; // 110xxxxx, 1110xxxx, 11110xxx
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)bytes[i] & 0x3F);
    return code;
}

size_t utf8_write(unsigned code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00 >> length & 0xFF) | code);
    return length;
}

//: utf8-stream
// One byte more: the waiting bytes and it are a character, still cut, or bad.  A bad
// sequence ends before the byte or at it; in the first case the byte starts anew.
static size_t push_byte(struct utf8_stream *s, char byte, char *out)
{
    size_t length, written = 0;
    s->waiting[s->count++] = byte;
    enum utf8_kind kind = utf8_look(s->waiting, s->count, &length);
    if (kind == UTF8_BAD && length < s->count) {
        written = replacement(out);
        s->waiting[0] = byte;
        s->count = 1;
        kind = utf8_look(s->waiting, 1, &length);
    }
    if (kind == UTF8_CUT)
        return written;
    s->count = 0;
    if (kind == UTF8_BAD)
        return written + replacement(out + written);
    memcpy(out + written, s->waiting, length);
    return written + length;
}

//: utf8-stream-push
size_t utf8_stream_push(struct utf8_stream *s, const char *bytes, size_t count, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < count; i++)
        written += push_byte(s, bytes[i], out + written);
    return written;
}

size_t utf8_stream_end(struct utf8_stream *s, char *out)
{
    size_t written = s->count > 0 ? replacement(out) : 0;
    s->count = 0;
    return written;
}
