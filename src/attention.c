//: attention-oracle-start
// Attention over one split of the cache on the CPU; see attention.h for the formula.
// The softmax is online: one pass over the positions keeps the greatest score so far, and
// sums that are relative to it.
#include "attention.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "half.h"

// Dot products run in eight independent sums, so that a compiler can keep them in vectors.
enum { LANES = 8 };

//: attention-oracle-row
// One position's row of head_dim values as f32, in `buffer` if it must be converted.
static const float *row_at(float *buffer, const void *cache, const struct kv_shape *shape,
                           int kv_head, int position)
{
    const size_t dim = (size_t)shape->head_dim;
    const size_t row = (size_t)kv_head * (size_t)shape->max_context + (size_t)position;
    if (shape->type == KV_F32)
        return (const float *)cache + row * dim;
    const uint16_t *halves = (const uint16_t *)cache + row * dim;
    for (size_t i = 0; i < dim; i++)
        buffer[i] = half_to_float(halves[i]);
    return buffer;
}

//: attention-oracle-dot
static double dot(const double *q, const float *k, int n)
{
    double lane[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += q[i + l] * (double)k[i + l];
    for (; i < n; i++)
        lane[0] += q[i] * (double)k[i];
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

//: attention-oracle-online
// The state of the softmax after some positions.
struct online {
    float maximum;                   // greatest score, in f32: the reference of the sums
    double sum;                      // of exp(score - maximum)
    double numerators[MAX_HEAD_DIM]; // of exp(score - maximum) * value
};

static void add_position(struct online *s, double score, const float *value, int dim)
{
    if ((float)score > s->maximum) { // what was summed so far is relative to the old one
        const double shrink = exp((double)s->maximum - (double)(float)score);
        s->maximum = (float)score;
        s->sum *= shrink;
        for (int i = 0; i < dim; i++)
            s->numerators[i] *= shrink;
    }
    const double weight = exp(score - (double)s->maximum);
    s->sum += weight;
    for (int i = 0; i < dim; i++)
        s->numerators[i] += weight * (double)value[i];
}

//: attention-oracle-store
static void store(struct attention_partials *p, const struct online *s, size_t partial,
                  int dim)
{
    p->maxima[partial] = s->maximum;
    p->sums[partial] = (float)s->sum;
    for (int i = 0; i < dim; i++)
        p->numerators[partial * (size_t)dim + (size_t)i] = (float)s->numerators[i];
}

//: attention-oracle
void attention_split_cpu(struct attention_partials *p, const float *q, const void *keys,
                         const void *values, const struct kv_shape *shape, int heads,
                         int length, int splits, int head, int split)
{
    const int dim = shape->head_dim, kv_head = head / (heads / shape->kv_heads);
    assert(dim <= MAX_HEAD_DIM && heads % shape->kv_heads == 0);
    assert(length >= 1 && length <= shape->max_context);
    double query[MAX_HEAD_DIM];
    for (int i = 0; i < dim; i++)
        query[i] = (double)q[(size_t)head * (size_t)dim + (size_t)i] / sqrt(dim);

    const int each = (length + splits - 1) / splits;
    struct online state = {.maximum = -INFINITY};
    float buffer[MAX_HEAD_DIM];
    for (int i = 0, t = split * each; i < each && t < length; i++, t++) {
        const double score = dot(query, row_at(buffer, keys, shape, kv_head, t), dim);
        add_position(&state, score, row_at(buffer, values, shape, kv_head, t), dim);
    }
    store(p, &state, (size_t)head * (size_t)splits + (size_t)split, dim);
}

//: attention-oracle-all
void attention_cpu(struct attention_partials *p, const float *q, const void *keys,
                   const void *values, const struct kv_shape *shape, int heads, int length,
                   int splits)
{
    for (int head = 0; head < heads; head++)
        for (int split = 0; split < splits; split++)
            attention_split_cpu(p, q, keys, values, shape, heads, length, splits, head,
                                split);
}
