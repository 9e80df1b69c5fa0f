// The CUDA backend beside the CPU's: the same verbs on the same weights and vectors give
// nearly the same numbers; what is loaded, kept and counted is exact; and whatever
// allocation fails, a sentence says so and nothing stays allocated.
#include "cuda/cuda_state.h"

#include <math.h>
#include <string.h>

#include <string>

#include "gemv.h"

extern "C" {
#include "backend_cpu.h"
#include "blocks.h"
#include "q4k_repack.h"
#include "split_count.h"
}

namespace
{
struct error e;

//: backend-cuda-test-pair
// Both backends, and a weight or vector in each.
struct pair {
    struct backend *cpu, *cuda;
};
struct weights {
    struct weight *cpu, *cuda;
};
struct vectors {
    struct vector *cpu, *cuda;
};
struct pair both;

void open_both()
{
    const struct backend_options options = {KV_F16, 2, false};
    both.cpu = backend_cpu_new(&options, &e);
    ck_assert_msg(both.cpu != NULL, "%s", e.text);
    both.cuda = backend_cuda_new(&options, &e);
    ck_assert_msg(both.cuda != NULL, "%s", e.text);
}

void close_both()
{
    backend_free(both.cpu);
    backend_free(both.cuda);
}

// A tensor of random blocks, or of given floats.
struct tensor {
    std::vector<uint8_t> data;
    struct gguf_tensor view;

