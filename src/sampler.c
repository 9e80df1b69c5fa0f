//: sampler-new
// Chooses the next token from the logits; see sampler.h.
#include "sampler.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "argmax.h"
#include "heap.h"

struct sampler {
    struct sampler_options options;
    int n_vocab;
    uint64_t state;       // of the random numbers
    uint64_t *candidates; // (n_vocab) all logits that are numbers, as keys; see key_of
    float highest;        // of these logits
    int count;            // of candidates
    int left; // candidates 0 .. left - 1 are a heap; the others were taken from it, the
              // likeliest first, from the end downwards
};

//: sampler-check
static bool check(const struct sampler_options *o, int n_vocab, struct error *e)
{
    if (!(o->temperature >= 0 && o->temperature <= 1e6))
        return failed(e, "temperature is %g, expected 0 to 1e6", o->temperature);
    if (o->top_k < 0)
        return failed(e, "top-k is %d, expected 0 or more", o->top_k);
    if (!(o->top_p >= 0 && o->top_p <= 1))
        return failed(e, "top-p is %g, expected 0 to 1", o->top_p);
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return failed(e, "min-p is %g, expected 0 to 1", o->min_p);
    if (n_vocab < 1)
        return failed(e, "a vocabulary of %d tokens, expected 1 or more", n_vocab);
    return true;
}

//: sampler-init
struct sampler *sampler_new(const struct sampler_options *options, int n_vocab,
                            struct error *e)
{
    if (!check(options, n_vocab, e))
        return NULL;
    struct sampler *s = malloc(sizeof *s);
    uint64_t *candidates = malloc((size_t)n_vocab * sizeof *candidates);
    if (s == NULL || candidates == NULL) {
        free(s);
        free(candidates);
        failed(e, "no memory for a sampler of %d tokens", n_vocab);
        return NULL;
    }
    *s = (struct sampler){*options, n_vocab, options->seed, candidates, 0, 0, 0};
    return s;
}

void sampler_free(struct sampler *s)
{
    if (s != NULL)
        free(s->candidates);
    free(s);
}

//: sampler-keys
// A candidate as one number, the smaller the likelier: the logit's bits, turned so that
// they ascend as logits descend, above the id.  Bits of floats ascend with their values
// where the sign is plus, and descend, from higher ones, where it is minus.
static uint64_t key_of(float logit, int id)
{
    uint32_t bits;
    logit += 0.0f; // -0 is 0
    memcpy(&bits, &logit, sizeof bits);
    bits = bits >> 31 ? bits : ~(bits | 0x80000000u);
    return (uint64_t)bits << 32 | (uint32_t)id;
}

static float logit_of(uint64_t key)
{
    uint32_t bits = (uint32_t)(key >> 32);
    float logit;
    bits = bits >> 31 ? bits : ~bits & 0x7FFFFFFFu;
    memcpy(&logit, &bits, sizeof logit);
    return logit;
}

//: sampler-nth
// The likeliest weighs 1, whatever it is: exp(inf - inf) would be NaN.
static double weight_of(const struct sampler *s, uint64_t key)
{
    const float logit = logit_of(key);
    if (logit == s->highest)
        return 1;
    return exp(((double)logit - (double)s->highest) / s->options.temperature);
}

// The candidate that r others are likelier than.  Only what is asked for is ever sorted.
static uint64_t nth(struct sampler *s, int r)
{
    while (s->count - s->left <= r) {
        uint64_t likeliest = heap_pop(s->candidates, (size_t)s->left--);
        s->candidates[s->left] = likeliest;
    }
    return s->candidates[s->count - 1 - r];
}

//: sampler-cut
// How many of the likeliest stay, and their weight together.
static int cut(struct sampler *s, double *weight)
{
    const struct sampler_options *o = &s->options;
    const bool few = o->top_k > 0 && o->top_k < s->count;
    const int most = few ? o->top_k : s->count;
    double all = 0, sum = 0;
    for (int i = 0; i < most && (few || o->top_p < 1 || o->min_p == 0); i++)
        all += weight_of(s, few ? nth(s, i) : s->candidates[i]);
    *weight = all;
    if (o->top_p == 1 && o->min_p == 0)
        return most;
    int kept = 0;
    for (; kept < most; kept++) {
        const double w = weight_of(s, nth(s, kept));
        if (kept > 0 && (w < o->min_p || (o->top_p < 1 && sum >= o->top_p * all)))
            break;
        sum += w;
    }
    *weight = sum;
    return kept;
}

//: sampler-draw
// The next number of SplitMix64 (Steele, Lea and Flood, 2014; constants by Vigna, variant
// 13 of Stafford), its upper 53 bits as a fraction: 0 <= number < 1, all equally likely.
static double uniform(struct sampler *s)
{
    uint64_t z = s->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

// Lays the kept weights end to end, the likeliest first, and sees where a random point of
// the whole length falls.
static int draw(struct sampler *s, int kept, double weight)
{
    const double point = uniform(s) * weight;
    double end = 0;
    int id = -1;
    for (int r = 0; r < kept && end <= point; r++) {
        const uint64_t key = nth(s, r);
        const double w = weight_of(s, key);
        end += w;
        id = w > 0 ? (int)(uint32_t)key : id; // rounding may put the point past the last
    }
    return id;
}

//: sampler-choose
static void gather(struct sampler *s, const float *logits)
{
    s->count = 0;
    for (int id = 0; id < s->n_vocab; id++)
        if (logits[id] == logits[id]) // not NaN
            s->candidates[s->count++] = key_of(logits[id], id);
    s->left = s->count;
    heap_make(s->candidates, (size_t)s->count);
}

int sampler_choose(struct sampler *s, const float *logits)
{
    const int best = argmax_cpu(logits, s->n_vocab);
    if (s->options.temperature == 0 || best < 0)
        return best;
    s->highest = logits[best];
    gather(s, logits);
    double weight;
    const int kept = cut(s, &weight);
    return draw(s, kept, weight);
}
