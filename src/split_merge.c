//: split-merge-oracle
// The merge of attention's splits on the CPU; see split_merge.h for the formula.
#include "split_merge.h"

#include <assert.h>
#include <math.h>

#include "split_count.h"

static float greatest(const float *x, int n)
{
    float maximum = -INFINITY;
    for (int i = 0; i < n; i++)
        if (x[i] > maximum)
            maximum = x[i];
    return maximum;
}

//: split-merge-oracle-head
static void merge_head(float *out, const float *maxima, const float *sums,
                       const float *numerators, int splits, int head_dim)
{
    const float maximum = greatest(maxima, splits);
    double weights[MAX_SPLITS], denominator = 0;
    for (int s = 0; s < splits; s++) {
        weights[s] = exp((double)maxima[s] - (double)maximum); // 0 where the split is empty
        denominator += weights[s] * (double)sums[s];
    }
    for (int i = 0; i < head_dim; i++) {
        double numerator = 0;
        for (int s = 0; s < splits; s++)
            numerator += weights[s] * (double)numerators[s * head_dim + i];
        out[i] = (float)(numerator / denominator);
    }
}

//: split-merge-oracle-all
void split_merge_cpu(float *out, struct block_q8_1 *blocks,
                     const struct attention_partials *p, int heads, int splits,
                     int head_dim)
{
    assert(splits >= 1 && splits <= MAX_SPLITS);
    for (int head = 0; head < heads; head++) {
        const size_t partial = (size_t)head * (size_t)splits;
        merge_head(out + head * head_dim, p->maxima + partial, p->sums + partial,
                   p->numerators + partial * (size_t)head_dim, splits, head_dim);
    }
    if (blocks)
        q8_1_cpu(blocks, out, heads * head_dim);
}
