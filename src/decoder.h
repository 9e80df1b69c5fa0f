//: decoder
// One token after another through the whole model: the forward pass, the cache's length,
// and what became of the last step.
#ifndef LANEWISE_DECODER_H
#define LANEWISE_DECODER_H

#include <stdbool.h>

#include "backend.h"
#include "model.h"

struct decoder;

struct decoder_options {
    enum kv_type kv;
    int context; // positions in the cache; 0: the smaller of the model's and 8192
};

// Loads the weights of the model into the backend; m's file and b must outlive the decoder.
// progress, if not null, is called with the bytes loaded so far and in all.
typedef void decoder_progress(void *user, size_t done, size_t total);
struct decoder *decoder_new(const struct model *m, struct backend *b,
                            const struct decoder_options *options,
                            decoder_progress *progress, void *user, struct error *e);
void decoder_free(struct decoder *d); // null is fine

//: decoder-functions
int decoder_context(const struct decoder *d);
int decoder_vocabulary(const struct decoder *d);
int decoder_position(const struct decoder *d); // tokens in the cache
// Forgets all tokens from this position on.  0 <= position <= decoder_position(d).
void decoder_rewind(struct decoder *d, int position);

// Feed tokens; fail where they do not fit the context.  fill leaves no logits (and so
// spares the largest matrix); prompt leaves those after the last token.
bool decoder_fill(struct decoder *d, const int *tokens, size_t count, struct error *e);
bool decoder_prompt(struct decoder *d, const int *tokens, size_t count, struct error *e);
// The logits after the newest token, (vocabulary) f32, valid until the next call.
const float *decoder_logits(struct decoder *d, struct error *e); // null on failure

// Greedy decoding, the chosen token feeding the next step without the host in between.
// start: the token to feed first and how many tokens are wanted at most (the context must
// hold them).  next: the following token.  stop: ends it, early or not; the cache then
// holds the tokens fed, all but the last that next returned, and no logits are known.
bool decoder_greedy_start(struct decoder *d, int token, int count, struct error *e);
bool decoder_greedy_next(struct decoder *d, int *token, struct error *e);
void decoder_greedy_stop(struct decoder *d);

#endif
