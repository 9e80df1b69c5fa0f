//: attention-kernel-segments
// Decode attention: a block of 128 threads takes one head and one split of the cache.  Its
// sixteen groups of eight lanes walk over different positions, each with an online softmax
// in registers; they meet once, at the end.  Rows are read in 16-byte segments, lane l of a
// group taking segments l, l + 8, ..., so that a group reads 128 bytes in a row.
#include "launch.h"
extern "C" {
#include "attention.h"
}

#include <assert.h>

namespace
{
constexpr int THREADS = 128, GROUP = 8, GROUPS = THREADS / GROUP;
constexpr int LANE_VALUES = 16, BLOCK_VALUES = LANE_VALUES * GROUP; // numerators kept

// Blocks a multiprocessor of Ada holds: 65,536 registers / 128 threads / 56 or 64 each.
template <class T> constexpr int BLOCKS = sizeof(T) == 2 ? 9 : 8;

//: attention-kernel-floats
template <class T> struct segment; // sixteen bytes of a row

template <> struct segment<float> {
    static constexpr int VALUES = 4, PER_LANE = LANE_VALUES / VALUES;
    float4 bits;
    __device__ void widen(float *x) const
    {
        x[0] = bits.x, x[1] = bits.y, x[2] = bits.z, x[3] = bits.w;
    }
};

//: attention-kernel-halves
template <> struct segment<__half> {
    static constexpr int VALUES = 8, PER_LANE = LANE_VALUES / VALUES;
    uint4 bits;
    __device__ void widen(float *x) const
    {
        const unsigned pairs[4] = {bits.x, bits.y, bits.z, bits.w};
        for (int i = 0; i < 4; i++) {
            __half2 pair;
            memcpy(&pair, &pairs[i], sizeof pair);
            x[2 * i] = __low2float(pair);
            x[2 * i + 1] = __high2float(pair);
        }
    }
};

// The dimension of a lane's value j: its segments are eight apart.
template <class T> __device__ int dim_of(int lane, int j)
{
    constexpr int VALUES = segment<T>::VALUES;
    return (j / VALUES * GROUP + lane) * VALUES + j % VALUES;
}

//: attention-kernel-walk
// The positions of a group, as the numbers of their rows' first segments from the start of
// the cache.  There are fewer than 2^32, so one register leads to both keys and values.
struct walk {
    unsigned first, end, step;