    tensor(enum tensor_type type, int rows, int columns, uint64_t seed)
    {
        const struct block_layout layout = tensor_layout(type);
        const size_t blocks = static_cast<size_t>(rows * (columns / layout.block_values));
        struct random r = {seed};
        data.resize(blocks * static_cast<size_t>(layout.block_bytes));
        random_blocks(&r, data.data(), type, blocks);
        view = {{}, type, 2, {columns, rows, 1, 1}, data.data(), data.size()};
    }
    tensor(tensor &&) = default; // the data stays where it is
    explicit tensor(const std::vector<float> &x) : data(4 * x.size())
    {
        memcpy(data.data(), x.data(), data.size());
        view = {{},          TENSOR_F32, 2, {static_cast<int64_t>(x.size()), 1, 1, 1},
                data.data(), data.size()};
    }
};

//: backend-cuda-test-tools
struct weights make_weights(const struct tensor &t)
{
    struct weights w = {backend_weight_new(both.cpu, &t.view, &e),
                        backend_weight_new(both.cuda, &t.view, &e)};
    ck_assert(w.cpu != NULL);
    ck_assert_msg(w.cuda != NULL, "%s", e.text);
    return w;
}

void free_weights(const struct weights &w)
{
    backend_weight_free(both.cpu, w.cpu);
    backend_weight_free(both.cuda, w.cuda);
}

struct vectors make_vectors(int n)
{
    struct vectors v = {backend_vector_new(both.cpu, n, &e),
                        backend_vector_new(both.cuda, n, &e)};
    ck_assert(v.cpu != NULL);
    ck_assert_msg(v.cuda != NULL, "%s", e.text);
    return v;
}

void free_vectors(const struct vectors &v)
{
    backend_vector_free(both.cpu, v.cpu);
    backend_vector_free(both.cuda, v.cuda);
}

void set(int token, int position)
{
    backend_set(both.cpu, token, position);
    backend_set(both.cuda, token, position);
}

// Both vectors get these values, as the row of an embedding table.
void fill(const struct vectors &v, const std::vector<float> &x)
{
    const struct tensor t(x);
    const struct weights w = make_weights(t);
    set(0, 0);
    backend_embed(both.cpu, v.cpu, w.cpu);
    backend_embed(both.cuda, v.cuda, w.cuda);
    free_weights(w);
}

struct vectors random_vectors(int n, uint64_t seed)
{
    std::vector<float> x(static_cast<size_t>(n));
    struct random r = {seed};
    random_floats(&r, x.data(), x.size());
    const struct vectors v = make_vectors(n);
    fill(v, x);
    return v;
}

std::vector<float> read(struct backend *b, const struct vector *v)
{
    std::vector<float> x(static_cast<size_t>(v->n));
    ck_assert_msg(backend_read(b, v, x.data(), &e), "%s", e.text);
    return x;
}

void check_near(const struct vectors &v)
{
    const std::vector<float> found = read(both.cuda, v.cuda);
    note_bits(found.data(), 4 * found.size(), SAME_IN_EVERY_ORDER, __FILE__, __LINE__);
    check_close(found, read(both.cpu, v.cpu), 1e-3);
}

void check_same(const struct vectors &v)
{
    const std::vector<float> found = read(both.cuda, v.cuda),
                             expected = read(both.cpu, v.cpu);
    ck_assert_mem_eq(found.data(), expected.data(), sizeof(float) * found.size());
}

//: backend-cuda-test-gemv
void check_gemv(enum tensor_type type, int rows, int columns)
{
    const struct tensor t(type, rows, columns, static_cast<uint64_t>(rows));
    const struct weights w = make_weights(t);
    const struct vectors x = random_vectors(columns, 1), y = random_vectors(rows, 2);
    backend_gemv_add(both.cpu, y.cpu, w.cpu, x.cpu);
    backend_gemv_add(both.cuda, y.cuda, w.cuda, x.cuda);
    check_near(y);
    backend_gemv(both.cpu, y.cpu, w.cpu, x.cpu);
    backend_gemv(both.cuda, y.cuda, w.cuda, x.cuda);
    check_near(y);
    free_vectors(x);
    free_vectors(y);
    free_weights(w);
}

//: backend-cuda-test-products
START_TEST(products_of_every_type_are_near_the_cpus)
{
    for (enum tensor_type type : all_types) {
        check_gemv(type, 1, 256);
        check_gemv(type, 33, 512);
    }
    check_gemv(TENSOR_F32, 31, 33); // no whole q8_1 blocks, and none are needed
}
END_TEST

START_TEST(a_group_gives_the_bits_of_one_matrix_after_another)
{
    const enum tensor_type types[] = {TENSOR_Q4_K, TENSOR_Q6_K, TENSOR_Q4_K};
    const struct vectors x = random_vectors(512, 1);
    struct vector *together[3], *alone[3];
    const struct weight *w[3];
    std::vector<struct tensor> tensors;
    for (int i = 0; i < 3; i++) {
        tensors.emplace_back(types[i], 17 + 16 * i, 512, static_cast<uint64_t>(i));
        w[i] = backend_weight_new(both.cuda, &tensors.back().view, &e);
        together[i] = backend_vector_new(both.cuda, w[i]->rows, &e);
        alone[i] = backend_vector_new(both.cuda, w[i]->rows, &e);
        backend_gemv(both.cuda, alone[i], w[i], x.cuda);
    }
    backend_gemv_group(both.cuda, together, w, 3, x.cuda);
    for (int i = 0; i < 3; i++) {
        ck_assert(read(both.cuda, together[i]) == read(both.cuda, alone[i]));
        backend_vector_free(both.cuda, together[i]);
        backend_vector_free(both.cuda, alone[i]);
        backend_weight_free(both.cuda, const_cast<struct weight *>(w[i]));
    }
    free_vectors(x);
}
END_TEST

//: backend-cuda-test-retained
// The q8_1 form that a verb leaves beside its floats is theirs, and the next GEMV takes it
// as it is: bytes that we change there change its result.
void check_retained(struct vector *v)
{
    struct cuda_vector *seen = reinterpret_cast<struct cuda_vector *>(v);
    const std::vector<float> x = read(both.cuda, v);
    const std::vector<block_q8_1> expected = quantized(x);
    std::vector<block_q8_1> blocks(expected.size());
    const size_t bytes = blocks.size() * sizeof blocks[0];
    ck_assert(seen->quantized);
    CHECK_CUDA(cudaMemcpy(blocks.data(), seen->blocks, bytes, cudaMemcpyDeviceToHost));
    ck_assert_mem_eq(blocks.data(), expected.data(), bytes);
}

//: backend-cuda-test-producers
START_TEST(producers_leave_the_q8_1_form_and_others_take_it_away)
{
    const struct tensor norm(TENSOR_F32, 1, 256, 3), matrix(TENSOR_Q4_K, 256, 256, 4);
    const struct weights n = make_weights(norm), m = make_weights(matrix);
    const struct vectors x = random_vectors(256, 1), y = make_vectors(256);
    struct cuda_vector *seen = reinterpret_cast<struct cuda_vector *>(y.cuda);
    backend_rmsnorm(both.cuda, y.cuda, x.cuda, n.cuda, 1e-6f);
    check_retained(y.cuda);
    backend_gemv_add(both.cuda, y.cuda, m.cuda, x.cuda);
    ck_assert(!seen->quantized);
    check_retained(x.cuda); // the GEMV made and kept it
    backend_swiglu(both.cuda, y.cuda, x.cuda, x.cuda);
    check_retained(y.cuda);
    fill(y, read(both.cuda, x.cuda));
    ck_assert(!seen->quantized);
    free_vectors(x);
    free_vectors(y);
    free_weights(n);
    free_weights(m);
}
END_TEST

//: backend-cuda-test-elementwise
START_TEST(embedding_is_the_cpus_to_the_bit)
{
    for (enum tensor_type type : all_types) {
        const struct tensor t(type, 5, 256, 7);
        const struct weights w = make_weights(t);
        const struct vectors x = make_vectors(256);
        set(3, 0);
        backend_embed(both.cpu, x.cpu, w.cpu);
        backend_embed(both.cuda, x.cuda, w.cuda);
        check_same(x);
        free_vectors(x);
        free_weights(w);
    }
}
END_TEST

START_TEST(norm_and_swiglu_are_near_the_cpus_for_whole_blocks_or_not)
{
    for (int n : {1, 31, 256, 1100}) {
        const struct tensor t(TENSOR_F32, 1, n, 5);
        const struct weights w = make_weights(t);
        const struct vectors a = random_vectors(n, 1), b = random_vectors(n, 2);
        const struct vectors y = make_vectors(n);
        backend_rmsnorm(both.cpu, y.cpu, a.cpu, w.cpu, 1e-6f);
        backend_rmsnorm(both.cuda, y.cuda, a.cuda, w.cuda, 1e-6f);
        check_near(y);
        backend_swiglu(both.cpu, y.cpu, a.cpu, b.cpu);
        backend_swiglu(both.cuda, y.cuda, a.cuda, b.cuda);
        check_near(y);
        for (const struct vectors &v : {a, b, y})
            free_vectors(v);
        free_weights(w);
    }
}
END_TEST

//: backend-cuda-test-attention
// A layer's attention at each position from 0 on; the cache is filled at all of them, and
// looked at where `looks` says.  The middle of three layers.
const struct qk_shape turns = {2, 1, 32, 1e-6f, 10000};

void attend_at(struct backend *b, struct vector *const v[4], struct weight *norm,
               struct cache *c, int position, bool looks)
{
    const int context = c->shape.max_context;
    ck_assert(backend_begin(b, looks ? STEP_LOGITS : STEP_PROMPT,
                            context_bucket(position + 1, context)));
    if (looks)
        backend_qk_norm_rope(b, v[0], v[1], norm, norm, &turns);
    backend_append(b, c, 0, v[2], v[1]); // other layers get something else
    backend_append(b, c, 1, v[1], v[2]);
    backend_append(b, c, 2, v[2], v[1]);
    if (looks)
        backend_attend(b, v[3], v[0], c, 1);
    backend_end(b);
}

void check_attention(enum kv_type type, int context, const std::vector<int> &looks)
{
    const struct kv_shape shape = {type, 1, context, 32};
    const struct tensor t(TENSOR_F32, 1, 32, 6);
    const struct weights norm = make_weights(t);
    struct cache *caches[] = {backend_cache_new(both.cpu, &shape, 3, 2, &e),
                              backend_cache_new(both.cuda, &shape, 3, 2, &e)};
    ck_assert(caches[0] != NULL && caches[1] != NULL);
    const struct vectors v[4] = {random_vectors(64, 1), random_vectors(32, 2),
                                 random_vectors(32, 3), make_vectors(64)};
    struct vector *cpu[4], *cuda[4];
    for (int i = 0; i < 4; i++)
        cpu[i] = v[i].cpu, cuda[i] = v[i].cuda;
    size_t next = 0;
    for (int i = 0; i <= looks.back(); i++) {
        const bool look = i == looks[next];
        set(0, i);
        attend_at(both.cpu, cpu, norm.cpu, caches[0], i, look);
        attend_at(both.cuda, cuda, norm.cuda, caches[1], i, look);
        if (!look)
            continue;
        check_near(v[0]);
        check_near(v[3]);
        next++;
    }
    for (const struct vectors &one : v)
        free_vectors(one);
    free_weights(norm);
    backend_cache_free(both.cpu, caches[0]);
    backend_cache_free(both.cuda, caches[1]);
}

START_TEST(attention_is_near_the_cpus_on_both_sides_of_a_buckets_edge)
{
    check_attention(KV_F16, 40, {0, 1, 2, 31, 32, 39});
    check_attention(KV_F32, 40, {0, 33, 39});
#ifndef SIMT_RACE
    check_attention(KV_F16, 700, {510, 511, 512, 513});
#endif
}
END_TEST

int position_on_device()
{
    struct step_state state;
    CHECK_CUDA(cudaMemcpy(&state, reinterpret_cast<struct cuda_backend *>(both.cuda)->state,
                          sizeof state, cudaMemcpyDeviceToHost));
    return state.position;
}

//: backend-cuda-test-steps
START_TEST(steps_count_positions_and_keep_the_newest_tokens)
{
    const struct vectors v = make_vectors(2100); // argmax takes three partial results
    std::vector<float> logits(2100, -1.0f);
    logits[1500] = logits[2000] = 4;
    fill(v, logits);
    int token = 0;
    ck_assert(!backend_token(both.cuda, 0, &token, &e));
    backend_set(both.cuda, 77, 3);
    for (int i = 0; i < 70; i++) {
        ck_assert(backend_begin(both.cuda, i % 2 ? STEP_GREEDY : STEP_PROMPT, 512));
        if (i == 40)
            backend_argmax(both.cuda, v.cuda); // from here on this token goes round
        backend_end(both.cuda);
    }
    for (long step : {69L, 41L, 40L, 39L, 6L}) {
        ck_assert_msg(backend_token(both.cuda, step, &token, &e), "%s", e.text);
        ck_assert_int_eq(token, step < 40 ? 77 : 1500);
    }
    ck_assert(!backend_token(both.cuda, 5, &token, &e)); // 64 are remembered
    ck_assert(!backend_token(both.cuda, 70, &token, &e));
    ck_assert_int_eq(position_on_device(), 73);
    free_vectors(v);
}
END_TEST

//: backend-cuda-test-no-number
START_TEST(no_number_among_the_logits_is_told_as_no_token)
{
    const struct vectors v = make_vectors(3);
    fill(v, {NAN, NAN, NAN});
    int token = 0;
    ck_assert(backend_begin(both.cuda, STEP_GREEDY, 512));
    backend_argmax(both.cuda, v.cuda);
    backend_end(both.cuda);
    ck_assert(backend_token(both.cuda, 0, &token, &e));
    ck_assert_int_eq(token, -1);
    free_vectors(v);
}
END_TEST

//: backend-cuda-test-loading
void check_loaded(const struct tensor &t, struct weight *w)
{
    std::vector<uint8_t> expected = t.data, found(t.data.size());
    if (t.view.type == TENSOR_Q4_K)
        q4k_repack_cpu(expected.data(),
                       reinterpret_cast<const struct block_q4k *>(t.data.data()),
                       t.data.size() / 144);
    CHECK_CUDA(cudaMemcpy(found.data(), reinterpret_cast<struct cuda_weight *>(w)->data,
                          found.size(), cudaMemcpyDeviceToHost));
    ck_assert(found == expected);
    backend_weight_free(both.cuda, w);
}

// All are on their way before the first is looked at, so that the two pinned buffers are
// written again while copies from them may still be waiting.
START_TEST(tensors_arrive_whole_in_one_piece_or_more)
{
    std::vector<struct tensor> tensors;
    std::vector<struct weight *> weights;
    tensors.emplace_back(TENSOR_Q4_K, 3, 512, 1);
    tensors.emplace_back(TENSOR_Q6_K, 3, 512, 2);
    tensors.emplace_back(TENSOR_F32, 1, 1, 3);
#ifndef SIMT_RACE
    tensors.emplace_back(TENSOR_Q8_0, 1, 32 * 250000, 4);     // 8.5 MB: a piece and a bit
    tensors.emplace_back(TENSOR_Q4_K, 1, 256 * 58255, 5);     // a piece and one superblock
    tensors.emplace_back(TENSOR_Q4_K, 1, 256 * 2 * 58254, 6); // two pieces exactly
#endif
    for (const struct tensor &t : tensors) {
        weights.push_back(backend_weight_new(both.cuda, &t.view, &e));
        ck_assert_msg(weights.back() != NULL, "%s", e.text);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    for (size_t i = 0; i < tensors.size(); i++)
        check_loaded(tensors[i], weights[i]);
}
END_TEST

//: backend-cuda-test-counted
START_TEST(what_is_freed_is_no_longer_in_use)
{
    const struct kv_shape shape = {KV_F16, 2, 10, 16};
    const struct tensor t(TENSOR_Q4_K, 2, 256, 1);
    struct weight *w = backend_weight_new(both.cuda, &t.view, &e);
    ck_assert_uint_eq(both.cuda->bytes_in_use, 288);
    struct vector *v = backend_vector_new(both.cuda, 64, &e);
    const size_t pair = sizeof(struct argmax_pair); // one partial result of argmax
    ck_assert_uint_eq(both.cuda->bytes_in_use, 288 + 64 * 4 + 2 * 36 + pair);
    struct cache *c = backend_cache_new(both.cuda, &shape, 3, 4, &e);
    ck_assert_uint_eq(both.cuda->bytes_in_use, 288 + 64 * 4 + 2 * 36 + pair +
                                                   3 * 2 * 2 * 10 * 16 * 2 +
                                                   4 * 64 * (16 + 2) * 4);
    backend_cache_free(both.cuda, c);
    backend_vector_free(both.cuda, v);
    backend_weight_free(both.cuda, w);
    ck_assert_uint_eq(both.cuda->bytes_in_use, pair);
}
END_TEST

#ifdef EMULATED
size_t memory_left()
{
    size_t left = 0, total = 0;
    CHECK_CUDA(cudaMemGetInfo(&left, &total));
    return left;
}

//: backend-cuda-test-failing
// A backend, a weight, a vector, a longer vector and a cache; false where any fails.
bool make_everything(const struct tensor &t)
{
    const struct backend_options options = {KV_F16, 1, false};
    const struct kv_shape shape = {KV_F16, 1, 600, 128};
    struct backend *b = backend_cuda_new(&options, &e);
    if (b == NULL)
        return false;
    struct weight *w = backend_weight_new(b, &t.view, &e);
    struct vector *v = w == NULL ? NULL : backend_vector_new(b, 64, &e);
    struct vector *longer = v == NULL ? NULL : backend_vector_new(b, 5000, &e);
    struct cache *c = longer == NULL ? NULL : backend_cache_new(b, &shape, 2, 2, &e);
    const bool made = c != NULL;
    backend_cache_free(b, c);
    backend_vector_free(b, longer);
    backend_vector_free(b, v);
    backend_weight_free(b, w);
    backend_free(b);
    return made;
}

//: backend-cuda-test-each-failing
START_TEST(each_allocation_that_fails_is_told_and_leaves_nothing)
{
    const struct tensor t(TENSOR_Q4_K, 2, 256, 1);
    const size_t before = memory_left();
    int failures = 0;
    for (bool made = false; !made; failures++) {
        e.text[0] = 0;
        setenv("SIMT_FAIL_MALLOC", std::to_string(failures + 1).c_str(), 1);
        made = make_everything(t);
        ck_assert_uint_eq(memory_left(), before);
        ck_assert_msg(made || strncmp(e.text, "CUDA: ", 6) == 0, "%s", e.text);
        ck_assert_msg(made || strstr(e.text, "memory") != NULL, "%s", e.text);
        ck_assert(cudaGetLastError() == cudaSuccess);
    }
    unsetenv("SIMT_FAIL_MALLOC");
    // six for the backend, a weight, a vector's two and argmax's, a longer one's and again
    // argmax's, the cache and three for attention
    ck_assert_int_eq(failures - 1, 6 + 1 + 3 + 2 + 4);
}
END_TEST

//: backend-cuda-test-too-little
START_TEST(a_device_of_too_little_memory_is_told_with_both_numbers)
{
    const struct kv_shape shape = {KV_F16, 8, 4096, 128};
    setenv("SIMT_MEMORY", std::to_string(100 << 20).c_str(), 1);
    ck_assert(backend_cache_new(both.cuda, &shape, 28, 16, &e) == NULL);
    unsetenv("SIMT_MEMORY");
    // the backend itself has a piece of 8 MiB to repack and a few bytes
    ck_assert_str_eq(e.text,
                     "CUDA: no memory for the cache: 448.0 MiB needed, 92.0 MiB free");
}
END_TEST

//: backend-cuda-test-no-device
START_TEST(no_device_and_an_older_one_are_refused_by_name)
{
    const struct backend_options options = {KV_F16, 1, false};
    setenv("SIMT_CAPABILITY", "none", 1);
    ck_assert(!backend_cuda_present(&e));
    ck_assert_str_eq(e.text, "no CUDA device: no CUDA-capable device is detected");
    ck_assert(backend_cuda_new(&options, &e) == NULL);
    setenv("SIMT_CAPABILITY", "8.6", 1);
    ck_assert(backend_cuda_new(&options, &e) == NULL);
    ck_assert_str_eq(e.text, "NVIDIA GeForce RTX 4090 (emulated) has compute capability "
                             "8.6, expected 8.9 or later");
    setenv("SIMT_CAPABILITY", "12.0", 1);
    ck_assert(backend_cuda_present(&e));
    unsetenv("SIMT_CAPABILITY");
}
END_TEST

START_TEST(a_cache_of_more_segments_than_the_kernel_counts_is_refused)
{
    const kv_shape most = {KV_F16, 8, 1 << 24, 128}; // 8 * 2^24 * 256 bytes: 2^35 of keys
    const kv_shape more = {KV_F16, 8, (1 << 24) + 1, 128};
    ck_assert(backend_cache_new(both.cuda, &most, 1, 16, &e) == NULL);
    ck_assert_ptr_nonnull(strstr(e.text, "no memory for the cache: 65536.0 MiB needed"));
    ck_assert(backend_cache_new(both.cuda, &more, 1, 16, &e) == NULL);
    ck_assert_str_eq(e.text, "CUDA: keys of 34359740416 bytes a layer, expected at most "
                             "34359738368");
}
END_TEST
#endif
} // namespace

Suite *suite(void)
{
    Suite *s = suite_create("cuda/backend_cuda");
    TCase *core = tcase_create("core"), *limits = tcase_create("limits");
    tcase_add_checked_fixture(core, open_both, close_both);
    tcase_add_checked_fixture(limits, open_both, close_both);
    tcase_set_timeout(core, 300);
    tcase_set_timeout(limits, 300);
    tcase_add_test(core, products_of_every_type_are_near_the_cpus);
    tcase_add_test(core, a_group_gives_the_bits_of_one_matrix_after_another);
    tcase_add_test(core, producers_leave_the_q8_1_form_and_others_take_it_away);
    tcase_add_test(core, embedding_is_the_cpus_to_the_bit);
    tcase_add_test(core, norm_and_swiglu_are_near_the_cpus_for_whole_blocks_or_not);
    tcase_add_test(core, attention_is_near_the_cpus_on_both_sides_of_a_buckets_edge);
    tcase_add_test(core, steps_count_positions_and_keep_the_newest_tokens);
    tcase_add_test(core, no_number_among_the_logits_is_told_as_no_token);
    tcase_add_test(core, tensors_arrive_whole_in_one_piece_or_more);
    tcase_add_test(limits, what_is_freed_is_no_longer_in_use);
#ifdef EMULATED
    tcase_add_test(limits, each_allocation_that_fails_is_told_and_leaves_nothing);
    tcase_add_test(limits, a_device_of_too_little_memory_is_told_with_both_numbers);
    tcase_add_test(limits, no_device_and_an_older_one_are_refused_by_name);
    tcase_add_test(limits, a_cache_of_more_segments_than_the_kernel_counts_is_refused);
#endif
    suite_add_tcase(s, core);
    suite_add_tcase(s, limits);
    return s;
}
