//: decoder-parts
// The forward pass of a dense Qwen3 model, as calls to a backend.
#include "decoder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "q8_1.h"
#include "split_count.h"

struct layer {
    struct weight *weights[LAYER_TENSORS];
};

//: decoder-struct
struct decoder {
    const struct model *model;
    struct backend *backend;
    struct weight *embedding, *output_norm, *output;
    struct layer *layers;
    struct vector *x;                 // the residual stream, (embedding)
    struct vector *h;                 // its norm, (embedding)
    struct vector *q, *k, *v;         // of the newest position
    struct vector *attended;          // attention's output, (heads * head_dim)
    struct vector *gate, *up, *inner; // (feed_forward)
    struct vector *logits;            // (vocabulary)
    struct cache *cache;
    float *host_logits;
    int context, position; // positions there are, positions filled
    long steps;            // begun since the backend was made
    int greedy_left;       // tokens that greedy decoding may still begin
    int greedy_running;    // steps begun whose token has not been asked for
};

//: decoder-layer
static void attention_half(struct decoder *d, const struct layer *l, int layer)
{
    const struct model_shape *s = &d->model->shape;
    struct weight *const *w = l->weights;
    const struct qk_shape heads = {s->heads, s->kv_heads, s->head_dim, s->epsilon,
                                   s->theta};
    backend_rmsnorm(d->backend, d->h, d->x, w[ATTN_NORM], s->epsilon);
    backend_gemv_group(d->backend, (struct vector *[]){d->q, d->k, d->v},
                       (const struct weight *[]){w[ATTN_Q], w[ATTN_K], w[ATTN_V]}, 3, d->h);
    backend_qk_norm_rope(d->backend, d->q, d->k, w[ATTN_Q_NORM], w[ATTN_K_NORM], &heads);
    backend_append(d->backend, d->cache, layer, d->k, d->v);
    backend_attend(d->backend, d->attended, d->q, d->cache, layer);
    backend_gemv_add(d->backend, d->x, w[ATTN_OUTPUT], d->attended);
}

static void feed_forward_half(struct decoder *d, const struct layer *l)
{
    struct weight *const *w = l->weights;
    backend_rmsnorm(d->backend, d->h, d->x, w[FFN_NORM], d->model->shape.epsilon);
    backend_gemv_group(d->backend, (struct vector *[]){d->gate, d->up},
                       (const struct weight *[]){w[FFN_GATE], w[FFN_UP]}, 2, d->h);
    backend_swiglu(d->backend, d->inner, d->gate, d->up);
    backend_gemv_add(d->backend, d->x, w[FFN_DOWN], d->inner);
}

//: decoder-forward
static void forward(struct decoder *d, enum step_kind kind)
{
    backend_embed(d->backend, d->x, d->embedding);
    for (int i = 0; i < d->model->shape.layers; i++) {
        attention_half(d, &d->layers[i], i);
        feed_forward_half(d, &d->layers[i]);
    }
    if (kind == STEP_PROMPT)
        return;
    backend_rmsnorm(d->backend, d->h, d->x, d->output_norm, d->model->shape.epsilon);
    backend_gemv(d->backend, d->logits, d->output, d->h);
    if (kind == STEP_GREEDY)
        backend_argmax(d->backend, d->logits);
}

//: decoder-step
// One token through the model.  The backend already has the token and the position.
static void step(struct decoder *d, enum step_kind kind)
{
    assert(d->position < d->context);
    if (backend_begin(d->backend, kind, context_bucket(d->position + 1, d->context))) {
        forward(d, kind);
        backend_end(d->backend);
    }
    d->position++;
    d->steps++;
}

//: decoder-load
struct loading { // how far loading has come
    decoder_progress *progress;
    void *user;
    size_t done, total;
};

static size_t weight_bytes(const struct model *m)
{
    size_t bytes = m->output_norm->bytes + m->embedding->bytes;
    bytes += m->output != m->embedding ? m->output->bytes : 0;
    for (int i = 0; i < m->shape.layers; i++)
        for (int j = 0; j < LAYER_TENSORS; j++)
            bytes += m->layers[i].tensors[j]->bytes;
    return bytes;
}

static struct weight *load(struct decoder *d, const struct gguf_tensor *t,
                           struct loading *l, struct error *e)
{
    struct weight *w = backend_weight_new(d->backend, t, e);
    l->done += t->bytes;
    if (w != NULL && l->progress != NULL)
        l->progress(l->user, l->done, l->total);
    return w;
}

