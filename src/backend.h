//: backend-types
// What the decoder asks of a machine.  Weights, vectors and the cache are opaque: each
// backend keeps them where and how it likes (the CPU as GGUF has them, a GPU repacked in
// its own memory).  The decoder knows only their shapes.
#ifndef LANEWISE_BACKEND_H
#define LANEWISE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "gguf.h"
#include "kv_cache.h"
#include "rope.h"

//: backend-opaque
struct weight { // a matrix (rows, columns); a vector is one row
    enum tensor_type type;
    int rows, columns;
    size_t bytes;
};

struct vector { // n activations in f32, with their q8_1 form wherever something made it
    int n;
};

struct cache { // keys and values of every layer, and room for attention's partial states
    struct kv_shape shape;
    int layers, heads;
};

//: backend-step
// What a step is for.  A backend may record the calls of a step and replay them: for one
// kind and one context bucket they are always the same, whatever the token and the
// position.
enum step_kind {
    STEP_PROMPT, // only fills the cache
    STEP_LOGITS, // leaves logits for the host to choose from
    STEP_GREEDY, // leaves the most likely token, which also feeds the next step
    STEP_KINDS,
};

struct backend_options {
    enum kv_type kv;
    int threads; // CPU threads; 0: as many as the machine has
    bool graphs; // replay captured steps, where the backend can
};

//: backend-ops
// The verbs.  Those without a result cannot fail where they stand: a device's failure is
// kept and reported by token() or read().  Backends see checked shapes only, through the
// functions below.
struct backend;
struct backend_ops {
    void (*free)(struct backend *);
    struct weight *(*weight_new)(struct backend *, const struct gguf_tensor *,
                                 struct error *);
    void (*weight_free)(struct backend *, struct weight *);
    struct vector *(*vector_new)(struct backend *, int n, struct error *);
    void (*vector_free)(struct backend *, struct vector *);
    struct cache *(*cache_new)(struct backend *, const struct kv_shape *, int layers,
                               int heads, struct error *);
    void (*cache_free)(struct backend *, struct cache *);

    void (*set)(struct backend *, int token, int position);
    bool (*begin)(struct backend *, enum step_kind, int bucket);
    void (*end)(struct backend *);
    bool (*token)(struct backend *, long step, int *token, struct error *);
    bool (*read)(struct backend *, const struct vector *, float *values, struct error *);
    double (*read_bandwidth)(struct backend *, struct error *);
    size_t (*available)(struct backend *);
    //: backend-ops-verbs
    void (*embed)(struct backend *, struct vector *x, const struct weight *table);
    void (*rmsnorm)(struct backend *, struct vector *y, const struct vector *x,
                    const struct weight *, float epsilon);
    void (*gemv)(struct backend *, struct vector *y, const struct weight *,
                 struct vector *x);
    void (*gemv_add)(struct backend *, struct vector *y, const struct weight *,
                     struct vector *x);
    void (*gemv_group)(struct backend *, struct vector *const *y,
                       const struct weight *const *w, int count, struct vector *x);
    void (*qk_norm_rope)(struct backend *, struct vector *q, struct vector *k,
                         const struct weight *q_norm, const struct weight *k_norm,
                         const struct qk_shape *);
    void (*append)(struct backend *, struct cache *, int layer, const struct vector *k,
                   const struct vector *v);
    void (*attend)(struct backend *, struct vector *out, const struct vector *q,
                   struct cache *, int layer);
    void (*swiglu)(struct backend *, struct vector *y, const struct vector *gate,
                   const struct vector *up);
    void (*argmax)(struct backend *, const struct vector *logits);
};

//: backend-struct
struct backend {
    const struct backend_ops *ops;
    const char *name;    // "cpu", "cuda"
    char device[128];    // the machine, for people
    int run_ahead;       // steps worth starting before the host has seen the last token
    size_t bytes_in_use; // of weights, vectors and cache, allocated or viewed
};

void backend_free(struct backend *b); // null is fine; weights, vectors, cache first

// A weight from a tensor of the mapped file, which must stay open.  Null on failure.
struct weight *backend_weight_new(struct backend *b, const struct gguf_tensor *t,
                                  struct error *e);
struct vector *backend_vector_new(struct backend *b, int n, struct error *e);
struct cache *backend_cache_new(struct backend *b, const struct kv_shape *shape, int layers,
                                int heads, struct error *e);
// What is freed may be null; the backend's bytes_in_use go down again.
void backend_weight_free(struct backend *b, struct weight *w);
void backend_vector_free(struct backend *b, struct vector *v);
void backend_cache_free(struct backend *b, struct cache *c);

//: backend-control
// The token and position of the next step.  After a step the position is one higher, and
// after a greedy one the token is the one it chose.
void backend_set(struct backend *b, int token, int position);
// Begins a step.  False: the backend replays what it recorded; skip the calls, and the end.
bool backend_begin(struct backend *b, enum step_kind kind, int bucket);
void backend_end(struct backend *b);
// The token that greedy step number `step` chose (steps of all kinds are counted from 0
// since the backend was made), -1 where no logit was a number; waits for it.  Only the
// run_ahead + 1 newest steps are remembered.
bool backend_token(struct backend *b, long step, int *token, struct error *e);
// Waits for all work, then copies a vector (v->n) to the host.
bool backend_read(struct backend *b, const struct vector *v, float *values,
                  struct error *e);
// Bytes that may still be allocated for weights, vectors and cache; SIZE_MAX: not limited.
size_t backend_available(struct backend *b);
// Bytes a second that the machine reads from its memory at best, measured; 0 on failure.
double backend_read_bandwidth(struct backend *b, struct error *e);

//: backend-verbs
// The token's row of the table.  x: (columns).
void backend_embed(struct backend *b, struct vector *x, const struct weight *table);
// y, x: (columns of w).  y also gets its q8_1 form.
void backend_rmsnorm(struct backend *b, struct vector *y, const struct vector *x,
                     const struct weight *w, float epsilon);
// y = w x; gemv_add: y = y + w x.  x: (columns), y: (rows).  Quantizes x at most once.
void backend_gemv(struct backend *b, struct vector *y, const struct weight *w,
                  struct vector *x);
void backend_gemv_add(struct backend *b, struct vector *y, const struct weight *w,
                      struct vector *x);
// y[i] = w[i] x for up to three matrices of one width: gate and up as a pair, Q, K and V as
// three.  One quantization, and where the backend can, one launch; the bits of one each.
enum { BACKEND_GROUP = 3 };
void backend_gemv_group(struct backend *b, struct vector *const *y,
                        const struct weight *const *w, int count, struct vector *x);
//: backend-verbs-attention
// Per-head norm and rotation in place.  q: (heads * head_dim), k: (kv_heads * head_dim).
void backend_qk_norm_rope(struct backend *b, struct vector *q, struct vector *k,
                          const struct weight *q_norm, const struct weight *k_norm,
                          const struct qk_shape *shape);
// Stores k and v in a layer of the cache at the step's position.
void backend_append(struct backend *b, struct cache *c, int layer, const struct vector *k,
                    const struct vector *v);
// out, q: (heads * head_dim).  out also gets its q8_1 form.
void backend_attend(struct backend *b, struct vector *out, const struct vector *q,
                    struct cache *c, int layer);
// y = silu(gate) * up, with y's q8_1 form.
void backend_swiglu(struct backend *b, struct vector *y, const struct vector *gate,
                    const struct vector *up);
// The step's result: the most likely token.
void backend_argmax(struct backend *b, const struct vector *logits);

#endif
