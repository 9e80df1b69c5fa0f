//: utf8
// UTF-8: which bytes make a character, which cannot, and which wait for more.  The
// tokenizer looks at text with it, and what the decoder writes passes through the stream.
// The Unicode Standard, section 3.9, table 3-7 and "U+FFFD substitution of maximal
// subparts".
#ifndef LANEWISE_UTF8_H
#define LANEWISE_UTF8_H

#include <stddef.h>

enum utf8_kind {
    UTF8_CHARACTER, // a whole, valid character
    UTF8_CUT,       // the beginning of a character; the text ends too early to tell
    UTF8_BAD,       // bytes that no character begins with
};

// Looks at what n > 0 bytes begin with.  *length gets how many bytes that is: 1 to 4 of a
// character; 1 to 3 of a cut or bad sequence, as many as a valid character could begin
// with (the maximal subpart), and 1 where even the first byte begins none.
enum utf8_kind utf8_look(const char *bytes, size_t n, size_t *length);

//: utf8-functions
// The code point of the whole, valid character of this length.
unsigned utf8_read(const char *bytes, size_t length);
// Writes the character's UTF-8 form to out and returns its length; code < 0x110000.
size_t utf8_write(unsigned code, char out[4]);

// Passes bytes on in whole characters: one split over several pushes waits for its end.
// Starts from {0}.
struct utf8_stream {
    char waiting[4];
    size_t count;
};

// Writes to out what is complete and returns how many bytes that is.  Each maximal subpart
// that can be no character comes out as U+FFFD, the replacement character, 3 bytes long;
// so out has room for 3 * (count + 1) bytes.  out does not overlap bytes.
size_t utf8_stream_push(struct utf8_stream *s, const char *bytes, size_t count, char *out);
// What still waits can get no more: writes U+FFFD or nothing.  Room for 3 bytes.
size_t utf8_stream_end(struct utf8_stream *s, char *out);

#endif
