//: attention
// Attention for one new token: each query head looks back over the cache and returns
// softmax(q k / sqrt(head_dim)) v, the softmax computed online.  The cache's positions are
// divided among splits, whose partial states split_merge combines.  Milakov and Gimelshein,
// Online normalizer calculation for softmax, 2018; Dao and others, Flash-Decoding, 2023.
#ifndef LANEWISE_ATTENTION_H
#define LANEWISE_ATTENTION_H

#include "kv_cache.h"
#include "stream.h"

enum { MAX_HEAD_DIM = 1024 };

// What each (head, split) leaves behind.  An empty split has maximum -infinity, sum 0 and
// numerators 0.
struct attention_partials {
    float *maxima;     // (heads, splits): greatest score of the split, rounded to f32
    float *sums;       // (heads, splits): sum of exp(score - maximum)
    float *numerators; // (heads, splits, head_dim): sum of exp(score - maximum) * value
};

//: attention-verbs
// The positions of one split: [begin, end) with begin = split * each, each = ceil(length /
// splits), cut at length.
// q: (heads, head_dim) f32; query head j reads kv head j / (heads / kv_heads).
// length: positions in the cache, the current token's included.
// head_dim: at most MAX_HEAD_DIM; on CUDA also a multiple of 8.
void attention_split_cpu(struct attention_partials *p, const float *q, const void *keys,
                         const void *values, const struct kv_shape *shape, int heads,
                         int length, int splits, int head, int split);
// All heads and splits.
void attention_cpu(struct attention_partials *p, const float *q, const void *keys,
                   const void *values, const struct kv_shape *shape, int heads, int length,
                   int splits);
//: attention-verbs-cuda
// Bytes of keys that a layer may have there: 2^31 segments of 16 bytes, which the kernel
// counts in 32 bits.  A caller that takes a shape from outside checks this.
#define ATTENTION_KEYS_MAX ((size_t)1 << 35)

// position: one int in device memory; length is *position + 1.  q, keys and values lie at
// multiples of 16 bytes.
void attention_cuda(struct attention_partials *p, const float *q, const void *keys,
                    const void *values, const struct kv_shape *shape, int heads,
                    const int *position, int splits, cudaStream_t stream);
// How many (head, split) pairs the current device can work on at once; 0 on a CUDA error.
int attention_cuda_wave(enum kv_type type, int head_dim);

#endif
