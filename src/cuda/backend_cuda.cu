//: cuda-parts
// The CUDA backend: every verb is a launch or two on one stream.
#include "cuda_state.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

extern "C" {
#include "embed.h"
#include "embed_q4k.h"
#include "gemv_float.h"
#include "gemv_q4k.h"
#include "gemv_q6k.h"
#include "rmsnorm.h"
#include "rope.h"
#include "split_count.h"
#include "split_merge.h"
#include "swiglu.h"
}

//: cuda-failures
bool cuda_ok(struct cuda_backend *b, cudaError_t result)
{
    if (b->failure == cudaSuccess)
        b->failure = result;
    return b->failure == cudaSuccess;
}

bool cuda_failed(struct cuda_backend *b, const char *what, struct error *e)
{
    cudaGetLastError(); // the runtime keeps the error too; it is told here
    return failed(e, "CUDA: %s: %s", what, cudaGetErrorString(b->failure));
}

//: cuda-casts
namespace
{
struct cuda_backend *cuda(struct backend *b)
{
    return reinterpret_cast<struct cuda_backend *>(b);
}

struct cuda_vector *device(struct vector *v)
{
    return reinterpret_cast<struct cuda_vector *>(v);
}

float *values(const struct vector *v)
{
    return reinterpret_cast<const struct cuda_vector *>(v)->values;
}

const uint8_t *data(const struct weight *w)
{
    return reinterpret_cast<const struct cuda_weight *>(w)->data;
}

//: cuda-allocate
const float *floats(const struct weight *w)
{
    return reinterpret_cast<const float *>(data(w));
}

constexpr double MIB = 1 << 20;

// Device memory, added to what its owner (total) and the backend have; null and a sentence
// with both numbers where there is too little.
void *allocate(struct backend *b, size_t *total, size_t bytes, const char *what,
               struct error *e)
{
    void *p = nullptr;
    if (cudaMalloc(&p, bytes) == cudaSuccess) {
        *total += bytes;
        b->bytes_in_use += bytes;
        return p;
    }
    cudaGetLastError(); // it has been seen
    failed(e, "CUDA: no memory for %s: %.1f MiB needed, %.1f MiB free", what,
           static_cast<double>(bytes) / MIB,
           static_cast<double>(backend_available(b)) / MIB);
    return nullptr;
}

//: cuda-freed
void cuda_weight_free(struct backend *b, struct weight *w)
{
    cudaFree(reinterpret_cast<struct cuda_weight *>(w)->data);
    b->bytes_in_use -= w->bytes;
    free(w);
}

void cuda_vector_free(struct backend *b, struct vector *v)
{
    b->bytes_in_use -= device(v)->bytes;
    cudaFree(device(v)->values);
    cudaFree(device(v)->blocks);
    free(v);
}

void cuda_cache_free(struct backend *b, struct cache *c)
{
    struct cuda_cache *cache = reinterpret_cast<struct cuda_cache *>(c);
    b->bytes_in_use -= cache->bytes;
    cudaFree(cache->memory);
    cudaFree(cache->partials.maxima);
    cudaFree(cache->partials.sums);
    cudaFree(cache->partials.numerators);
    free(cache);
}

//: cuda-weight-new
struct weight *cuda_weight_new(struct backend *b, const struct gguf_tensor *t,
                               struct error *e)
{
    struct cuda_weight *w = static_cast<struct cuda_weight *>(calloc(1, sizeof *w));
    if (w == nullptr) {
        failed(e, "out of memory for a weight's description");
        return nullptr;
    }
    w->shape = {t->type, static_cast<int>(t->extent[1]), static_cast<int>(t->extent[0]),
                t->bytes};
    size_t total = 0; // the shape has it already
    w->data = static_cast<uint8_t *>(allocate(b, &total, t->bytes, "the weights", e));
    if (w->data == nullptr) {
        free(w);
        return nullptr;
    }
    if (cuda_upload(cuda(b), w->data, t))
        return &w->shape;
    cuda_failed(cuda(b), "loading weights", e);
    cuda_weight_free(b, &w->shape);
    return nullptr;
}

//: cuda-argmax
// argmax's partial results for the longest vector so far.
bool make_pairs(struct cuda_backend *b, int n, struct error *e)
{
    const int room = argmax_partials(n);
    if (room <= b->pairs_room)
        return true;
    cudaFree(b->pairs);
    b->base.bytes_in_use -= b->pairs_bytes;
    b->pairs_bytes = 0;
    b->pairs = static_cast<struct argmax_pair *>(
        allocate(&b->base, &b->pairs_bytes, static_cast<size_t>(room) * sizeof *b->pairs,
                 "argmax", e));
    b->pairs_room = b->pairs != nullptr ? room : 0;
    return b->pairs != nullptr;
}

void cuda_argmax(struct backend *b, const struct vector *logits)
{
    argmax_cuda(&cuda(b)->state->token, cuda(b)->pairs, values(logits), logits->n,
                cuda(b)->stream);
    cuda_ok(cuda(b), cudaGetLastError());
}

//: cuda-vector-new
struct vector *cuda_vector_new(struct backend *b, int n, struct error *e)
{
    const size_t count = static_cast<size_t>(n), blocks = n % 32 == 0 ? count / 32 : 0;
    struct cuda_vector *v = static_cast<struct cuda_vector *>(calloc(1, sizeof *v));
    if (v == nullptr) {
        failed(e, "out of memory for a vector's description");
        return nullptr;
    }
    v->shape.n = n;
    v->values = static_cast<float *>(
        allocate(b, &v->bytes, count * sizeof(float), "the activations", e));
    if (v->values != nullptr && blocks > 0)
        v->blocks = static_cast<struct block_q8_1 *>(allocate(
            b, &v->bytes, blocks * sizeof(struct block_q8_1), "the activations", e));
    bool good = v->values != nullptr && (blocks == 0 || v->blocks != nullptr);
    if (good && make_pairs(cuda(b), n, e))
        return &v->shape;
    cuda_vector_free(b, &v->shape);
    return nullptr;
}

//: cuda-cache-fill
bool fill_cache(struct cuda_backend *b, struct cuda_cache *c, struct error *e)
{
    const size_t states = static_cast<size_t>(c->shape.heads) * MAX_SPLITS;
    const size_t numbers = states * static_cast<size_t>(c->shape.shape.head_dim);
    const size_t arrays = 2 * static_cast<size_t>(c->shape.layers);
    float **partials[] = {&c->partials.maxima, &c->partials.sums, &c->partials.numerators};
    c->layer_bytes = kv_bytes(&c->shape.shape);
    if (c->layer_bytes == 0 || c->layer_bytes > SIZE_MAX / arrays)
        return failed(e, "the cache of %d positions is too large",
                      c->shape.shape.max_context);
    if (c->layer_bytes > ATTENTION_KEYS_MAX)
        return failed(e, "CUDA: keys of %zu bytes a layer, expected at most %zu",
                      c->layer_bytes, ATTENTION_KEYS_MAX);
    c->memory = static_cast<uint8_t *>(
        allocate(&b->base, &c->bytes, arrays * c->layer_bytes, "the cache", e));
    for (int i = 0; c->memory != nullptr && i < 3; i++) {
        const size_t bytes = (i < 2 ? states : numbers) * sizeof(float);
        *partials[i] =
            static_cast<float *>(allocate(&b->base, &c->bytes, bytes, "attention", e));
        if (*partials[i] == nullptr)
            return false;
    }
    return c->memory != nullptr;
}

//: cuda-cache-new
struct cache *cuda_cache_new(struct backend *b, const struct kv_shape *shape, int layers,
                             int heads, struct error *e)
{
    struct cuda_cache *c = static_cast<struct cuda_cache *>(calloc(1, sizeof *c));
    int *wave = &cuda(b)->wave[shape->type];
    if (c == nullptr) {
        failed(e, "out of memory for the cache's description");
        return nullptr;
    }
    c->shape.shape = *shape;
    c->shape.layers = layers;
    c->shape.heads = heads;
    *wave = attention_cuda_wave(shape->type, shape->head_dim);
    if (*wave == 0)
        failed(e, "CUDA: the attention kernel does not run on this device");
    if (*wave > 0 && fill_cache(cuda(b), c, e))
        return &c->shape;
    cuda_cache_free(b, &c->shape);
    return nullptr;
}

//: cuda-set
// The token and position travel through a ring of pinned places, so that the host can send
// the next while earlier ones are still on their way.
void cuda_set(struct backend *base, int token, int position)
{
    struct cuda_backend *b = cuda(base);
    const int place = static_cast<int>(b->sets++ % STEPS_REMEMBERED);
    cuda_ok(b, cudaEventSynchronize(b->sent_done[place]));
    b->sent[place] = {token, position};
    cuda_ok(b, cudaMemcpyAsync(b->state, &b->sent[place], sizeof *b->state,
                               cudaMemcpyHostToDevice, b->stream));
    cuda_ok(b, cudaEventRecord(b->sent_done[place], b->stream));
    b->position = position;
}

bool cuda_read(struct backend *base, const struct vector *v, float *out, struct error *e)
{
    struct cuda_backend *b = cuda(base);
    const size_t bytes = static_cast<size_t>(v->n) * sizeof *out;
    cuda_ok(b, cudaMemcpyAsync(out, values(v), bytes, cudaMemcpyDeviceToHost, b->stream));
    if (!cuda_ok(b, cudaStreamSynchronize(b->stream)))
        return cuda_failed(b, "reading a vector", e);
    return true;
}

//: cuda-advance
// The last launch of a step.  chosen lies in the host's memory.
__global__ void advance_kernel(struct step_state *state, int *chosen)
{
    chosen[state->position % STEPS_REMEMBERED] = state->token;
    state->position++;
}
} // namespace

