//: split-count-search
// The number of splits: as many blocks as run at once, and not one more.
#include "split_count.h"

int context_bucket(int length, int context)
{
    int bucket = FIRST_BUCKET;
    while (bucket < length && bucket <= context / 2)
        bucket *= 2;
    return bucket < length || bucket > context ? context : bucket;
}

int split_count(int bucket, int heads, int wave_blocks)
{
    int best = 1;
    for (int splits = 1; splits <= MAX_SPLITS && splits <= bucket / TILE_POSITIONS;
         splits++)
        if (splits <= wave_blocks / heads) // heads * splits blocks, all in one wave
            best = splits;                 // more blocks, and so a higher utilization
    return best;
}
