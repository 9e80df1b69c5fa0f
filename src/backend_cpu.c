//: cpu-types
// The oracles behind the backend interface.  Weights stay views of the mapped file, in the
// GGUF layout; a GEMV with a residual is a GEMV followed by an addition.
#include "backend_cpu.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argmax.h"
#include "attention.h"
#include "embed.h"
#include "gemv_float.h"
#include "gemv_q4k.h"
#include "gemv_q6k.h"
#include "q8_1.h"
#include "residual.h"
#include "rmsnorm.h"
#include "split_count.h"
#include "split_merge.h"
#include "swiglu.h"

//: cpu-structs
struct cpu_weight {
    struct weight shape; // first: a struct weight * of this backend points to a cpu_weight
    const void *data;    // a view
};

struct cpu_vector {
    struct vector shape;
    float *values;
    struct block_q8_1 *blocks; // null where n is not whole blocks
    bool quantized;            // blocks hold the q8_1 form of values
    size_t bytes;
};

struct cpu_cache {
    struct cache shape;
    unsigned char *memory; // each layer's keys, then its values
    size_t layer_bytes;    // of its keys alone
    size_t bytes;          // of all keys and values
    struct attention_partials partials;
};

//: cpu-backend
struct cpu_backend {
    struct backend base;
    int threads;
    int token, position, bucket;
    long steps;   // finished ones
    float *added; // a GEMV's result before it joins the residual stream
    int added_room;
};

// Any vector may be added to: the sum needs as much room beside it.
static bool make_room(struct cpu_backend *b, int n)
{
    if (n <= b->added_room)
        return true;
    float *added = realloc(b->added, (size_t)n * sizeof *added);
    if (added == NULL)
        return false;
    b->added = added;
    b->added_room = n;
    return true;
}

//: cpu-casts
static struct cpu_backend *cpu(struct backend *b)
{
    return (struct cpu_backend *)b;
}

static struct cpu_vector *host(struct vector *v)
{
    return (struct cpu_vector *)v;
}

static float *values(const struct vector *v)
{
    return ((const struct cpu_vector *)v)->values;
}

static const void *data(const struct weight *w)
{
    return ((const struct cpu_weight *)w)->data;
}

//: cpu-weights
static struct weight *cpu_weight_new(struct backend *b, const struct gguf_tensor *t,
                                     struct error *e)
{
    struct cpu_weight *w = malloc(sizeof *w);
    if (w == NULL) {
        failed(e, "out of memory for a weight's description");
        return NULL;
    }
    w->shape.type = t->type;
    w->shape.columns = (int)t->extent[0];
    w->shape.rows = (int)t->extent[1];
    w->shape.bytes = t->bytes;
    w->data = t->data;
    b->bytes_in_use += t->bytes;
    return &w->shape;
}

//: cpu-freed
static void cpu_weight_free(struct backend *b, struct weight *w)
{
    b->bytes_in_use -= w->bytes;
    free(w);
}

static void cpu_vector_free(struct backend *b, struct vector *v)
{
    b->bytes_in_use -= host(v)->bytes;
    free(host(v)->values);
    free(host(v)->blocks);
    free(v);
}

static void cpu_cache_free(struct backend *b, struct cache *c)
{
    struct cpu_cache *cache = (struct cpu_cache *)c;
    b->bytes_in_use -= cache->bytes;
    free(cache->memory);
    free(cache->partials.maxima);
    free(cache->partials.sums);
    free(cache->partials.numerators);
    free(cache);
}

//: cpu-vector-new
static struct vector *cpu_vector_new(struct backend *b, int n, struct error *e)
{
    size_t count = (size_t)n, blocks = n % 32 == 0 ? count / 32 : 0;
    struct cpu_vector *v = calloc(1, sizeof *v);
    if (v != NULL) {
        v->shape.n = n;
        v->values = calloc(count, sizeof *v->values);
        v->blocks = blocks > 0 ? calloc(blocks, sizeof *v->blocks) : NULL;
        if (v->values != NULL && (blocks == 0 || v->blocks != NULL) &&
            make_room(cpu(b), n)) {
            v->bytes = count * sizeof *v->values + blocks * sizeof *v->blocks;
            b->bytes_in_use += v->bytes;
            return &v->shape;
        }
        cpu_vector_free(b, &v->shape);
    }
    failed(e, "out of memory for %d activations", n);
    return NULL;
}

