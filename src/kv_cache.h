//: kv-cache
// The cache: keys and values of every position so far, one such pair of arrays for each
// layer.  An array is (kv_heads, max_context, head_dim), head_dim contiguous, as f16 or
// f32:
//
//   strides in elements: head max_context * head_dim, position head_dim, dimension 1
//
// Decoding writes one position a token and reads all of them; nothing is ever moved.
#ifndef LANEWISE_KV_CACHE_H
#define LANEWISE_KV_CACHE_H

#include <stddef.h>

#include "stream.h"

enum kv_type { KV_F16, KV_F32 };

struct kv_shape {
    enum kv_type type;
    int kv_heads, max_context, head_dim; // all at least 1
};

//: kv-cache-verbs
// Bytes of one layer's keys (its values take as many); 0 if that does not fit a size_t.
size_t kv_bytes(const struct kv_shape *shape);

// Stores k and v, each (kv_heads, head_dim) f32, at a position in 0..max_context-1; f16
// rounds to nearest even.  The CUDA form reads the position from device memory: one int.
void kv_append_cpu(void *keys, void *values, const float *k, const float *v, int position,
                   const struct kv_shape *shape);
void kv_append_cuda(void *keys, void *values, const float *k, const float *v,
                    const int *position, const struct kv_shape *shape, cudaStream_t stream);

#endif
