//: generation
// The loop that writes: tokens one after another, handed on as they arrive.
#ifndef LANEWISE_GENERATION_H
#define LANEWISE_GENERATION_H

#include "session.h"

// Takes the next token; false ends the loop.
typedef bool generation_sink(void *user, int token);

// Feeds `last`, the prompt's last token, then up to `most` tokens, each chosen as the
// options say, are handed to the sink.  Stops early at SIGINT and at the context's end, and
// says the latter on standard error.  The last token that was handed on is not in the
// cache.
bool generation_run(struct session *s, int last, int most, generation_sink *sink,
                    void *user, struct error *e);

// What a sink may do: a token's bytes, and its text to standard output in whole characters.
const char *generation_bytes(const struct session *s, int token, size_t *count);
bool generation_write(struct session *s, struct utf8_stream *stream, int token);
bool generation_write_end(struct session *s, struct utf8_stream *stream, bool newline);

#endif