//: cpu-cache-fill
static bool cpu_cache_fill(struct cpu_cache *c, struct error *e)
{
    size_t heads = (size_t)c->shape.heads, head_dim = (size_t)c->shape.shape.head_dim;
    size_t states = heads * MAX_SPLITS, layers = (size_t)c->shape.layers;
    c->layer_bytes = kv_bytes(&c->shape.shape);
    if (c->layer_bytes == 0 || c->layer_bytes > SIZE_MAX / (2 * layers))
        return failed(e, "the cache of %d positions is too large",
                      c->shape.shape.max_context);
    c->memory = calloc(2 * layers, c->layer_bytes); // pages come with their first use
    c->partials.maxima = calloc(states, sizeof(float));
    c->partials.sums = calloc(states, sizeof(float));
    c->partials.numerators = calloc(states * head_dim, sizeof(float));
    if (c->memory == NULL || c->partials.maxima == NULL || c->partials.sums == NULL ||
        c->partials.numerators == NULL)
        return failed(e, "out of memory for a cache of %d positions, %zu bytes",
                      c->shape.shape.max_context, 2 * layers * c->layer_bytes);
    return true;
}

//: cpu-cache
static struct cache *cpu_cache_new(struct backend *b, const struct kv_shape *shape,
                                   int layers, int heads, struct error *e)
{
    struct cpu_cache *c = calloc(1, sizeof *c);
    if (c == NULL) {
        failed(e, "out of memory for the cache's description");
        return NULL;
    }
    c->shape = (struct cache){.shape = *shape, .layers = layers, .heads = heads};
    if (!cpu_cache_fill(c, e)) {
        cpu_cache_free(b, &c->shape);
        return NULL;
    }
    c->bytes = 2 * (size_t)layers * c->layer_bytes;
    b->bytes_in_use += c->bytes;
    return &c->shape;
}

//: cpu-step
static void *layer_keys(const struct cpu_cache *c, int layer)
{
    return c->memory + 2 * (size_t)layer * c->layer_bytes;
}

static void *layer_values(const struct cpu_cache *c, int layer)
{
    return c->memory + (2 * (size_t)layer + 1) * c->layer_bytes;
}

static void cpu_set(struct backend *b, int token, int position)
{
    cpu(b)->token = token;
    cpu(b)->position = position;
}

static bool cpu_begin(struct backend *b, enum step_kind kind, int bucket)
{
    (void)kind; // nothing is recorded: the calls are the work
    cpu(b)->bucket = bucket;
    return true;
}

//: cpu-step-end
static void cpu_end(struct backend *b)
{
    cpu(b)->position++;
    cpu(b)->steps++;
}

static bool cpu_token(struct backend *b, long step, int *token, struct error *e)
{
    if (step != cpu(b)->steps - 1)
        return failed(e, "the token of step %ld is no longer known", step);
    *token = cpu(b)->token;
    return true;
}

static bool cpu_read(struct backend *b, const struct vector *v, float *out, struct error *e)
{
    (void)b, (void)e;
    memcpy(out, values(v), (size_t)v->n * sizeof *out);
    return true;
}

//: cpu-bandwidth
// Sums 256 MiB, far more than any cache holds, in parallel; the best of three passes.
static double cpu_read_bandwidth(struct backend *b, struct error *e)
{
    const size_t words = (size_t)32 << 20;
    unsigned long *memory = malloc(words * sizeof *memory), total = 0;
    double best = 0;
    if (memory == NULL) {
        failed(e, "out of memory for measuring the read bandwidth");
        return 0;
    }
    memset(memory, 1, words * sizeof *memory); // its pages exist before they are timed
    for (int pass = 0; pass < 3; pass++) {
        double start = omp_get_wtime();
#pragma omp parallel for num_threads(cpu(b)->threads) reduction(+ : total)
        for (size_t i = 0; i < words; i++)
            total += memory[i];
        double rate = (double)(words * sizeof *memory) / (omp_get_wtime() - start);
        best = rate > best ? rate : best;
    }
    free(memory);
    return total != 0 ? best : 0; // the sum is used, so the loop cannot be dropped
}

