//: rope
// Rotary position embedding: of each head of a query or key, the values i and
// i + head_dim / 2 are a point in a plane, and the point turns by
// position * theta^(-2i / head_dim) radians.  Su and others, RoFormer, 2021; the pairing is
// GPT-NeoX's.  Angle and rotation are f64, whatever the position; each output is rounded to
// f32 once.
#ifndef LANEWISE_ROPE_H
#define LANEWISE_ROPE_H

#include "stream.h"

// x: (heads, head_dim) f32, in place; head_dim even.
void rope_cpu(float *x, int position, double theta, int heads, int head_dim);
// position: one int in device memory, read when the kernel runs: a recorded launch can be
// replayed at the next position.
void rope_cuda(float *x, const int *position, double theta, int heads, int head_dim,
               cudaStream_t stream);

//: qk-norm-rope
// RMSNorm of each head of q (heads, head_dim) and k (kv_heads, head_dim) with the weights
// (head_dim) of its kind, rounded to f32, then RoPE; in place.
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
