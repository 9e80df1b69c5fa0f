//: split-merge
// Combines the partial states that attention's splits leave: with M the greatest maximum,
//
//   out = sum_s exp(maxima[s] - M) numerators[s]  /  sum_s exp(maxima[s] - M) sums[s]
//
// each dimension's sum in ascending order of s.  Dao and others, Flash-Decoding, 2023.
#ifndef LANEWISE_SPLIT_MERGE_H
#define LANEWISE_SPLIT_MERGE_H

#include "attention.h"
#include "q8_1.h"
#include "stream.h"

//: split-merge-verbs
// out: (heads, head_dim) f32.  blocks: its q8_1 form, heads * head_dim / 32 blocks, or
// null.  splits: 1..MAX_SPLITS, at least one of each head not empty.
void split_merge_cpu(float *out, struct block_q8_1 *blocks,
                     const struct attention_partials *p, int heads, int splits,
                     int head_dim);
void split_merge_cuda(float *out, struct block_q8_1 *blocks,
                      const struct attention_partials *p, int heads, int splits,
                      int head_dim, cudaStream_t stream);

#endif