//: decoder-load-weights
static bool load_weights(struct decoder *d, struct loading *l, struct error *e)
{
    const struct model *m = d->model;
    d->embedding = load(d, m->embedding, l, e);
    d->output_norm = d->embedding ? load(d, m->output_norm, l, e) : NULL;
    if (d->output_norm == NULL)
        return false;
    d->output = m->output == m->embedding ? d->embedding : load(d, m->output, l, e);
    if (d->output == NULL)
        return false;
    for (int i = 0; i < m->shape.layers; i++)
        for (int j = 0; j < LAYER_TENSORS; j++) {
            struct weight *w = load(d, m->layers[i].tensors[j], l, e);
            if (w == NULL)
                return false;
            d->layers[i].weights[j] = w;
        }
    return true;
}

//: decoder-vectors
static bool make_vectors(struct decoder *d, struct error *e)
{
    const struct model_shape *s = &d->model->shape;
    const struct {
        struct vector **vector;
        int n;
    } wanted[] = {
        {&d->x, s->embedding},
        {&d->h, s->embedding},
        {&d->q, s->heads * s->head_dim},
        {&d->k, s->kv_heads * s->head_dim},
        {&d->v, s->kv_heads * s->head_dim},
        {&d->attended, s->heads * s->head_dim},
        {&d->gate, s->feed_forward},
        {&d->up, s->feed_forward},
        {&d->inner, s->feed_forward},
        {&d->logits, s->vocabulary},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if ((*wanted[i].vector = backend_vector_new(d->backend, wanted[i].n, e)) == NULL)
            return false;
    return true;
}

//: decoder-fill
static bool fill(struct decoder *d, const struct decoder_options *o, struct loading *l,
                 struct error *e)
{
    const struct model_shape *s = &d->model->shape;
    const struct kv_shape cache = {o->kv, s->kv_heads, d->context, s->head_dim};
    d->layers = calloc((size_t)s->layers, sizeof *d->layers);
    d->host_logits = malloc((size_t)s->vocabulary * sizeof *d->host_logits);
    if (d->layers == NULL || d->host_logits == NULL)
        return failed(e, "out of memory for the decoder");
    if (!load_weights(d, l, e) || !make_vectors(d, e))
        return false;
    d->cache = backend_cache_new(d->backend, &cache, s->layers, s->heads, e);
    return d->cache != NULL;
}

//: decoder-memory
// What decoding needs beside the file: for each position, and for everything else.
static size_t bytes_a_position(const struct model_shape *s, enum kv_type kv)
{
    const struct kv_shape one = {kv, s->kv_heads, 1, s->head_dim};
    return 2 * (size_t)s->layers * kv_bytes(&one);
}

static size_t bytes_in_all_cases(const struct model *m)
{
    const struct model_shape *s = &m->shape;
    size_t query = (size_t)s->heads * (size_t)s->head_dim, states = MAX_SPLITS;
    size_t key = (size_t)s->kv_heads * (size_t)s->head_dim;
    size_t activations = 2 * (size_t)s->embedding + 2 * query + 2 * key +
                         3 * (size_t)s->feed_forward + (size_t)s->vocabulary;
    return weight_bytes(m) + activations * sizeof(float) +
           activations / 32 * sizeof(struct block_q8_1) +
           states * (query + 2 * (size_t)s->heads) * sizeof(float);
}

//: decoder-too-large
// Before anything is allocated: is there room, and if not, for which context would there
// be?
static bool has_room(const struct decoder *d, enum kv_type kv, struct error *e)
{
    const double mib = 1 << 20;
    size_t room = backend_available(d->backend), fixed = bytes_in_all_cases(d->model);
    size_t each = bytes_a_position(&d->model->shape, kv);
    size_t most = room > fixed ? (room - fixed) / each : 0; // divided: no product can wrap
    if ((size_t)d->context <= most)
        return true;
    double needed = (double)fixed + (double)d->context * (double)each;
    char advice[64] = "no --ctx would fit";
    if (most > 0)
        snprintf(advice, sizeof advice, "--ctx %zu would fit", most);
    return failed(e, "a context of %d needs %.1f MiB on %s, but %.1f MiB are free: %s",
                  d->context, needed / mib, d->backend->device, (double)room / mib, advice);
}

//: decoder-new
struct decoder *decoder_new(const struct model *m, struct backend *b,
                            const struct decoder_options *options,
                            decoder_progress *progress, void *user, struct error *e)
{
    struct loading l = {progress, user, 0, weight_bytes(m)};
    struct decoder *d = calloc(1, sizeof *d);
    if (d == NULL) {
        failed(e, "out of memory for the decoder");
        return NULL;
    }
    d->model = m;
    d->backend = b;
    d->context = m->shape.context < 8192 ? m->shape.context : 8192;
    if (options->context > 0)
        d->context = options->context;
    if (has_room(d, options->kv, e) && fill(d, options, &l, e))
        return d;
    decoder_free(d);
    return NULL;
}

//: decoder-free
void decoder_free(struct decoder *d)
{
    if (d == NULL)
        return;
    struct vector *vectors[] = {d->x,        d->h,    d->q,  d->k,     d->v,
                                d->attended, d->gate, d->up, d->inner, d->logits};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        backend_vector_free(d->backend, vectors[i]);
    for (int i = 0; d->layers != NULL && i < d->model->shape.layers; i++)
        for (int j = 0; j < LAYER_TENSORS; j++)
            backend_weight_free(d->backend, d->layers[i].weights[j]);
    if (d->output != d->embedding)
        backend_weight_free(d->backend, d->output);
    backend_weight_free(d->backend, d->embedding);
    backend_weight_free(d->backend, d->output_norm);
    backend_cache_free(d->backend, d->cache);
    free(d->layers);
    free(d->host_logits);
    free(d);
}

//: decoder-queries
int decoder_context(const struct decoder *d)
{
    return d->context;
}

int decoder_vocabulary(const struct decoder *d)
{
    return d->model->shape.vocabulary;
}

int decoder_position(const struct decoder *d)
{
    return d->position;
}

void decoder_rewind(struct decoder *d, int position)
{
    assert(position >= 0 && position <= d->position);
    d->position = position;
}

const float *decoder_logits(struct decoder *d, struct error *e)
{
    return backend_read(d->backend, d->logits, d->host_logits, e) ? d->host_logits : NULL;
}

//: decoder-checks
static bool fits(const struct decoder *d, size_t count, struct error *e)
{
    size_t left = (size_t)(d->context - d->position);
    if (count <= left)
        return true;
    return failed(e, "%zu more tokens do not fit: %d of the context's %d are taken", count,
                  d->position, d->context);
}

static bool known(const struct decoder *d, int token, struct error *e)
{
    if (token >= 0 && token < d->model->shape.vocabulary)
        return true;
    return failed(e, "token %d is not in the vocabulary, 0 to %d", token,
                  d->model->shape.vocabulary - 1);
}

//: decoder-feed
static bool feed(struct decoder *d, const int *tokens, size_t count, enum step_kind last,
                 struct error *e)
{
    if (!fits(d, count, e))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!known(d, tokens[i], e))
            return false;
    for (size_t i = 0; i < count; i++) {
        backend_set(d->backend, tokens[i], d->position);
        step(d, i + 1 < count ? STEP_PROMPT : last);
    }
    return true;
}

