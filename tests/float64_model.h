// A forward pass in float64 over the dequantized weights: what the decoder approximates.
// Written from the formulas alone and checked against the golden logits, so that tests can
// ask for the truth on any prompt.
#ifndef LANEWISE_TESTS_FLOAT64_MODEL_H
#define LANEWISE_TESTS_FLOAT64_MODEL_H

#include <math.h>
#include <stdlib.h>

#include "main.h"
#include "model.h"
#include "quant_blocks.h"

struct float64_model {
    const struct model *model;
    int context;
    double *keys, *values; // [layer][position][kv_head][head_dim]
    double *x, *h, *q, *attended, *gate, *up, *scores;
    float *row; // one row of weights, dequantized
};

static double *float64_vector(size_t n)
{
    double *v = calloc(n, sizeof *v);
    ck_assert_ptr_nonnull(v);
    return v;
}

static void float64_open(struct float64_model *f, const struct model *m, int context)
{
    const struct model_shape *s = &m->shape;
    size_t key = (size_t)s->kv_heads * (size_t)s->head_dim;
    size_t query = (size_t)s->heads * (size_t)s->head_dim;
    size_t wide = (size_t)(s->feed_forward > s->embedding ? s->feed_forward : s->embedding);
    size_t cache = (size_t)s->layers * (size_t)context * key;
    *f = (struct float64_model){.model = m, .context = context};
    f->keys = float64_vector(cache);
    f->values = float64_vector(cache);
    f->x = float64_vector(wide);
    f->h = float64_vector(wide);
    f->q = float64_vector(query);
    f->attended = float64_vector(query);
    f->gate = float64_vector(wide);
    f->up = float64_vector(wide);
    f->scores = float64_vector((size_t)context);
    f->row = calloc(wide > query ? wide : query, sizeof *f->row);
    ck_assert_ptr_nonnull(f->row);
}

static void float64_close(struct float64_model *f)
{
    double *all[] = {f->keys,     f->values, f->x,  f->h,     f->q,
                     f->attended, f->gate,   f->up, f->scores};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(f->row);
}

static void float64_row(struct float64_model *f, const struct gguf_tensor *t, int row)
{
    size_t bytes = t->bytes / (size_t)t->extent[1];
    dequantize_row_cpu(f->row, (const char *)t->data + (size_t)row * bytes, t->type,
                       (int)t->extent[0]);
}

// y = W x, or y += W x.
static void float64_multiply(struct float64_model *f, double *y,
                             const struct gguf_tensor *t, const double *x, bool add)
{
    for (int r = 0; r < t->extent[1]; r++) {
        double sum = 0;
        float64_row(f, t, r);
        for (int c = 0; c < t->extent[0]; c++)
            sum += f->row[c] * x[c];
        y[r] = add ? y[r] + sum : sum;
    }
}

static void float64_norm(double *y, const double *x, const struct gguf_tensor *t,
                         double epsilon)
{
    int n = (int)t->extent[0];
    const float *weight = t->data;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    double scale = 1 / sqrt(sum / n + epsilon);
    for (int i = 0; i < n; i++)
        y[i] = x[i] * scale * weight[i];
}

static void float64_rotate(double *head, int head_dim, int position, double theta)
{
    int half = head_dim / 2;
    for (int i = 0; i < half; i++) {
        double angle = position * pow(theta, -2.0 * i / head_dim);
        double a = head[i], b = head[i + half];
        head[i] = a * cos(angle) - b * sin(angle);
        head[i + half] = a * sin(angle) + b * cos(angle);
    }
}

