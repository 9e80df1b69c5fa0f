//: pretokenizer
// Cuts text into pieces, a word or so each, in which the merges then work.  The rule is the
// regular expression that was there when the model's vocabulary was made.
#ifndef LANEWISE_PRETOKENIZER_H
#define LANEWISE_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct pretokenizer; // the compiled expression; never changes, may be shared by threads

struct pretokenizer *pretokenizer_new(struct error *e); // null on failure
void pretokenizer_free(struct pretokenizer *p);

struct cutter; // one text being cut; a view of p

struct cutter *cutter_new(const struct pretokenizer *p, struct error *e);
void cutter_free(struct cutter *c);
void cutter_start(struct cutter *c, const char *text, size_t bytes); // text is a view
// The next piece, a view of the text, of 0 bytes at the end.  Pieces leave nothing out.
// The expression sees valid UTF-8 only: a run of other bytes is a piece of its own.
bool cutter_next(struct cutter *c, const char **piece, size_t *bytes, struct error *e);

#endif
