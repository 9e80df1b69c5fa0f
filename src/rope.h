// Rotary position embedding: pairs (i, i + head_dim / 2) of a head turn by the angle
// position * theta^(-2i / head_dim), formed in f64 and written as f32.
// Su and others, RoFormer, 2021; the pairing is GPT-NeoX's.
//: rope
#ifndef LANEWISE_ROPE_H
#define LANEWISE_ROPE_H

#include "stream.h"

// x: (heads, head_dim) f32, in place; head_dim even.
void rope_cpu(float *x, int position, double theta, int heads, int head_dim);
// position: one int in device memory.
void rope_cuda(float *x, const int *position, double theta, int heads, int head_dim,
               cudaStream_t stream);

// RMSNorm of each head of q (heads, head_dim) and k (kv_heads, head_dim) with the weights
// (head_dim) of its kind, then RoPE; in place.
struct qk_shape {
    int heads, kv_heads, head_dim;
    float epsilon;
    double theta;
};
void qk_norm_rope_cpu(float *q, float *k, const float *q_weight, const float *k_weight,
                      int position, const struct qk_shape *shape);
void qk_norm_rope_cuda(float *q, float *k, const float *q_weight, const float *k_weight,
                       const int *position, const struct qk_shape *shape,
                       cudaStream_t stream);

#endif
