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

//: gemv-q4k-oracle-factors
// The eight scales times d and the eight minima times dmin: q4k_scale_min for all
// sub-blocks at once, which a compiler can turn into a few vector instructions.
static void q4k_factors(float scales[8], float mins[8], const struct block_q4k *w)
{
    float d = half_to_float(w->d), dmin = half_to_float(w->dmin);
    const uint8_t *s = w->scales;
    for (int j = 0; j < 4; j++) {
        scales[j] = d * (float)(s[j] & 63);
        mins[j] = dmin * (float)(s[j + 4] & 63);
        scales[j + 4] = d * (float)((s[j + 8] & 15) | s[j] >> 6 << 4);
        mins[j + 4] = dmin * (float)(s[j + 8] >> 4 | s[j + 4] >> 6 << 4);
    }
}

//: gemv-q4k-oracle-superblock
static double superblock_dot(const struct block_q4k *w, const struct q8_1_wide *x)
{
    float scales[8], mins[8], products[8];
    int16_t codes[256];
    int dots[8];
    double total = 0;
    q4k_factors(scales, mins, w);
    q4k_codes(codes, w);
    for (int j = 0; j < 8; j++) {
        int dot = 0;
        for (int i = 32 * j; i < 32 * j + 32; i++)
            dot += codes[i] * x->codes[i];
        dots[j] = dot;
    }
    for (int j = 0; j < 8; j++)
        products[j] = x->d[j] * (scales[j] * (float)dots[j] - mins[j] * (float)x->sums[j]);
    for (int j = 0; j < 8; j++)
        total += (double)products[j];
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
