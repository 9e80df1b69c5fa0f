//: split-count
// Into how many splits attention divides the cache.  The number is fixed for a context
// bucket, so that one captured graph serves every position of the bucket.
#ifndef LANEWISE_SPLIT_COUNT_H
#define LANEWISE_SPLIT_COUNT_H

enum { FIRST_BUCKET = 512, TILE_POSITIONS = 64, MAX_SPLITS = 64 };

// The bucket that serves length positions: the smallest power of two >= length from 512 up,
// but never more than context, which is the last bucket.  1 <= length <= context.
int context_bucket(int length, int context);

// The number of splits, 1..64, with the highest utilization of one wave of wave_blocks
// blocks, among those with at least one 64-position tile each; 1 if even that is more than
// a wave.
int split_count(int bucket, int heads, int wave_blocks);

#endif
