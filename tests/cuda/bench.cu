// Times every kernel at the shapes of Qwen3-8B and prints one line of tab-separated values
// for each: how long it takes in a captured graph over 36 layers' worth of distinct
// weights, so that no weight is read from a cache, and what share that is of the rate at
// which a plain kernel can read memory, measured in the same run.
//
//     make VARIANT=cuda build/cuda/tests/cuda/bench && build/cuda/tests/cuda/bench
//
// With the argument "quick" all sizes are small: a check that it runs, in an emulation too.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "cuda/launch.h"
extern "C" {
#include "argmax.h"
#include "attention.h"
#include "embed.h"
#include "gemv_q4k.h"
#include "gemv_q4k_naive.h"
#include "gemv_q6k.h"
#include "kv_cache.h"
#include "q4k_repack.h"
#include "q8_1.h"
#include "residual.h"
#include "rmsnorm.h"
#include "rope.h"
#include "split_count.h"
#include "split_merge.h"
#include "swiglu.h"
}

#define CHECK(call)                                                                     \
    do {                                                                                \
        const cudaError_t error_ = (call);                                              \
        if (error_ != cudaSuccess) {                                                    \
            std::fprintf(stderr, "bench: %s: %s\n", #call, cudaGetErrorString(error_)); \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

constexpr int LAYERS = 36, EMBEDDING = 4096, FEED_FORWARD = 12288, HEADS = 32, KV_HEADS = 8,
              HEAD_DIM = 128, VOCABULARY = 151936;

// ---- Memory
// ---------------------------------------------------------------------------------
struct bench {
    bool quick;
    size_t pool_bytes;
    unsigned char *pool;    // weights and caches, any bits
    unsigned char *scratch; // activations and results
    int *position;          // and token
    cudaStream_t stream;
    double read_rate; // bytes a second
};

__global__ void fill_kernel(uint4 *pool, size_t n)
{
    const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
         i += stride) {
        const unsigned bits = static_cast<unsigned>(i * 2654435761u) ^ 0x5bd1e995u;
        pool[i] = make_uint4(bits, bits * 3, bits * 5, bits * 7);
    }
}

// Reads n values and writes none, which the compiler cannot know.
__global__ void read_kernel(unsigned *out, const uint4 *pool, size_t n)
{
    const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    unsigned sum = 0;
    size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride)
        for (int k = 0; k < 4; k++) {
            const uint4 v = __ldcs(pool + i + static_cast<size_t>(k) * stride);
            sum += v.x ^ v.y ^ v.z ^ v.w;
        }
    if (sum == 0x12345678)
        *out = sum;
}

static bench make_bench(bool quick)
{
    bench b = {quick,   quick ? size_t(64) << 20 : size_t(4) << 30,
               nullptr, nullptr,
               nullptr, nullptr,
               0};
    CHECK(cudaMalloc(&b.pool, b.pool_bytes));
    CHECK(cudaMalloc(&b.scratch, size_t(64) << 20));
    CHECK(cudaMalloc(&b.position, sizeof *b.position));
    CHECK(cudaMemset(b.scratch, 0x11, size_t(64) << 20));
    CHECK(cudaMemset(b.position, 0, sizeof *b.position));
    CHECK(cudaStreamCreate(&b.stream));
    const unsigned blocks = quick ? 16 : 4096;
    launch(b.stream, blocks, 256, fill_kernel, reinterpret_cast<uint4 *>(b.pool),
           b.pool_bytes / 16);
    CHECK(cudaStreamSynchronize(b.stream));
    return b;
}

// The n-th megabyte of scratch memory.
template <class T> static T *scratch(const bench &b, int n)
{
    return reinterpret_cast<T *>(b.scratch + (static_cast<size_t>(n) << 20));
}

// ---- Timing
// --------------------------------------------------------------------------------- Seconds
// a call takes, in a graph of calls for layers 0, 1, ...: the median of some runs.
static double seconds(const bench &b, int layers, const std::function<void(int)> &call)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeGlobal));
    for (int layer = 0; layer < layers; layer++)
        call(layer);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(b.stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<double> times;
    const int warm = b.quick ? 0 : 3, runs = b.quick ? 1 : 21;
    for (int run = 0; run < warm + runs; run++) {
        float ms;
        CHECK(cudaEventRecord(begin, b.stream));
        CHECK(cudaGraphLaunch(exec, b.stream));
        CHECK(cudaEventRecord(end, b.stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (run >= warm)
            times.push_back(static_cast<double>(ms) * 1e-3 / layers);
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void print(const bench &b, const char *chapter, const char *kernel,
                  const char *shape, size_t bytes, double time)
{
    const double rate = static_cast<double>(bytes) / time;
    std::printf("%s\t%s\t%s\t%zu\t%.2f\t%.0f\t%.3f\n", chapter, kernel, shape, bytes,
                time * 1e6, rate * 1e-9, rate / b.read_rate);
    std::fflush(stdout);
}

// call(weights, stream): weights are `own` bytes of the pool, others in each layer.  bytes:
// all that one call must move.
static void measure(const bench &b, const char *chapter, const char *kernel,
                    const char *shape, size_t own, size_t bytes,
                    const std::function<void(unsigned char *)> &call)
{
    const size_t stride = std::max((own + 255) / 256 * 256, size_t(256));
    const int fit = static_cast<int>(std::min(b.pool_bytes / stride, size_t(LAYERS)));
    const int layers = b.quick ? std::min(fit, 2) : fit;
    if (layers == 0)
        return;
    print(b, chapter, kernel, shape, bytes, seconds(b, layers, [&](int layer) {
              call(b.pool + stride * static_cast<size_t>(layer));
          }));
}

static void measure_reading(bench *b)
{
    const size_t bytes = b->quick ? size_t(1) << 20 : b->pool_bytes;
    const double time = seconds(*b, 1, [&](int) {
        launch(b->stream, b->quick ? 4 : 132 * 16, 512, read_kernel,
               scratch<unsigned>(*b, 0), reinterpret_cast<const uint4 *>(b->pool),
               bytes / 16);
    });
    b->read_rate = static_cast<double>(bytes) / time;
    std::puts("chapter\tkernel\tshape\tbytes\tmicroseconds\tGB/s\tshare");
    print(*b, "17", "streaming read", "4 GiB", bytes, time);
}

// ---- Kernels
// --------------------------------------------------------------------------------
static int rows_of(const bench &b, int rows)
{
    return b.quick ? rows / 256 : rows;
}

// One launch for one to three Q4_K matrices.
static void measure_q4k(const bench &b, const char *kernel, const char *shape,
                        std::vector<int> rows, int columns, bool add)
{
    const size_t row_bytes = static_cast<size_t>(columns) / 256 * 144;
    size_t own = 0, results = 0;
    for (int &m : rows) {
        m = rows_of(b, m);
        own += row_bytes * static_cast<size_t>(m);
        results += (add ? 8 : 4) * static_cast<size_t>(m);
    }
    const size_t bytes = own + results + static_cast<size_t>(columns) / 32 * 36;
    measure(b, "05", kernel, shape, own, bytes, [&](unsigned char *w) {
        gemv_q4k_matrix group[GEMV_Q4K_GROUP] = {};
        for (size_t i = 0; i < rows.size(); i++) {
            float *y = scratch<float>(b, 8 + static_cast<int>(i));
            group[i] = {y, w, add ? y : nullptr, rows[i]};
            w += row_bytes * static_cast<size_t>(rows[i]);
        }
        gemv_q4k_group_cuda(group, static_cast<int>(rows.size()), scratch<block_q8_1>(b, 1),
                            columns, b.stream);
    });
}

static void measure_q4k_steps(const bench &b)
{
    const int rows = rows_of(b, FEED_FORWARD), n = EMBEDDING / 256;
    const size_t own = static_cast<size_t>(rows * n) * sizeof(block_q4k);
    const block_q8_1 *x = scratch<block_q8_1>(b, 1);
    float *y = scratch<float>(b, 8);
    const size_t bytes = own + 4 * static_cast<size_t>(rows) + EMBEDDING / 32 * 36;
    measure(b, "05", "gemv_q4k_thread", "12288x4096", own, bytes, [&](unsigned char *w) {
        gemv_q4k_thread_cuda(y, reinterpret_cast<block_q4k *>(w), x, rows, EMBEDDING,
                             b.stream);
    });
    measure(b, "05", "gemv_q4k_warp", "12288x4096", own, bytes, [&](unsigned char *w) {
        gemv_q4k_warp_cuda(y, reinterpret_cast<block_q4k *>(w), x, rows, EMBEDDING,
                           b.stream);
    });
}

static void measure_q6k(const bench &b, const char *kernel, const char *shape, int rows,
                        int columns, bool add)
{
    rows = rows_of(b, rows);
    const size_t own = static_cast<size_t>(rows) * (static_cast<size_t>(columns) / 256) *
                       sizeof(block_q6k);
    const size_t bytes = own + (add ? 8 : 4) * static_cast<size_t>(rows) +
                         static_cast<size_t>(columns) / 32 * 36;
    float *y = scratch<float>(b, 8);
    measure(b, "06", kernel, shape, own, bytes, [&](unsigned char *w) {
        gemv_q6k_cuda(y, reinterpret_cast<block_q6k *>(w), scratch<block_q8_1>(b, 1),
                      add ? y : nullptr, rows, columns, b.stream);
    });
}

static void measure_gemv(const bench &b)
{
    measure_q4k_steps(b);
    measure_q4k(b, "gemv_q4k gate", "12288x4096", {FEED_FORWARD}, EMBEDDING, false);
    measure_q4k(b, "gemv_q4k gate+up", "2x12288x4096", {FEED_FORWARD, FEED_FORWARD},
                EMBEDDING, false);
    measure_q4k(b, "gemv_q4k QKV", "4096/1024/1024x4096", {4096, 1024, 1024}, EMBEDDING,
                false);
    measure_q4k(b, "gemv_q4k QK", "4096/1024x4096", {4096, 1024}, EMBEDDING, false);
    measure_q4k(b, "gemv_q4k attention output", "4096x4096", {4096}, EMBEDDING, true);
    measure_q4k(b, "gemv_q4k down", "4096x12288", {4096}, FEED_FORWARD, true);
    measure_q6k(b, "gemv_q6k V", "1024x4096", 1024, EMBEDDING, false);
    measure_q6k(b, "gemv_q6k down", "4096x12288", 4096, FEED_FORWARD, true);
    measure_q6k(b, "gemv_q6k output", "151936x4096", VOCABULARY, EMBEDDING, false);
}

static void measure_small(const bench &b)
{
    float *x = scratch<float>(b, 2), *y = scratch<float>(b, 4);
    block_q8_1 *blocks = scratch<block_q8_1>(b, 6);
    const size_t e = EMBEDDING, f = FEED_FORWARD;
    measure(b, "04", "q8_1", "4096", 0, e * 4 + e / 32 * 36,
            [&](unsigned char *) { q8_1_cuda(blocks, x, EMBEDDING, b.stream); });
    measure(b, "04", "q8_1", "12288", 0, f * 4 + f / 32 * 36,
            [&](unsigned char *) { q8_1_cuda(blocks, x, FEED_FORWARD, b.stream); });
    measure(b, "06", "residual_add", "4096", 0, e * 12,
            [&](unsigned char *) { residual_add_cuda(y, x, y, EMBEDDING, b.stream); });
    measure(b, "07", "rmsnorm", "1x4096", e * 4, e * 12, [&](unsigned char *w) {
        rmsnorm_cuda(y, x, reinterpret_cast<float *>(w), 1e-6f, 1, EMBEDDING, b.stream);
    });
    measure(b, "07", "rmsnorm_q8_1", "1x4096", e * 4, e * 12 + e / 32 * 36,
            [&](unsigned char *w) {
                rmsnorm_q8_1_cuda(y, blocks, x, reinterpret_cast<float *>(w), 1e-6f,
                                  EMBEDDING, b.stream);
            });
    const qk_shape heads = {HEADS, KV_HEADS, HEAD_DIM, 1e-6f, 1e6};
    measure(b, "08", "qk_norm_rope", "32+8 heads x128", 1024,
            (HEADS + KV_HEADS) * HEAD_DIM * 8 + 1024, [&](unsigned char *w) {
                float *weight = reinterpret_cast<float *>(w);
                qk_norm_rope_cuda(x, y, weight, weight + HEAD_DIM, b.position, &heads,
                                  b.stream);
            });
    measure(b, "11", "swiglu", "12288, with q8_1", 0, f * 12 + f / 32 * 36,
            [&](unsigned char *) {
                swiglu_cuda(y, blocks, x, scratch<float>(b, 8), FEED_FORWARD, b.stream);
            });
    measure(b, "12", "argmax", "151936", size_t(VOCABULARY) * 4, size_t(VOCABULARY) * 4,
            [&](unsigned char *w) {
                argmax_cuda(scratch<int>(b, 3), scratch<argmax_pair>(b, 5),
                            reinterpret_cast<float *>(w), VOCABULARY, b.stream);
            });
}

static void measure_loading(const bench &b)
{
    const size_t row = size_t(EMBEDDING) / 256 * sizeof(block_q6k);
    measure(b, "02", "embed", "1 of 151936x4096 Q6_K", row, row + EMBEDDING * 4,
            [&](unsigned char *w) {
                embed_cuda(scratch<float>(b, 2), w, TENSOR_Q6_K, b.position, 1, EMBEDDING,
                           b.stream);
            });
    const size_t count = static_cast<size_t>(rows_of(b, FEED_FORWARD)) * EMBEDDING / 256;
    measure(b, "03", "q4k_repack", "12288x4096", 288 * count, 288 * count,
            [&](unsigned char *w) {
                q4k_repack_cuda(w, reinterpret_cast<block_q4k *>(w + 144 * count), 0, count,
                                count, b.stream);
            });
}

static void measure_attention(const bench &b, enum kv_type type, int length)
{
    const kv_shape shape = {type, KV_HEADS, length, HEAD_DIM};
    const size_t half = kv_bytes(&shape);
    const int splits = split_count(context_bucket(length, length), HEADS,
                                   attention_cuda_wave(type, HEAD_DIM));
    attention_partials p = {scratch<float>(b, 20), scratch<float>(b, 21),
                            scratch<float>(b, 22)};
    const size_t states = static_cast<size_t>(HEADS * splits) * (HEAD_DIM + 2) * 4;
    const size_t vector = HEADS * HEAD_DIM * 4;
    char text[64];
    std::snprintf(text, sizeof text, "%d %s, %d splits", length,
                  type == KV_F16 ? "F16" : "F32", splits);
    const int last = length - 1;
    CHECK(cudaMemcpy(b.position, &last, sizeof last, cudaMemcpyHostToDevice));
    measure(b, "09", "attention", text, 2 * half, 2 * half + vector + states,
            [&](unsigned char *w) {
                attention_cuda(&p, scratch<float>(b, 2), w, w + half, &shape, HEADS,
                               b.position, splits, b.stream);
            });
    measure(b, "10", "split_merge", text, 0, states + vector + vector / 128 * 36,
            [&](unsigned char *) {
                split_merge_cuda(scratch<float>(b, 2), scratch<block_q8_1>(b, 6), &p, HEADS,
                                 splits, HEAD_DIM, b.stream);
            });
    const int first = 0;
    CHECK(cudaMemcpy(b.position, &first, sizeof first, cudaMemcpyHostToDevice));
}

static void measure_cache(const bench &b)
{
    const kv_shape shape = {KV_F16, KV_HEADS, 512, HEAD_DIM};
    const size_t half = kv_bytes(&shape), row = KV_HEADS * HEAD_DIM;
    measure(b, "09", "kv_append", "8x128 F16", 2 * half, 2 * row * (4 + 2),
            [&](unsigned char *w) {
                kv_append_cuda(w, w + half, scratch<float>(b, 2), scratch<float>(b, 4),
                               b.position, &shape, b.stream);
            });
    for (int length = 512; length <= (b.quick ? 512 : 8192); length *= 2)
        measure_attention(b, KV_F16, length);
    for (int length = 512; length <= (b.quick ? 512 : 8192); length *= 2)
        measure_attention(b, KV_F32, length);
}

int main(int count, char **arguments)
{
    bench b = make_bench(count > 1 && std::strcmp(arguments[1], "quick") == 0);
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    std::fprintf(stderr, "bench: %s\n", device.name);
    measure_reading(&b);
    measure_loading(b);
    measure_small(b);
    measure_gemv(b);
    measure_cache(b);
    CHECK(cudaStreamDestroy(b.stream));
    CHECK(cudaFree(b.position));
    CHECK(cudaFree(b.scratch));
    CHECK(cudaFree(b.pool));
    return 0;
}