//: float64-attend
static void float64_attend(struct float64_model *f, double *out, const double *q,
                           const double *keys, const double *values, int position)
{
    const struct model_shape *s = &f->model->shape;
    int stride = s->kv_heads * s->head_dim; // from one position to the next
    double top = -INFINITY, sum = 0;
    for (int t = 0; t <= position; t++) {
        double dot = 0;
        for (int i = 0; i < s->head_dim; i++)
            dot += q[i] * keys[t * stride + i];
        f->scores[t] = dot / sqrt(s->head_dim);
        top = fmax(top, f->scores[t]);
    }
    for (int t = 0; t <= position; t++)
        sum += f->scores[t] = exp(f->scores[t] - top);
    for (int i = 0; i < s->head_dim; i++) {
        out[i] = 0;
        for (int t = 0; t <= position; t++)
            out[i] += f->scores[t] / sum * values[t * stride + i];
    }
}

//: float64-layer
static void float64_layer(struct float64_model *f, int layer, int position)
{
    const struct model_shape *s = &f->model->shape;
    const struct gguf_tensor *const *t = f->model->layers[layer].tensors;
    size_t key = (size_t)s->kv_heads * (size_t)s->head_dim;
    double *keys = f->keys + (size_t)layer * (size_t)f->context * key;
    double *values = f->values + (size_t)layer * (size_t)f->context * key;
    double *k = keys + (size_t)position * key, *v = values + (size_t)position * key;
    float64_norm(f->h, f->x, t[ATTN_NORM], s->epsilon);
    float64_multiply(f, f->q, t[ATTN_Q], f->h, false);
    float64_multiply(f, k, t[ATTN_K], f->h, false);
    float64_multiply(f, v, t[ATTN_V], f->h, false);
    for (int i = 0; i < s->heads + s->kv_heads; i++) {
        double *head =
            i < s->heads ? f->q + i * s->head_dim : k + (i - s->heads) * s->head_dim;
        float64_norm(head, head, t[i < s->heads ? ATTN_Q_NORM : ATTN_K_NORM], s->epsilon);
        float64_rotate(head, s->head_dim, position, s->theta);
    }
    //: float64-layer-rest
    for (int i = 0; i < s->heads; i++) {
        int from = i / (s->heads / s->kv_heads) * s->head_dim;
        float64_attend(f, f->attended + i * s->head_dim, f->q + i * s->head_dim,
                       keys + from, values + from, position);
    }
    float64_multiply(f, f->x, t[ATTN_OUTPUT], f->attended, true);
    float64_norm(f->h, f->x, t[FFN_NORM], s->epsilon);
    float64_multiply(f, f->gate, t[FFN_GATE], f->h, false);
    float64_multiply(f, f->up, t[FFN_UP], f->h, false);
    for (int i = 0; i < s->feed_forward; i++)
        f->gate[i] = f->gate[i] / (1 + exp(-f->gate[i])) * f->up[i];
    float64_multiply(f, f->x, t[FFN_DOWN], f->gate, true);
}

//: float64-step
// logits: (vocabulary), after the token at this position.
static void float64_step(struct float64_model *f, double *logits, int token, int position)
{
    float64_row(f, f->model->embedding, token);
    for (int i = 0; i < f->model->shape.embedding; i++)
        f->x[i] = f->row[i];
    for (int i = 0; i < f->model->shape.layers; i++)
        float64_layer(f, i, position);
    float64_norm(f->h, f->x, f->model->output_norm, f->model->shape.epsilon);
    float64_multiply(f, logits, f->model->output, f->h, false);
}

//: float64-divergence
// Kullback-Leibler divergence of the softmax of ours from the softmax of the truth, in
// nats.
static double float64_divergence(const double *truth, const float *ours, int n)
{
    double top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, divergence = 0;
    for (int i = 0; i < n; i++) {
        top[0] = fmax(top[0], truth[i]);
        top[1] = fmax(top[1], ours[i]);
    }
    for (int i = 0; i < n; i++) {
        sum[0] += exp(truth[i] - top[0]);
        sum[1] += exp(ours[i] - top[1]);
    }
    for (int i = 0; i < n; i++) {
        double log_truth = truth[i] - top[0] - log(sum[0]);
        divergence += exp(log_truth) * (log_truth - (ours[i] - top[1] - log(sum[1])));
    }
    return divergence;
}

#endif
