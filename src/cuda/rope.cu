//: rope-kernel
// RoPE on a GPU, alone and joined with the norm of queries and keys.
#include "launch.h"
#include "rmsnorm_device.h"
extern "C" {
#include "rope.h"
}

#include <cmath>

namespace
{
//: rope-turn
struct turn {
    double cosine, sine;
};

// theta^(-2 * pair / head_dim) as 2^(pair * step), step = -2 * log2(theta) / head_dim: a
// power of two costs a fraction of pow, and every f64 operation of a GeForce is dear.
__device__ turn turn_of(int pair, int position, double step)
{
    const double angle = position * exp2(pair * step);
    turn by;
    sincos(angle, &by.sine, &by.cosine);
    return by;
}

// Turns the pair (a, b) and writes it to *first and *second.
__device__ void turn_pair(float *first, float *second, float a, float b, turn by)
{
    *first = static_cast<float>(a * by.cosine - b * by.sine);
    *second = static_cast<float>(a * by.sine + b * by.cosine);
}

//: rope-elementwise
// One thread a pair, over all heads.
__global__ void rope_kernel(float *x, const int *position, double step, int pairs,
                            int reach)
{
    const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
    if (i >= pairs)
        return;
    const int pair = i % reach;
    float *first = x + (i / reach) * 2 * reach + pair;
    turn_pair(first, first + reach, first[0], first[reach], turn_of(pair, *position, step));
}

//: qk-norm-rope-kernel
struct norm_rope {
    float *q, *k;
    const float *q_weight, *k_weight;
    const int *position;
    int heads, head_dim;
    float epsilon;
    double step;
};

//: qk-norm-rope-heads
// One block a head, those of q first.  Thread t turns pair t; its angle needs nothing of
// the head, so it is formed before the block meets to add up squares.
__global__ void qk_norm_rope_kernel(norm_rope p)
{
    const int block = static_cast<int>(blockIdx.x), reach = p.head_dim / 2;
    const bool query = block < p.heads;
    float *head = query ? p.q + block * p.head_dim : p.k + (block - p.heads) * p.head_dim;
    const float *weight = query ? p.q_weight : p.k_weight;
    const int first = static_cast<int>(threadIdx.x), position = *p.position;
    turn by = {};
    if (first < reach)
        by = turn_of(first, position, p.step);
    const float scale = rmsnorm_scale(plain_row{head}, p.epsilon, p.head_dim);
    for (int i = first; i < reach; i += 256) {
        if (i != first)
            by = turn_of(i, position, p.step);
        turn_pair(head + i, head + i + reach, head[i] * scale * weight[i],
                  head[i + reach] * scale * weight[i + reach], by);
    }
}

//: rope-launchers
double step_of(double theta, int head_dim)
{
    return -2 * log2(theta) / head_dim;
}
} // namespace

void rope_cuda(float *x, const int *position, double theta, int heads, int head_dim,
               cudaStream_t stream)
{
    const int reach = head_dim / 2, pairs = heads * reach;
    launch(stream, (pairs + 255) / 256, 256, rope_kernel, x, position,
           step_of(theta, head_dim), pairs, reach);
}

//: qk-norm-rope-launcher
void qk_norm_rope_cuda(float *q, float *k, const float *q_weight, const float *k_weight,
                       const int *position, const struct qk_shape *shape,
                       cudaStream_t stream)
{
    const norm_rope arguments = {q,
                                 k,
                                 q_weight,
                                 k_weight,
                                 position,
                                 shape->heads,
                                 shape->head_dim,
                                 shape->epsilon,
                                 step_of(shape->theta, shape->head_dim)};
    launch(stream, shape->heads + shape->kv_heads, 256, qk_norm_rope_kernel, arguments);
}