    __device__ walk(const kv_shape &shape, const int *position, int row_segments)
    {
        const unsigned length = static_cast<unsigned>(*position + 1);
        const unsigned each = (length + gridDim.y - 1) / gridDim.y;
        const unsigned begin = blockIdx.y * each, group = threadIdx.x / GROUP;
        const unsigned kv_head = blockIdx.x / (gridDim.x / shape.kv_heads);
        const unsigned head_first = kv_head * shape.max_context;
        first = (head_first + begin + group) * row_segments;
        end = (head_first + min(begin + each, length)) * row_segments;
        step = GROUPS * row_segments;
    }
};

//: attention-kernel-group-sum
// The sum over a group's eight lanes, in each of them.  The groups of a warp leave the loop
// at different times: only the lanes of this group are named, and waited for.
__device__ float group_sum(float x)
{
    const unsigned lanes = 0xffu << (threadIdx.x % 32 / GROUP * GROUP);
    for (int step = GROUP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(lanes, x, step);
    return x;
}

//: attention-kernel-online
// A group's softmax of the positions so far; its lanes share the numerators.
struct online {
    float maximum = -INFINITY, sum = 0, numerators[LANE_VALUES] = {};

    __device__ float weigh(float score) // returns the weight of the position's value
    {
        if (score > maximum) {
            const float shrink = expf(maximum - score);
            maximum = score;
            sum *= shrink;
            for (int j = 0; j < LANE_VALUES; j++)
                numerators[j] *= shrink;
        }
        const float weight = expf(score - maximum);
        sum += weight;
        return weight;
    }
};

//: attention-kernel-steps
// Adds the lane's part of a value row, of that weight.
template <class T> __device__ void add(online &state, float weight, const segment<T> *value)
{
    constexpr int VALUES = segment<T>::VALUES;
    for (int i = 0; i < LANE_VALUES; i += VALUES) {
        float x[VALUES];
        value[i / VALUES].widen(x);
        for (int j = 0; j < VALUES; j++)
            state.numerators[i + j] = fmaf(weight, x[j], state.numerators[i + j]);
    }
}

//: attention-kernel-dot
// Part of the query; n and the dimension at x are multiples of 4.
__device__ void load_fours(float *to, const float *x, int n)
{
    for (int i = 0; i < n; i += 4) {
        const float4 four = *reinterpret_cast<const float4 *>(x + i);
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
}

// The sum dot of the segments before this one, and this one's products.
template <class T>
__device__ float dot_segment(float dot, const float *query, const segment<T> &key)
{
    float x[segment<T>::VALUES];
    key.widen(x);
    for (int j = 0; j < segment<T>::VALUES; j++)
        dot = fmaf(query[j], x[j], dot);
    return dot;
}

//: attention-kernel-gathered
// The sixteen groups' states, each relative to the maximum of all.
struct gathered {
    float maxima[GROUPS], sums[GROUPS];
    float4 numerators[GROUPS][BLOCK_VALUES / 4];
};

//: attention-kernel-gather
// Fills it and returns that maximum; a group without positions weighs nothing.
template <class T> __device__ float gather(gathered &all, const online &state)
{
    const int group = static_cast<int>(threadIdx.x) / GROUP;
    const int lane = static_cast<int>(threadIdx.x) % GROUP;
    if (lane == 0)
        all.maxima[group] = state.maximum;
    __syncthreads();
    float maximum = -INFINITY;
    for (int g = 0; g < GROUPS; g++)
        maximum = fmaxf(maximum, all.maxima[g]);
    const float weight = state.maximum == -INFINITY ? 0 : expf(state.maximum - maximum);
    if (lane == 0)
        all.sums[group] = weight * state.sum;
    for (int j = 0; j < LANE_VALUES; j += 4) {
        const float *n = state.numerators + j;
        all.numerators[group][dim_of<T>(lane, j) / 4] =
            make_float4(weight * n[0], weight * n[1], weight * n[2], weight * n[3]);
    }
    __syncthreads();
    return maximum;
}

//: attention-kernel-meet
// Adds the groups in ascending order: a thread for each of the block's dimensions, which
// begin at first_dim.
template <class T>
__device__ void meet(const attention_partials &p, const online &state, int first_dim,
                     int head_dim)
{
    __shared__ gathered all;
    const float maximum = gather<T>(all, state);
    float numerator = 0, sum = 0;
    for (int g = 0; g < GROUPS; g++) {
        numerator += reinterpret_cast<const float *>(all.numerators[g])[threadIdx.x];
        sum += all.sums[g];
    }
    const size_t partial = static_cast<size_t>(blockIdx.x) * gridDim.y + blockIdx.y;
    const int dim = first_dim + static_cast<int>(threadIdx.x);
    if (dim < head_dim)
        p.numerators[partial * head_dim + dim] = numerator;
    if (dim == 0) {
        p.maxima[partial] = maximum;
        p.sums[partial] = sum;
    }
}

//: attention-kernel-dot-row
// The lane's part of a dot product over a row of any number of segments.
template <class T>
__device__ float dot_row(const float *query, const segment<T> *key, int lane, int row)
{
    constexpr int VALUES = segment<T>::VALUES;
    float dot = 0;
    for (int i = lane; i < row; i += GROUP) {
        float part[VALUES];
        load_fours(part, query + i * VALUES, VALUES);
        dot = dot_segment(dot, part, key[i]);
    }
    return dot;
}

// What a launch is given.
template <class T> struct task {
    attention_partials p;
    const float *q;
    const segment<T> *keys, *values;
    const int *position;
    kv_shape shape;
    float scale; // 1 / sqrt(head_dim)
};

//: attention-kernel-any
// Any head_dim that is a multiple of 8.  The query is read again at every position, and a
// block keeps the numerators of the 128 dimensions from 128 * blockIdx.z on.
template <class T> __global__ void attention_any_kernel(task<T> a)
{
    constexpr int VALUES = segment<T>::VALUES;
    const int lane = static_cast<int>(threadIdx.x) % GROUP;
    const int row = a.shape.head_dim / VALUES; // segments
    const int first_dim = static_cast<int>(blockIdx.z) * BLOCK_VALUES;
    const float *query = a.q + blockIdx.x * a.shape.head_dim;
    const walk way(a.shape, a.position, row);
    online state;
    for (unsigned at = way.first; at < way.end; at += way.step) {
        const float dot = dot_row(query, a.keys + at, lane, row);
        segment<T> value[segment<T>::PER_LANE] = {};
        int s = first_dim / VALUES + lane;
        for (int i = 0; i < segment<T>::PER_LANE; i++, s += GROUP)
            if (s < row)
                value[i] = a.values[at + s];
        add(state, state.weigh(group_sum(dot) * a.scale), value);
    }
    meet<T>(a.p, state, first_dim, a.shape.head_dim);
}

//: attention-kernel-128
template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) attention_128_kernel(task<T> a)
{
    constexpr int VALUES = segment<T>::VALUES, PER_LANE = segment<T>::PER_LANE;
    const int lane = static_cast<int>(threadIdx.x) % GROUP;
    const walk way(a.shape, a.position, BLOCK_VALUES / VALUES);
    float query[LANE_VALUES];
    for (int i = 0; i < LANE_VALUES; i += VALUES)
        load_fours(query + i, a.q + blockIdx.x * BLOCK_VALUES + dim_of<T>(lane, i), VALUES);
    online state;
    for (unsigned at = way.first + lane; at < way.end; at += way.step) {
        segment<T> key[PER_LANE], value[PER_LANE]; // both asked for before either is used
        for (int i = 0; i < PER_LANE; i++)
            key[i] = a.keys[at + i * GROUP];
        for (int i = 0; i < PER_LANE; i++)
            value[i] = a.values[at + i * GROUP];
        float dot = 0;
        for (int i = 0; i < PER_LANE; i++)
            dot = dot_segment(dot, query + i * VALUES, key[i]);
        add(state, state.weigh(group_sum(dot) * a.scale), value);
    }
    meet<T>(a.p, state, 0, BLOCK_VALUES);
}

//: attention-choice
template <class T> auto kernel_for(int head_dim)
{
    return head_dim == BLOCK_VALUES ? attention_128_kernel<T> : attention_any_kernel<T>;
}

int slices(int head_dim) // blocks for one (head, split)
{
    return (head_dim + BLOCK_VALUES - 1) / BLOCK_VALUES;
}

template <class T> int blocks_in_multiprocessor(int head_dim) // 0 on an error
{
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel_for<T>(head_dim), THREADS, 0);
    return error == cudaSuccess ? blocks : 0;
}

//: attention-attend
template <class T>
void attend(const attention_partials &p, const float *q, const void *keys,
            const void *values, const kv_shape &shape, int heads, const int *position,
            int splits, cudaStream_t stream)
{
    const dim3 grid(static_cast<unsigned>(heads), static_cast<unsigned>(splits),
                    static_cast<unsigned>(slices(shape.head_dim)));
    const task<T> arguments = {p,
                               q,
                               static_cast<const segment<T> *>(keys),
                               static_cast<const segment<T> *>(values),
                               position,
                               shape,
                               1.0f / sqrtf(static_cast<float>(shape.head_dim))};
    launch(stream, grid, THREADS, kernel_for<T>(shape.head_dim), arguments);
}
} // namespace

//: attention-launcher
void attention_cuda(struct attention_partials *p, const float *q, const void *keys,
                    const void *values, const struct kv_shape *shape, int heads,
                    const int *position, int splits, cudaStream_t stream)
{
    assert(shape->head_dim % 8 == 0 && heads % shape->kv_heads == 0);
    const size_t bytes = kv_bytes(shape);
    assert(bytes > 0 && bytes <= ATTENTION_KEYS_MAX); // a step past the end is no wrap
    const auto run = shape->type == KV_F16 ? attend<__half> : attend<float>;
    run(*p, q, keys, values, *shape, heads, position, splits, stream);
}

//: attention-wave
int attention_cuda_wave(enum kv_type type, int head_dim)
{
    int device = 0;
    cudaDeviceProp properties;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        return 0;
    const int blocks = type == KV_F16 ? blocks_in_multiprocessor<__half>(head_dim)
                                      : blocks_in_multiprocessor<float>(head_dim);
    return blocks * properties.multiProcessorCount / slices(head_dim);
}