//: cpu-embed-norm
// The operating system gives memory page by page, at first use; asking says little.
static size_t cpu_available(struct backend *b)
{
    (void)b;
    return SIZE_MAX;
}

static void cpu_embed(struct backend *b, struct vector *x, const struct weight *table)
{
    embed_cpu(values(x), data(table), table->type, cpu(b)->token, table->columns);
    host(x)->quantized = false;
}

static void cpu_rmsnorm(struct backend *b, struct vector *y, const struct vector *x,
                        const struct weight *w, float epsilon)
{
    (void)b;
    rmsnorm_cpu(values(y), values(x), data(w), epsilon, 1, w->columns);
    host(y)->quantized = false;
}

//: cpu-gemv-rows
// q8_1 blocks of x, made at the first GEMV that wants them and kept for the next.
static const struct block_q8_1 *quantized(struct vector *x)
{
    struct cpu_vector *v = host(x);
    if (!v->quantized)
        q8_1_cpu(v->blocks, v->values, x->n);
    v->quantized = true;
    return v->blocks;
}

static void gemv_rows(float *y, const struct weight *w, const struct block_q8_1 *blocks,
                      const float *x, int first, int count)
{
    struct block_layout layout = tensor_layout(w->type);
    size_t row_bytes =
        (size_t)(w->columns / layout.block_values) * (size_t)layout.block_bytes;
    const void *rows = (const unsigned char *)data(w) + (size_t)first * row_bytes;
    if (w->type == TENSOR_Q4_K)
        gemv_q4k_cpu(y + first, rows, blocks, count, w->columns);
    else if (w->type == TENSOR_Q6_K)
        gemv_q6k_cpu(y + first, rows, blocks, count, w->columns);
    else
        gemv_float_cpu(y + first, rows, w->type, x, count, w->columns);
}

//: cpu-gemv
enum { ROWS_A_PIECE = 16 }; // so many rows at a time go to a thread
// Multiply-adds below which one thread is done before a team would be awake.
enum { WORTH_A_TEAM = 1 << 20 };

static void gemv_into(struct backend *b, float *y, const struct weight *w, struct vector *x)
{
    bool wants_q8_1 = w->type == TENSOR_Q4_K || w->type == TENSOR_Q6_K;
    const struct block_q8_1 *blocks = wants_q8_1 ? quantized(x) : NULL;
    const float *dense = values(x);
    bool team = (long)w->rows * w->columns >= WORTH_A_TEAM;
#pragma omp parallel for num_threads(cpu(b)->threads) schedule(static) if (team)
    for (int first = 0; first < w->rows; first += ROWS_A_PIECE) {
        int left = w->rows - first;
        gemv_rows(y, w, blocks, dense, first, left < ROWS_A_PIECE ? left : ROWS_A_PIECE);
    }
}

static void cpu_gemv(struct backend *b, struct vector *y, const struct weight *w,
                     struct vector *x)
{
    gemv_into(b, values(y), w, x);
    host(y)->quantized = false;
}

//: cpu-gemv-more
static void cpu_gemv_add(struct backend *b, struct vector *y, const struct weight *w,
                         struct vector *x)
{
    gemv_into(b, cpu(b)->added, w, x);
    residual_add_cpu(values(y), values(y), cpu(b)->added, y->n);
    host(y)->quantized = false;
}

static void cpu_gemv_group(struct backend *b, struct vector *const *y,
                           const struct weight *const *w, int count, struct vector *x)
{
    for (int i = 0; i < count; i++) // the first quantizes x
        cpu_gemv(b, y[i], w[i], x);
}