void cuda_advance(struct cuda_backend *b)
{
    launch(b->stream, 1, 1, advance_kernel, b->state, b->chosen);
    cuda_ok(b, cudaGetLastError());
}

void cuda_step_begun(struct cuda_backend *b)
{
    const int place = static_cast<int>(b->steps++ % STEPS_REMEMBERED);
    cuda_ok(b, cudaEventRecord(b->step_done[place], b->stream));
    b->chosen_at[place] = b->position++;
}

//: cuda-step
namespace
{
bool cuda_begin(struct backend *b, enum step_kind, int bucket)
{
    cuda(b)->bucket = bucket; // nothing is recorded here: the calls launch
    return true;
}

void cuda_end(struct backend *b)
{
    cuda_advance(cuda(b));
    cuda_step_begun(cuda(b));
}

bool cuda_token(struct backend *base, long step, int *token, struct error *e)
{
    struct cuda_backend *b = cuda(base);
    if (step < 0 || step >= b->steps || step < b->steps - STEPS_REMEMBERED)
        return failed(e, "the token of step %ld is no longer known", step);
    const int place = static_cast<int>(step % STEPS_REMEMBERED);
    if (!cuda_ok(b, cudaEventSynchronize(b->step_done[place])))
        return cuda_failed(b, "decoding", e);
    *token = b->chosen[b->chosen_at[place] % STEPS_REMEMBERED];
    return true;
}

//: cuda-available
size_t cuda_available(struct backend *b)
{
    size_t left = 0, total = 0;
    (void)b;
    return cudaMemGetInfo(&left, &total) == cudaSuccess ? left : 0;
}

// Reads with every thread 16 bytes at a time; the sum is written so that no read is
// dropped.
__global__ void read_kernel(const int4 *from, size_t count, int *sums)
{
    const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
    const size_t self = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    int sum = 0;
    for (size_t i = self; i < count; i += threads) {
        const int4 v = from[i];
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    sums[self] = sum;
}

//: cuda-bandwidth
// Seconds of one reading of count 16-byte words, the best of five after one to warm up.
double time_reading(struct cuda_backend *b, const int4 *from, size_t count, int *sums,
                    int blocks)
{
    cudaEvent_t start, stop;
    float best = 0;
    cuda_ok(b, cudaEventCreate(&start));
    cuda_ok(b, cudaEventCreate(&stop));
    for (int pass = 0; pass < 6; pass++) {
        float ms = 0;
        cuda_ok(b, cudaEventRecord(start, b->stream));
        launch(b->stream, blocks, 1024, read_kernel, from, count, sums);
        cuda_ok(b, cudaEventRecord(stop, b->stream));
        cuda_ok(b, cudaEventSynchronize(stop));
        cuda_ok(b, cudaEventElapsedTime(&ms, start, stop));
        best = pass == 1 || (pass > 1 && ms < best) ? ms : best;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return 1e-3 * static_cast<double>(best);
}

//: cuda-bandwidth-measure
double cuda_read_bandwidth(struct backend *base, struct error *e)
{
    struct cuda_backend *b = cuda(base);
    size_t bytes = static_cast<size_t>(2) << 30, room = cuda_available(base);
    int sms = 0, *sums = nullptr;
    uint8_t *memory = nullptr;
    while (bytes > room / 2)
        bytes /= 2;
    cuda_ok(b, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    const int blocks = 4 * sms;
    cuda_ok(b, cudaMalloc(&memory, bytes));
    cuda_ok(b, cudaMalloc(&sums, static_cast<size_t>(blocks) * 1024 * sizeof *sums));
    double seconds = 0;
    if (cuda_ok(b, cudaMemsetAsync(memory, 1, bytes, b->stream)))
        seconds = time_reading(b, reinterpret_cast<const int4 *>(memory), bytes / 16, sums,
                               blocks);
    cudaFree(memory);
    cudaFree(sums);
    if (!cuda_ok(b, cudaGetLastError()) || !(seconds > 0)) {
        cuda_failed(b, "measuring the read bandwidth", e);
        return 0;
    }
    return static_cast<double>(bytes) / seconds;
}

//: cuda-embed-swiglu
void cuda_embed(struct backend *b, struct vector *x, const struct weight *table)
{
    const int *token = &cuda(b)->state->token;
    if (table->type == TENSOR_Q4_K)
        embed_q4k_cuda(values(x), data(table), token, table->rows, table->columns,
                       cuda(b)->stream);
    else
        embed_cuda(values(x), data(table), table->type, token, table->rows, table->columns,
                   cuda(b)->stream);
    device(x)->quantized = false;
    cuda_ok(cuda(b), cudaGetLastError());
}

void cuda_swiglu(struct backend *b, struct vector *y, const struct vector *gate,
                 const struct vector *up)
{
    struct cuda_vector *out = device(y);
    swiglu_cuda(out->values, out->blocks, values(gate), values(up), y->n, cuda(b)->stream);
    out->quantized = out->blocks != nullptr;
    cuda_ok(cuda(b), cudaGetLastError());
}

//: cuda-norm
void cuda_rmsnorm(struct backend *b, struct vector *y, const struct vector *x,
                  const struct weight *w, float epsilon)
{
    struct cuda_vector *out = device(y);
    out->quantized = out->blocks != nullptr;
    if (out->quantized)
        rmsnorm_q8_1_cuda(out->values, out->blocks, values(x), floats(w), epsilon,
                          w->columns, cuda(b)->stream);
    else
        rmsnorm_cuda(out->values, values(x), floats(w), epsilon, 1, w->columns,
                     cuda(b)->stream);
    cuda_ok(cuda(b), cudaGetLastError());
}

// The q8_1 form of x: what its producer left, or else made here, once for all GEMVs of x.
const struct block_q8_1 *quantized(struct backend *b, struct vector *x)
{
    struct cuda_vector *v = device(x);
    if (!v->quantized)
        q8_1_cuda(v->blocks, v->values, x->n, cuda(b)->stream);
    v->quantized = true;
    return v->blocks;
}

//: cuda-gemv
void gemv(struct backend *b, struct vector *y, const struct weight *w, struct vector *x,
          const float *residual)
{
    cudaStream_t stream = cuda(b)->stream;
    if (w->type == TENSOR_Q4_K)
        gemv_q4k_cuda(values(y), data(w), quantized(b, x), residual, w->rows, w->columns,
                      stream);
    else if (w->type == TENSOR_Q6_K)
        gemv_q6k_cuda(values(y), reinterpret_cast<const struct block_q6k *>(data(w)),
                      quantized(b, x), residual, w->rows, w->columns, stream);
    else
        gemv_float_cuda(values(y), data(w), w->type, values(x), residual, w->rows,
                        w->columns, stream);
    device(y)->quantized = false;
    cuda_ok(cuda(b), cudaGetLastError());
}

//: cuda-gemv-verbs
void cuda_gemv(struct backend *b, struct vector *y, const struct weight *w,
               struct vector *x)
{
    gemv(b, y, w, x, nullptr);
}

void cuda_gemv_add(struct backend *b, struct vector *y, const struct weight *w,
                   struct vector *x)
{
    gemv(b, y, w, x, values(y)); // the epilogue adds what y held
}

//: cuda-gemv-group
void cuda_gemv_group(struct backend *b, struct vector *const *y,
                     const struct weight *const *w, int count, struct vector *x)
{
    struct gemv_q4k_matrix group[BACKEND_GROUP];
    int grouped = 0;
    for (int i = 0; i < count; i++) {
        if (w[i]->type == TENSOR_Q4_K)
            group[grouped++] = {values(y[i]), data(w[i]), nullptr, w[i]->rows};
        else
            gemv(b, y[i], w[i], x, nullptr);
        device(y[i])->quantized = false;
    }
    if (grouped > 0)
        gemv_q4k_group_cuda(group, grouped, quantized(b, x), x->n, cuda(b)->stream);
    cuda_ok(cuda(b), cudaGetLastError());
}

//: cuda-attention
void cuda_qk_norm_rope(struct backend *b, struct vector *q, struct vector *k,
                       const struct weight *q_norm, const struct weight *k_norm,
                       const struct qk_shape *shape)
{
    qk_norm_rope_cuda(values(q), values(k), floats(q_norm), floats(k_norm),
                      &cuda(b)->state->position, shape, cuda(b)->stream);
    device(q)->quantized = false;
    device(k)->quantized = false;
    cuda_ok(cuda(b), cudaGetLastError());
}

uint8_t *layer_keys(struct cuda_cache *c, int layer)
{
    return c->memory + 2 * static_cast<size_t>(layer) * c->layer_bytes;
}

void cuda_append(struct backend *b, struct cache *c, int layer, const struct vector *k,
                 const struct vector *v)
{
    struct cuda_cache *cache = reinterpret_cast<struct cuda_cache *>(c);
    uint8_t *keys = layer_keys(cache, layer);
    kv_append_cuda(keys, keys + cache->layer_bytes, values(k), values(v),
                   &cuda(b)->state->position, &c->shape, cuda(b)->stream);
    cuda_ok(cuda(b), cudaGetLastError());
}

//: cuda-attend
void cuda_attend(struct backend *base, struct vector *out, const struct vector *q,
                 struct cache *c, int layer)
{
    struct cuda_backend *b = cuda(base);
    struct cuda_cache *cache = reinterpret_cast<struct cuda_cache *>(c);
    struct cuda_vector *to = device(out);
    uint8_t *keys = layer_keys(cache, layer);
    const int splits = split_count(b->bucket, c->heads, b->wave[c->shape.type]);
    attention_cuda(&cache->partials, values(q), keys, keys + cache->layer_bytes, &c->shape,
                   c->heads, &b->state->position, splits, b->stream);
    split_merge_cuda(to->values, to->blocks, &cache->partials, c->heads, splits,
                     c->shape.head_dim, b->stream);
    to->quantized = to->blocks != nullptr;
    cuda_ok(b, cudaGetLastError());
}

//: cuda-free
void cuda_free(struct backend *base)
{
    struct cuda_backend *b = cuda(base);
    if (b->stream != nullptr)
        cudaStreamSynchronize(b->stream);
    for (int i = 0; i < STEPS_REMEMBERED; i++) {
        if (b->sent_done[i] != nullptr)
            cudaEventDestroy(b->sent_done[i]);
        if (b->step_done[i] != nullptr)
            cudaEventDestroy(b->step_done[i]);
    }
    for (int i = 0; i < STAGING_BUFFERS; i++) {
        if (b->staged[i] != nullptr)
            cudaEventDestroy(b->staged[i]);
        cudaFreeHost(b->staging[i]);
    }
    cudaFreeHost(b->sent);
    cudaFreeHost(b->chosen);
    cudaFree(b->unpacked);
    cudaFree(b->state);
    cudaFree(b->pairs);
    if (b->stream != nullptr)
        cudaStreamDestroy(b->stream);
    free(b);
}

//: cuda-ops
struct backend_ops make_ops()
{
    struct backend_ops ops = {};
    ops.free = cuda_free;
    ops.weight_new = cuda_weight_new;
    ops.weight_free = cuda_weight_free;
    ops.vector_new = cuda_vector_new;
    ops.vector_free = cuda_vector_free;
    ops.cache_new = cuda_cache_new;
    ops.cache_free = cuda_cache_free;
    ops.set = cuda_set;
    ops.begin = cuda_begin;
    ops.end = cuda_end;
    ops.token = cuda_token;
    ops.read = cuda_read;
    ops.available = cuda_available;
    ops.read_bandwidth = cuda_read_bandwidth;
    //: cuda-ops-verbs
    ops.embed = cuda_embed;
    ops.rmsnorm = cuda_rmsnorm;
    ops.gemv = cuda_gemv;
    ops.gemv_add = cuda_gemv_add;
    ops.gemv_group = cuda_gemv_group;
    ops.qk_norm_rope = cuda_qk_norm_rope;
    ops.append = cuda_append;
    ops.attend = cuda_attend;
    ops.swiglu = cuda_swiglu;
    ops.argmax = cuda_argmax;
    return ops;
}

const struct backend_ops cuda_ops = make_ops();

//: cuda-make
bool make_events(struct cuda_backend *b)
{
    for (int i = 0; i < STEPS_REMEMBERED; i++) {
        cuda_ok(b, cudaEventCreateWithFlags(&b->sent_done[i], cudaEventDisableTiming));
        cuda_ok(b, cudaEventCreateWithFlags(&b->step_done[i], cudaEventDisableTiming));
    }
    for (int i = 0; i < STAGING_BUFFERS; i++)
        cuda_ok(b, cudaEventCreateWithFlags(&b->staged[i], cudaEventDisableTiming));
    return b->failure == cudaSuccess;
}

bool make_memory(struct cuda_backend *b)
{
    const unsigned plain = cudaHostAllocDefault;
    cuda_ok(b, cudaMalloc(&b->state, sizeof *b->state));
    cuda_ok(b, cudaMalloc(&b->unpacked, STAGING_BYTES));
    cuda_ok(b, cudaHostAlloc(&b->sent, STEPS_REMEMBERED * sizeof *b->sent, plain));
    cuda_ok(b, cudaHostAlloc(&b->chosen, STEPS_REMEMBERED * sizeof *b->chosen, plain));
    for (int i = 0; i < STAGING_BUFFERS; i++)
        cuda_ok(b, cudaHostAlloc(&b->staging[i], STAGING_BYTES, plain));
    return b->failure == cudaSuccess;
}
} // namespace

//: cuda-present
bool backend_cuda_present(struct error *e)
{
    int devices = 0;
    cudaDeviceProp properties;
    cudaError_t result = cudaGetDeviceCount(&devices);
    if (result == cudaSuccess && devices > 0)
        result = cudaGetDeviceProperties(&properties, 0);
    if (result != cudaSuccess || devices == 0) {
        cudaGetLastError();
        return failed(e, "no CUDA device: %s",
                      result != cudaSuccess ? cudaGetErrorString(result)
                                            : "none was found");
    }
    const int capability = 10 * properties.major + properties.minor;
    if (capability < 89)
        return failed(e, "%s has compute capability %d.%d, expected 8.9 or later",
                      properties.name, properties.major, properties.minor);
    return true;
}

//: cuda-new
struct backend *backend_cuda_new(const struct backend_options *options, struct error *e)
{
    (void)options;
    cudaDeviceProp properties;
    if (!backend_cuda_present(e))
        return nullptr;
    struct cuda_backend *b = static_cast<struct cuda_backend *>(calloc(1, sizeof *b));
    if (b == nullptr) {
        failed(e, "out of memory for the CUDA backend");
        return nullptr;
    }
    b->base.ops = &cuda_ops;
    b->base.name = "cuda";
    b->base.run_ahead = 2;
    cuda_ok(b, cudaGetDeviceProperties(&properties, 0));
    snprintf(b->base.device, sizeof b->base.device, "%s", properties.name);
    if (cuda_ok(b, cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking)) &&
        make_events(b) && make_memory(b))
        return &b->base;
    cuda_failed(b, "starting", e);
    cuda_free(&b->base);
    return nullptr;
}
