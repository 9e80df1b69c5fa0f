// Chooses the next token from the logits: argmax at temperature 0, else a draw from the
// softmax, cut by top-k, top-p and min-p, in this order.
//: sampler
#ifndef LANEWISE_SAMPLER_H
#define LANEWISE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

struct sampler_options {
    double temperature; // 0: the most likely token
    int top_k;          // 0: all
    double top_p;       // 1: all
    double min_p;       // 0: all; a share of the most likely token's probability
    uint64_t seed;
};

struct sampler; // owns its scratch and its random state

struct sampler *sampler_new(const struct sampler_options *options, int n_vocab,
                            struct error *e);
void sampler_free(struct sampler *s);
// logits: (n_vocab).  -1 if no logit is a number.
int sampler_choose(struct sampler *s, const float *logits);

#endif
