//: split-merge-kernel
// Merges attention's splits: a block for each head.  Threads find the greatest maximum and
// the denominator together; then each thread adds up the splits of its own dimensions.  A
// warp that has 32 finished dimensions quantizes them for the next GEMV.
#include "launch.h"
#include "q8_1_device.h"
#include "reduce.h"
extern "C" {
#include "split_count.h"
#include "split_merge.h"
}

namespace
{
//: split-merge-kernel-weigh
constexpr int THREADS = 128;
static_assert(MAX_SPLITS <= THREADS, "a thread for each split");

// Fills weights with exp(maximum - greatest) of each split, 0 beyond the last, and returns
// the denominator.  The barrier in block_sum lets all threads read all weights afterwards.
__device__ float weigh(float *weights, const float *maxima, const float *sums, int splits)
{
    __shared__ float of_warps[2][THREADS / 32];
    const int s = static_cast<int>(threadIdx.x);
    const float maximum = s < splits ? maxima[s] : -INFINITY,
                sum = s < splits ? sums[s] : 0;
    const float greatest = block_max<THREADS>(maximum, of_warps[0]);
    const float weight = expf(maximum - greatest); // 0 where the split is empty
    if (s < MAX_SPLITS)
        weights[s] = weight;
    return block_sum<THREADS>(weight * sum, of_warps[1]);
}

//: split-merge-kernel-body
constexpr int AT_ONCE = 16; // loads on their way before the first is used
static_assert(MAX_SPLITS % AT_ONCE == 0, "weights has a place for every load");

// The weighted sum of one dimension over the splits, in ascending order.
__device__ float mix(const float *weights, const float *numerators, int splits,
                     int head_dim)
{
    float sum = 0;
    for (int first = 0; first < splits; first += AT_ONCE) {
        float x[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++)
            x[i] = first + i < splits ? numerators[(first + i) * head_dim] : 0;
        for (int i = 0; i < AT_ONCE; i++)
            sum = fmaf(weights[first + i], x[i], sum);
    }
    return sum;
}

//: split-merge-kernel-main
__global__ void split_merge_kernel(float *out, block_q8_1 *blocks, attention_partials p,
                                   int splits, int head_dim)
{
    __shared__ float weights[MAX_SPLITS];
    const size_t head = blockIdx.x, partial = head * splits;
    const float denominator = weigh(weights, p.maxima + partial, p.sums + partial, splits);
    const float *numerators = p.numerators + partial * head_dim;
    for (int dim = static_cast<int>(threadIdx.x); dim < head_dim; dim += THREADS) {
        const float x = mix(weights, numerators + dim, splits, head_dim) / denominator;
        out[head * head_dim + dim] = x;
        if (blocks) // head_dim is a multiple of 32: whole warps come here
            q8_1_quantize(&blocks[(head * head_dim + dim) / 32], x);
    }
}
} // namespace

//: split-merge-launcher
void split_merge_cuda(float *out, struct block_q8_1 *blocks,
                      const struct attention_partials *p, int heads, int splits,
                      int head_dim, cudaStream_t stream)
{
    assert(splits >= 1 && splits <= MAX_SPLITS);
    // Where a head ends within a q8_1 block, no warp has the whole of it.
    const bool whole = head_dim % 32 == 0;
    launch(stream, heads, THREADS, split_merge_kernel, out, whole ? blocks : nullptr, *p,
           splits, head_dim);
    if (blocks && !whole)
        q8_1_cuda(blocks, out, heads * head_dim, stream);
}
