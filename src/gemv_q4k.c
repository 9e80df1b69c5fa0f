//: gemv-q4k-oracle
// The CPU oracle of y = W x with Q4_K weights; see gemv_q4k.h.  Codes meet codes in
// integers, exactly; one product in f32 scales the 32 of a sub-block; products add up in
// double.
#include "gemv_q4k.h"

#include "half.h"
#include "q8_1_wide.h"

// The 256 codes of a superblock in the order of its values.
static void q4k_codes(int16_t codes[256], const struct block_q4k *w)
{
    for (int group = 0; group < 4; group++)
        for (int i = 0; i < 32; i++) {
            codes[64 * group + i] = w->codes[32 * group + i] & 15;
            codes[64 * group + 32 + i] = w->codes[32 * group + i] >> 4;
        }
}

//: gemv-q4k-oracle-superblock
static double superblock_dot(const struct block_q4k *w, const struct q8_1_wide *x)
{
    float d = half_to_float(w->d), dmin = half_to_float(w->dmin);
    int16_t codes[256];
    double total = 0;
    q4k_codes(codes, w);
    for (int j = 0; j < 8; j++) {
        int scale, min, dot = 0;
        q4k_scale_min(w->scales, j, &scale, &min);
        for (int i = 32 * j; i < 32 * j + 32; i++)
            dot += codes[i] * x->codes[i];
        float product =
            d * (float)scale * (float)dot - dmin * (float)min * (float)x->sums[j];
        total += (double)(x->d[j] * product);
    }
    return total;
}

//: gemv-q4k-oracle-row
// Rows go in groups, so that the activations of a superblock are unpacked once for a group.
// Each row's own sum still runs over its superblocks in ascending order.
void gemv_q4k_cpu(float *y, const struct block_q4k *w, const struct block_q8_1 *x, int rows,
                  int columns)
{
    int superblocks = columns / 256;
    for (int first = 0; first < rows; first += ROWS_A_GROUP) {
        int count = rows - first < ROWS_A_GROUP ? rows - first : ROWS_A_GROUP;
        const struct block_q4k *group = w + (size_t)first * (size_t)superblocks;
        double totals[ROWS_A_GROUP] = {0};
        for (int b = 0; b < superblocks; b++) {
            struct q8_1_wide wide;
            q8_1_widen(&wide, x + 8 * b);
            for (int r = 0; r < count; r++)
                totals[r] += superblock_dot(&group[r * superblocks + b], &wide);
        }
        for (int r = 0; r < count; r++)
            y[first + r] = (float)totals[r];
    }
}
