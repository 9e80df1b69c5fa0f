//: gemv-q4k-oracle
// The CPU oracle of y = W x with Q4_K weights; see gemv_q4k.h.  Codes meet codes in
// integers, exactly; one product in f32 scales the 32 of a sub-block; products add up in
// double.
#include "gemv_q4k.h"

#include "half.h"

// Of one sub-block: the dot product of its codes with an activation block's codes, and the
// sum of those, which the minimum is multiplied by.
struct code_sums {
    int dot, sum;
};

static struct code_sums multiply_codes(const uint8_t weights[32], int shift,
                                       const int8_t x[32])
{
    struct code_sums s = {0, 0};
    int16_t codes[32];
    for (int i = 0; i < 32; i++)
        codes[i] = weights[i] >> shift & 15;
    for (int i = 0; i < 32; i++) {
        s.dot += codes[i] * (int16_t)x[i];
        s.sum += x[i];
    }
    return s;
}

//: gemv-q4k-oracle-row
static double superblock_dot(const struct block_q4k *w, const struct block_q8_1 *x)
{
    float d = half_to_float(w->d), dmin = half_to_float(w->dmin);
    double total = 0;
    for (int j = 0; j < 8; j++) {
        int scale, min;
        q4k_scale_min(w->scales, j, &scale, &min);
        const uint8_t *codes = w->codes + 32 * (j / 2);
        struct code_sums s = multiply_codes(codes, 4 * (j % 2), x[j].codes);
        float product = d * (float)scale * (float)s.dot - dmin * (float)min * (float)s.sum;
        total += (double)(half_to_float(x[j].d) * product);
    }
    return total;
}

void gemv_q4k_cpu(float *y, const struct block_q4k *w, const struct block_q8_1 *x, int rows,
                  int columns)
{
    int superblocks = columns / 256;
    for (int r = 0; r < rows; r++) {
        double total = 0;
        for (int b = 0; b < superblocks; b++)
            total += superblock_dot(w++, x + 8 * b);
        y[r] = (float)total;
    }
}
