//: sampler
// Chooses the next token from the logits: argmax at temperature 0, else a draw from their
// softmax, cut by top-k, top-p and min-p, in this order.  The last step of decoding.
#ifndef LANEWISE_SAMPLER_H
#define LANEWISE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

// A token's weight is exp((logit - highest logit) / temperature); its probability is its
// share of the weight of all tokens that are left.
struct sampler_options {
    double temperature; // 0: the most likely token, whatever the rest says
    int top_k;          // keep this many of the most likely tokens; 0: all
    double top_p;       // of those, the fewest whose probabilities add up to this; 1: all
    double min_p;       // of those, all at least this much as likely as the first; 0: all
    uint64_t seed;      // one seed and the same logits give the same tokens, on any machine
};

//: sampler-functions
struct sampler; // owns its scratch and its random state

// Null where an option is out of its range.
struct sampler *sampler_new(const struct sampler_options *options, int n_vocab,
                            struct error *e);
void sampler_free(struct sampler *s);
// logits: (n_vocab).  NaNs are ignored; of equal logits the lower id is the likelier.
// -1 if no logit is a number.  Allocates nothing.
int sampler_choose(struct sampler *s, const float *logits);

#endif
