//: gguf-cursor
// A place in a file's bytes that only moves forward and never leaves them.  All that is
// read of a GGUF file is read through it.
#ifndef LANEWISE_GGUF_CURSOR_H
#define LANEWISE_GGUF_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct gguf_cursor {
    const unsigned char *bytes;
    size_t at, size; // at <= size always
};

struct gguf_string { // not terminated; may hold any byte
    const char *bytes;
    size_t length;
};

// A string for "%.*s", cut where it is long.
enum { GGUF_SHOWN = 64 };
#define GGUF_SHOW(s) (int)((s).length < GGUF_SHOWN ? (s).length : GGUF_SHOWN), (s).bytes

//: gguf-cursor-functions
// Each takes what lies at the cursor and moves past it, or fails where the file ends first.
// The bytes are a view; null on failure.
const unsigned char *gguf_take(struct gguf_cursor *c, uint64_t count, struct error *e);
bool gguf_take_u32(struct gguf_cursor *c, uint32_t *number, struct error *e);
bool gguf_take_u64(struct gguf_cursor *c, uint64_t *number, struct error *e);
bool gguf_take_string(struct gguf_cursor *c, struct gguf_string *s, struct error *e);

#endif