bool decoder_fill(struct decoder *d, const int *tokens, size_t count, struct error *e)
{
    return feed(d, tokens, count, STEP_PROMPT, e);
}

bool decoder_prompt(struct decoder *d, const int *tokens, size_t count, struct error *e)
{
    return feed(d, tokens, count, STEP_LOGITS, e);
}

//: decoder-greedy
// Keeps as many steps running as the backend likes, and one at least.
static void begin_greedy_steps(struct decoder *d)
{
    while (d->greedy_left > 0 && d->greedy_running <= d->backend->run_ahead) {
        step(d, STEP_GREEDY);
        d->greedy_left--;
        d->greedy_running++;
    }
}

bool decoder_greedy_start(struct decoder *d, int token, int count, struct error *e)
{
    if (!fits(d, (size_t)count, e) || !known(d, token, e))
        return false;
    backend_set(d->backend, token, d->position);
    d->greedy_left = count;
    d->greedy_running = 0;
    return true;
}

//: decoder-greedy-next
bool decoder_greedy_next(struct decoder *d, int *token, struct error *e)
{
    begin_greedy_steps(d);
    assert(d->greedy_running > 0);
    if (!backend_token(d->backend, d->steps - d->greedy_running, token, e))
        return false;
    d->greedy_running--;
    if (*token < 0)
        return failed(e, "no logit is a number at position %d", d->position - 1);
    return true;
}

void decoder_greedy_stop(struct decoder *d)
{
    d->position -= d->greedy_running; // what ran ahead is overwritten by the next steps
    d->greedy_running = 0;
    d->greedy_left = 0;
}