//: cpu-rope-append
static void cpu_qk_norm_rope(struct backend *b, struct vector *q, struct vector *k,
                             const struct weight *q_norm, const struct weight *k_norm,
                             const struct qk_shape *shape)
{
    qk_norm_rope_cpu(values(q), values(k), data(q_norm), data(k_norm), cpu(b)->position,
                     shape);
    host(q)->quantized = false;
    host(k)->quantized = false;
}

static void cpu_append(struct backend *b, struct cache *c, int layer,
                       const struct vector *k, const struct vector *v)
{
    struct cpu_cache *cache = (struct cpu_cache *)c;
    kv_append_cpu(layer_keys(cache, layer), layer_values(cache, layer), values(k),
                  values(v), cpu(b)->position, &c->shape);
}

//: cpu-attend
// The split count of an RTX 4090 with an F16 cache (128 SMs of nine blocks): a fixed
// number, so that every machine divides the cache alike.
enum { REFERENCE_WAVE = 128 * 9 };

static void cpu_attend(struct backend *b, struct vector *out, const struct vector *q,
                       struct cache *c, int layer)
{
    struct cpu_cache *cache = (struct cpu_cache *)c;
    int length = cpu(b)->position + 1, heads = c->heads;
    int splits = split_count(cpu(b)->bucket, heads, REFERENCE_WAVE);
    bool team = (long)length * heads * c->shape.head_dim >= WORTH_A_TEAM;
    const void *keys = layer_keys(cache, layer), *vals = layer_values(cache, layer);
    const float *query = values(q);
#pragma omp parallel for num_threads(cpu(b)->threads) schedule(static) if (team)
    for (int i = 0; i < heads * splits; i++)
        attention_split_cpu(&cache->partials, query, keys, vals, &c->shape, heads, length,
                            splits, i / splits, i % splits);
    split_merge_cpu(values(out), NULL, &cache->partials, heads, splits, c->shape.head_dim);
    host(out)->quantized = false;
}

//: cpu-swiglu-argmax
static void cpu_swiglu(struct backend *b, struct vector *y, const struct vector *gate,
                       const struct vector *up)
{
    (void)b;
    swiglu_cpu(values(y), NULL, values(gate), values(up), y->n);
    host(y)->quantized = false;
}

static void cpu_argmax(struct backend *b, const struct vector *logits)
{
    cpu(b)->token = argmax_cpu(values(logits), logits->n);
}

static void cpu_free(struct backend *b)
{
    free(cpu(b)->added);
    free(b);
}

//: cpu-ops
static const struct backend_ops cpu_ops = {
    .free = cpu_free,
    .weight_new = cpu_weight_new,
    .weight_free = cpu_weight_free,
    .vector_new = cpu_vector_new,
    .vector_free = cpu_vector_free,
    .cache_new = cpu_cache_new,
    .cache_free = cpu_cache_free,
    .set = cpu_set,
    .begin = cpu_begin,
    .end = cpu_end,
    .token = cpu_token,
    .read = cpu_read,
    .read_bandwidth = cpu_read_bandwidth,
    .available = cpu_available,
    //: cpu-ops-verbs
    .embed = cpu_embed,
    .rmsnorm = cpu_rmsnorm,
    .gemv = cpu_gemv,
    .gemv_add = cpu_gemv_add,
    .gemv_group = cpu_gemv_group,
    .qk_norm_rope = cpu_qk_norm_rope,
    .append = cpu_append,
    .attend = cpu_attend,
    .swiglu = cpu_swiglu,
    .argmax = cpu_argmax,
};

//: cpu-new
struct backend *backend_cpu_new(const struct backend_options *options, struct error *e)
{
    struct cpu_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        failed(e, "out of memory for the CPU backend");
        return NULL;
    }
    b->base.ops = &cpu_ops;
    b->base.name = "cpu";
    b->threads = options->threads > 0 ? options->threads : omp_get_num_procs();
    snprintf(b->base.device, sizeof b->base.device, "%d CPU thread%s", b->threads,
             b->threads == 1 ? "" : "s");
    return &b->base;
}
