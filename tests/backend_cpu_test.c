// The CPU backend: every verb gives what its oracle gives, on weights made up here,
// whatever the number of threads; a vector is quantized once for all that multiply it.
#include "backend_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "argmax.h"
#include "attention.h"
#include "blocks.h"
#include "embed.h"
#include "gemv_float.h"
#include "gemv_q4k.h"
#include "gemv_q6k.h"
#include "main.h"
#include "q8_1.h"
#include "residual.h"
#include "rmsnorm.h"
#include "split_count.h"
#include "split_merge.h"
#include "swiglu.h"

static struct backend *backend;
static struct error e;

static void open_with(int threads)
{
    const struct backend_options options = {.kv = KV_F16, .threads = threads};
    backend = backend_cpu_new(&options, &e);
    ck_assert_msg(backend != NULL, "%s", e.text);
}

static void setup(void)
{
    open_with(2);
}

static void teardown(void)
{
    backend_free(backend);
}

//: backend-cpu-test-tools
// A tensor of random blocks; free its data.
static struct gguf_tensor make_tensor(enum tensor_type type, int rows, int columns,
                                      int seed)
{
    struct random r = {(uint64_t)seed};
    struct block_layout layout = tensor_layout(type);
    size_t blocks = (size_t)rows * (size_t)(columns / layout.block_values);
    size_t bytes = blocks * (size_t)layout.block_bytes;
    void *data = malloc(bytes);
    ck_assert_ptr_nonnull(data);
    random_blocks(&r, data, type, blocks);
    return (struct gguf_tensor){{0}, type, 2, {columns, rows, 1, 1}, data, bytes};
}

static struct weight *make_weight(const struct gguf_tensor *t)
{
    struct weight *w = backend_weight_new(backend, t, &e);
    ck_assert_msg(w != NULL, "%s", e.text);
    return w;
}

static struct vector *make_vector(int n)
{
    struct vector *v = backend_vector_new(backend, n, &e);
    ck_assert_msg(v != NULL, "%s", e.text);
    return v;
}

