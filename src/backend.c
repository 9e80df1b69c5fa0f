//: backend-checks
// Dispatch to the backend, with every shape checked on the way: a mismatch is a
// programmer's error, so it ends the program with both numbers.
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>

static void same(const char *what, long found, long expected)
{
    if (found == expected)
        return;
    fprintf(stderr, "lanewise: internal error: %s is %ld, expected %ld\n", what, found,
            expected);
    abort();
}

static void below(const char *what, long found, long limit)
{
    if (found >= 0 && found < limit)
        return;
    fprintf(stderr, "lanewise: internal error: %s is %ld, expected 0 to %ld\n", what, found,
            limit - 1);
    abort();
}

//: backend-made-dispatch
struct weight *backend_weight_new(struct backend *b, const struct gguf_tensor *t,
                                  struct error *e)
{
    return b->ops->weight_new(b, t, e);
}

struct vector *backend_vector_new(struct backend *b, int n, struct error *e)
{
    return b->ops->vector_new(b, n, e);
}

void backend_set(struct backend *b, int token, int position)
{
    b->ops->set(b, token, position);
}

bool backend_begin(struct backend *b, enum step_kind kind, int bucket)
{
    return b->ops->begin(b, kind, bucket);
}

void backend_end(struct backend *b)
{
    b->ops->end(b);
}

//: backend-results-dispatch
void backend_free(struct backend *b)
{
    if (b != NULL)
        b->ops->free(b);
}

bool backend_token(struct backend *b, long step, int *token, struct error *e)
{
    return b->ops->token(b, step, token, e);
}

bool backend_read(struct backend *b, const struct vector *v, float *values, struct error *e)
{
    return b->ops->read(b, v, values, e);
}

size_t backend_available(struct backend *b)
{
    return b->ops->available(b);
}

double backend_read_bandwidth(struct backend *b, struct error *e)
{
    return b->ops->read_bandwidth(b, e);
}

//: backend-cache-dispatch
void backend_weight_free(struct backend *b, struct weight *w)
{
    if (w != NULL)
        b->ops->weight_free(b, w);
}

void backend_vector_free(struct backend *b, struct vector *v)
{
    if (v != NULL)
        b->ops->vector_free(b, v);
}

struct cache *backend_cache_new(struct backend *b, const struct kv_shape *shape, int layers,
                                int heads, struct error *e)
{
    same("query heads beyond whole groups", heads % shape->kv_heads, 0);
    return b->ops->cache_new(b, shape, layers, heads, e);
}

void backend_cache_free(struct backend *b, struct cache *c)
{
    if (c != NULL)
        b->ops->cache_free(b, c);
}

//: backend-norm-dispatch
void backend_embed(struct backend *b, struct vector *x, const struct weight *table)
{
    same("embedding width", x->n, table->columns);
    b->ops->embed(b, x, table);
}

void backend_rmsnorm(struct backend *b, struct vector *y, const struct vector *x,
                     const struct weight *w, float epsilon)
{
    same("norm input", x->n, w->columns);
    same("norm output", y->n, w->columns);
    b->ops->rmsnorm(b, y, x, w, epsilon);
}

static void same_gemv(const struct vector *y, const struct weight *w,
                      const struct vector *x)
{
    same("GEMV input", x->n, w->columns);
    same("GEMV output", y->n, w->rows);
}

//: backend-gemv-dispatch
void backend_gemv(struct backend *b, struct vector *y, const struct weight *w,
                  struct vector *x)
{
    same_gemv(y, w, x);
    b->ops->gemv(b, y, w, x);
}

void backend_gemv_add(struct backend *b, struct vector *y, const struct weight *w,
                      struct vector *x)
{
    same_gemv(y, w, x);
    b->ops->gemv_add(b, y, w, x);
}

void backend_gemv_group(struct backend *b, struct vector *const *y,
                        const struct weight *const *w, int count, struct vector *x)
{
    below("matrices of a group", count, BACKEND_GROUP + 1);
    for (int i = 0; i < count; i++)
        same_gemv(y[i], w[i], x);
    b->ops->gemv_group(b, y, w, count, x);
}

//: backend-heads-dispatch
void backend_qk_norm_rope(struct backend *b, struct vector *q, struct vector *k,
                          const struct weight *q_norm, const struct weight *k_norm,
                          const struct qk_shape *shape)
{
    same("query", q->n, (long)shape->heads * shape->head_dim);
    same("key", k->n, (long)shape->kv_heads * shape->head_dim);
    same("query norm", q_norm->columns, shape->head_dim);
    same("key norm", k_norm->columns, shape->head_dim);
    b->ops->qk_norm_rope(b, q, k, q_norm, k_norm, shape);
}

void backend_append(struct backend *b, struct cache *c, int layer, const struct vector *k,
                    const struct vector *v)
{
    below("layer", layer, c->layers);
    same("key", k->n, (long)c->shape.kv_heads * c->shape.head_dim);
    same("value", v->n, k->n);
    b->ops->append(b, c, layer, k, v);
}

//: backend-attend-dispatch
void backend_attend(struct backend *b, struct vector *out, const struct vector *q,
                    struct cache *c, int layer)
{
    below("layer", layer, c->layers);
    same("query", q->n, (long)c->heads * c->shape.head_dim);
    same("attention output", out->n, q->n);
    b->ops->attend(b, out, q, c, layer);
}

void backend_swiglu(struct backend *b, struct vector *y, const struct vector *gate,
                    const struct vector *up)
{
    same("gate", gate->n, y->n);
    same("up", up->n, y->n);
    b->ops->swiglu(b, y, gate, up);
}

void backend_argmax(struct backend *b, const struct vector *logits)
{
    b->ops->argmax(b, logits);
}