static float *read_vector(const struct vector *v) // free it
{
    float *values = malloc((size_t)v->n * sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_assert(backend_read(backend, v, values, &e));
    return values;
}

//: backend-cpu-test-set
// Puts values into a vector as a model would: as a row of an embedding table.
static void set_vector(struct vector *v, const float *values)
{
    const struct gguf_tensor t = {
        {0}, TENSOR_F32, 2, {v->n, 1, 1, 1}, values, (size_t)v->n * sizeof *values};
    struct weight *table = make_weight(&t);
    backend_set(backend, 0, 0);
    backend_embed(backend, v, table);
    backend_weight_free(backend, table);
}

static struct vector *random_vector(int n, int seed, float *values)
{
    struct vector *v = make_vector(n);
    random_fill(values, n, seed, 1);
    set_vector(v, values);
    return v;
}

static void check_vector(const struct vector *v, const float *expected)
{
    float *found = read_vector(v);
    ck_assert_mem_eq(found, expected, (size_t)v->n * sizeof *found);
    free(found);
}

//: backend-cpu-test-oracle
static void multiply(float *y, const struct gguf_tensor *t, const float *x)
{
    const int rows = (int)t->extent[1], columns = (int)t->extent[0];
    struct block_q8_1 blocks[32];
    ck_assert_int_le(columns, 1024);
    if (columns % 32 == 0)
        q8_1_cpu(blocks, x, columns);
    if (t->type == TENSOR_Q4_K)
        gemv_q4k_cpu(y, t->data, blocks, rows, columns);
    else if (t->type == TENSOR_Q6_K)
        gemv_q6k_cpu(y, t->data, blocks, rows, columns);
    else
        gemv_float_cpu(y, t->data, t->type, x, rows, columns);
}

//: backend-cpu-test-gemv
static void check_gemv(enum tensor_type type, int rows, int columns)
{
    float x[1024], y[64], sum[64], product[64];
    struct gguf_tensor t = make_tensor(type, rows, columns, rows + columns);
    struct weight *w = make_weight(&t);
    struct vector *in = random_vector(columns, 1, x), *out = random_vector(rows, 2, sum);
    multiply(product, &t, x);
    backend_gemv_add(backend, out, w, in);
    residual_add_cpu(y, sum, product, rows);
    check_vector(out, y);
    backend_gemv(backend, out, w, in);
    check_vector(out, product);
    backend_vector_free(backend, in);
    backend_vector_free(backend, out);
    backend_weight_free(backend, w);
    free((void *)t.data);
}

START_TEST(gemv_of_every_type_and_many_heights_equals_its_oracle)
{
    const int rows[] = {1, 16, 17, 33, 64};
    for (int type = 0; type < 7; type++)
        for (int i = 0; i < 5; i++) {
            check_gemv(all_types[type], rows[i], 256);
            check_gemv(all_types[type], rows[i], 768);
        }
    check_gemv(TENSOR_F32, 33, 31); // no whole q8_1 blocks, and none are needed
    check_gemv(TENSOR_F16, 1, 1);
}
END_TEST

//: backend-cpu-test-group
START_TEST(a_group_gives_the_bits_of_one_matrix_after_another)
{
    float x[256], y[33];
    const int rows[] = {33, 16, 1};
    const enum tensor_type types[] = {TENSOR_Q4_K, TENSOR_Q6_K, TENSOR_Q8_0};
    struct gguf_tensor t[3];
    struct weight *w[3];
    struct vector *in = random_vector(256, 1, x), *out[3];
    for (int i = 0; i < 3; i++) {
        t[i] = make_tensor(types[i], rows[i], 256, i);
        w[i] = make_weight(&t[i]);
        out[i] = make_vector(rows[i]);
    }
    backend_gemv_group(backend, out, (const struct weight *[]){w[0], w[1], w[2]}, 3, in);
    for (int i = 0; i < 3; i++) {
        multiply(y, &t[i], x);
        check_vector(out[i], y);
        backend_vector_free(backend, out[i]);
        backend_weight_free(backend, w[i]);
        free((void *)t[i].data);
    }
    backend_vector_free(backend, in);
}
END_TEST

//: backend-cpu-test-retained
// No verb can tell whether the second GEMV quantized again: so we change the floats behind
// the backend's back, where the q8_1 form that it kept must not notice.
START_TEST(a_vector_is_quantized_once_for_all_that_multiply_it)
{
    struct seen {
        struct vector shape;
        float *values;
    };
    float x[256], product[64];
    struct gguf_tensor t = make_tensor(TENSOR_Q4_K, 64, 256, 5);
    struct weight *w = make_weight(&t);
    struct vector *in = random_vector(256, 1, x), *out = make_vector(64);
    multiply(product, &t, x);
    backend_gemv(backend, out, w, in);
    ((struct seen *)in)->values[0] += 100;
    backend_gemv(backend, out, w, in);
    check_vector(out, product);
    backend_vector_free(backend, in);
    backend_vector_free(backend, out);
    backend_weight_free(backend, w);
    free((void *)t.data);
}
END_TEST

//: backend-cpu-test-overwrite
// One verb of five writes v.
static void overwrite(int verb, struct vector *v, struct vector *other, struct weight *w,
                      struct weight *norm, const float *x)
{
    if (verb == 0)
        backend_gemv(backend, v, w, other);
    else if (verb == 1)
        backend_gemv_add(backend, v, w, other);
    else if (verb == 2)
        backend_rmsnorm(backend, v, other, norm, 1e-6f);
    else if (verb == 3)
        backend_swiglu(backend, v, other, other);
    else
        set_vector(v, x);
}

//: backend-cpu-test-stale
START_TEST(what_was_quantized_is_forgotten_when_the_vector_changes)
{
    float x[256], product[256], fresh[256];
    struct gguf_tensor t = make_tensor(TENSOR_Q4_K, 256, 256, 5);
    struct gguf_tensor norm = make_tensor(TENSOR_F32, 1, 256, 6);
    struct weight *w = make_weight(&t), *norm_weight = make_weight(&norm);
    struct vector *v = random_vector(256, 1, x), *out = make_vector(256);
    for (int verb = 0; verb < 5; verb++) {
        random_fill(fresh, 256, 10 + verb, 1);
        set_vector(v, fresh);
        backend_gemv(backend, out, w, v); // quantizes v
        overwrite(verb, v, out, w, norm_weight, x);
        float *now = read_vector(v);
        multiply(product, &t, now);
        backend_gemv(backend, out, w, v);
        check_vector(out, product);
        free(now);
    }
    backend_vector_free(backend, v);
    backend_vector_free(backend, out);
    backend_weight_free(backend, w);
    backend_weight_free(backend, norm_weight);
    free((void *)t.data), free((void *)norm.data);
}
END_TEST

//: backend-cpu-test-elementwise
START_TEST(embedding_norm_and_swiglu_equal_their_oracles)
{
    float x[256], y[256], up[256];
    for (int type = 0; type < 7; type++) {
        struct gguf_tensor t = make_tensor(all_types[type], 5, 256, 40 + type);
        struct weight *table = make_weight(&t);
        struct vector *v = make_vector(256);
        backend_set(backend, 3, 0);
        backend_embed(backend, v, table);
        embed_cpu(x, t.data, t.type, 3, 256);
        check_vector(v, x);
        backend_vector_free(backend, v);
        backend_weight_free(backend, table);
        free((void *)t.data);
    }
    struct gguf_tensor norm = make_tensor(TENSOR_F32, 1, 256, 9);
    struct weight *w = make_weight(&norm);
    struct vector *v = random_vector(256, 1, x), *u = random_vector(256, 2, up);
    struct vector *out = make_vector(256);
    backend_rmsnorm(backend, out, v, w, 0.5f);
    rmsnorm_cpu(y, x, norm.data, 0.5f, 1, 256);
    check_vector(out, y);
    backend_swiglu(backend, out, v, u);
    swiglu_cpu(y, NULL, x, up, 256);
    check_vector(out, y);
    backend_vector_free(backend, v);
    backend_vector_free(backend, u);
    backend_vector_free(backend, out);
    backend_weight_free(backend, w);
    free((void *)norm.data);
}
END_TEST

//: backend-cpu-test-attention
// Four query heads and two key heads of 16 values: 40 steps through the backend, in the
// second of two layers, against the oracles on arrays of our own.
enum { HEADS = 4, KV_HEADS = 2, HEAD_DIM = 16, CONTEXT = 600, QUERY = HEADS * HEAD_DIM };
enum { KEY = KV_HEADS * HEAD_DIM };

struct own_cache {
    struct kv_shape shape;
    struct attention_partials partials;
    unsigned char *keys, *values;
};

static struct own_cache own_cache_new(enum kv_type type)
{
    struct own_cache c = {.shape = {type, KV_HEADS, CONTEXT, HEAD_DIM}};
    c.partials.maxima = calloc(HEADS * MAX_SPLITS, sizeof(float));
    c.partials.sums = calloc(HEADS * MAX_SPLITS, sizeof(float));
    c.partials.numerators = calloc(HEADS * MAX_SPLITS * HEAD_DIM, sizeof(float));
    c.keys = calloc(1, kv_bytes(&c.shape));
    c.values = calloc(1, kv_bytes(&c.shape));
    return c;
}

static void own_cache_free(struct own_cache *c)
{
    free(c->partials.maxima), free(c->partials.sums), free(c->partials.numerators);
    free(c->keys), free(c->values);
}

static const struct qk_shape turns = {HEADS, KV_HEADS, HEAD_DIM, 1e-6f, 10000};

static void own_attention(struct own_cache *c, float *out, float *q, float *k,
                          const float *v, const float *norms, int position)
{
    const int splits = split_count(context_bucket(position + 1, CONTEXT), HEADS, 128 * 9);
    qk_norm_rope_cpu(q, k, norms, norms + HEAD_DIM, position, &turns);
    kv_append_cpu(c->keys, c->values, k, v, position, &c->shape);
    attention_cpu(&c->partials, q, c->keys, c->values, &c->shape, HEADS, position + 1,
                  splits);
    split_merge_cpu(out, NULL, &c->partials, HEADS, splits, HEAD_DIM);
}

//: backend-cpu-test-attention-steps
static void check_attention(enum kv_type type, int from, int to)
{
    float q[QUERY], k[KEY], v[KEY], out[QUERY];
    struct own_cache own = own_cache_new(type);
    struct gguf_tensor norms = make_tensor(TENSOR_F32, 2, HEAD_DIM, 4), half[2];
    struct weight *w[2];
    for (int i = 0; i < 2; i++) {
        half[i] = norms;
        half[i].extent[1] = 1;
        half[i].data = (const float *)norms.data + i * HEAD_DIM;
        w[i] = make_weight(&half[i]);
    }
    struct cache *cache = backend_cache_new(backend, &own.shape, 2, HEADS, &e);
    ck_assert_ptr_nonnull(cache);
    for (int i = from; i < to; i++) {
        struct vector *qs = random_vector(QUERY, 3 * i, q);
        struct vector *ks = random_vector(KEY, 3 * i + 1, k);
        struct vector *vs = random_vector(KEY, 3 * i + 2, v), *result = make_vector(QUERY);
        backend_set(backend, 0, i);
        ck_assert(backend_begin(backend, STEP_LOGITS, context_bucket(i + 1, CONTEXT)));
        backend_qk_norm_rope(backend, qs, ks, w[0], w[1], &turns);
        backend_append(backend, cache, 1, ks, vs);
        backend_append(backend, cache, 0, vs, ks); // another layer, other numbers
        backend_attend(backend, result, qs, cache, 1);
        backend_end(backend);
        own_attention(&own, out, q, k, v, norms.data, i);
        check_vector(qs, q);
        check_vector(result, out);
        struct vector *all[] = {qs, ks, vs, result};
        for (int j = 0; j < 4; j++)
            backend_vector_free(backend, all[j]);
    }
    backend_cache_free(backend, cache);
    backend_weight_free(backend, w[0]);
    backend_weight_free(backend, w[1]);
    free((void *)norms.data);
    own_cache_free(&own);
}

START_TEST(attention_through_the_backend_equals_the_oracles)
{
    check_attention(KV_F16, 0, 40);
    check_attention(KV_F32, 0, 40);
    check_attention(KV_F16, 508, 516); // a longer history of zeros, over a bucket's edge
}
END_TEST

//: backend-cpu-test-threads
START_TEST(several_thread_counts_give_the_same_bits)
{
    enum { ROWS = 1100, COLUMNS = 1024 }; // enough work for a team, and a ragged end
    static float x[COLUMNS], one[ROWS], many[ROWS];
    const enum tensor_type types[] = {TENSOR_Q4_K, TENSOR_Q6_K, TENSOR_F16};
    for (int type = 0; type < 3; type++) {
        struct gguf_tensor t = make_tensor(types[type], ROWS, COLUMNS, type);
        for (int threads = 1; threads <= 5; threads += 2) {
            teardown();
            open_with(threads);
            struct weight *w = make_weight(&t);
            struct vector *in = random_vector(COLUMNS, 1, x), *out = make_vector(ROWS);
            backend_gemv(backend, out, w, in);
            ck_assert(backend_read(backend, out, threads == 1 ? one : many, &e));
            if (threads > 1)
                ck_assert_mem_eq(one, many, sizeof one);
            backend_vector_free(backend, in);
            backend_vector_free(backend, out);
            backend_weight_free(backend, w);
        }
        free((void *)t.data);
    }
}
END_TEST

//: backend-cpu-test-steps
START_TEST(a_greedy_step_leaves_its_token_and_moves_on)
{
    float logits[5] = {1, 3, 2, 3, -1};
    int token;
    struct vector *v = make_vector(5);
    set_vector(v, logits);
    backend_set(backend, 0, 7);
    ck_assert(!backend_token(backend, 0, &token, &e)); // none has been taken
    ck_assert(backend_begin(backend, STEP_GREEDY, 512));
    backend_argmax(backend, v);
    backend_end(backend);
    ck_assert(backend_token(backend, 0, &token, &e));
    ck_assert_int_eq(token, 1); // of equals the first
    ck_assert(!backend_token(backend, 1, &token, &e));
    ck_assert_str_eq(e.text, "the token of step 1 is no longer known");
    backend_vector_free(backend, v);
}
END_TEST

START_TEST(what_is_freed_is_no_longer_in_use)
{
    struct gguf_tensor t = make_tensor(TENSOR_Q4_K, 2, 256, 1);
    const struct kv_shape shape = {KV_F16, 2, 10, 8};
    struct weight *w = make_weight(&t);
    ck_assert_uint_eq(backend->bytes_in_use, 2 * 144);
    struct vector *v = make_vector(64), *odd = make_vector(3);
    ck_assert_uint_eq(backend->bytes_in_use, 2 * 144 + 64 * 4 + 2 * 36 + 3 * 4);
    struct cache *c = backend_cache_new(backend, &shape, 3, 4, &e);
    ck_assert_uint_eq(backend->bytes_in_use, 628 + 3 * 2 * 2 * 10 * 8 * 2);
    backend_cache_free(backend, c);
    backend_vector_free(backend, v);
    backend_vector_free(backend, odd);
    backend_weight_free(backend, w);
    ck_assert_uint_eq(backend->bytes_in_use, 0);
    free((void *)t.data);
}
END_TEST

START_TEST(a_cache_beyond_any_memory_is_refused)
{
    const struct kv_shape large = {KV_F32, 1 << 10, 1 << 24, 1 << 10};
    const struct kv_shape beyond = {KV_F32, 1 << 30, 1 << 30, 1 << 30};
#ifndef __SANITIZE_ADDRESS__ // which ends the program where so much is asked for
    ck_assert_ptr_null(backend_cache_new(backend, &large, 1 << 10, 1 << 10, &e));
    ck_assert_ptr_nonnull(
        strstr(e.text, "out of memory for a cache of 16777216 positions"));
#endif
    (void)large;
    ck_assert_ptr_null(backend_cache_new(backend, &beyond, 2, 1 << 30, &e));
    ck_assert_str_eq(e.text, "the cache of 1073741824 positions is too large");
    ck_assert_uint_eq(backend->bytes_in_use, 0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("backend_cpu");
    TCase *core = tcase_create("core"), *limits = tcase_create("limits");
    tcase_add_checked_fixture(core, setup, teardown);
    tcase_add_checked_fixture(limits, setup, teardown);
    tcase_set_timeout(core, 60);
    tcase_add_test(core, gemv_of_every_type_and_many_heights_equals_its_oracle);
    tcase_add_test(core, a_group_gives_the_bits_of_one_matrix_after_another);
    tcase_add_test(core, a_vector_is_quantized_once_for_all_that_multiply_it);
    tcase_add_test(core, what_was_quantized_is_forgotten_when_the_vector_changes);
    tcase_add_test(core, embedding_norm_and_swiglu_equal_their_oracles);
    tcase_add_test(core, attention_through_the_backend_equals_the_oracles);
    tcase_add_test(core, several_thread_counts_give_the_same_bits);
    tcase_add_test(core, a_greedy_step_leaves_its_token_and_moves_on);
    tcase_add_test(limits, what_is_freed_is_no_longer_in_use);
    tcase_add_test(limits, a_cache_beyond_any_memory_is_refused);
    suite_add_tcase(s, core);
    suite_add_tcase(s, limits);
    return s;
}
