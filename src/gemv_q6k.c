//: gemv-q6k-oracle
// The CPU oracle of y = W x with Q6_K weights; see gemv_q6k.h.  Sixteen weights share a
// scale and 32 activations do, so the exact integer dots are over 16 codes.
#include "gemv_q6k.h"

#include "half.h"

// The codes of sub-block s = 0..15, minus 32.  It is part s % 2 of quarter s / 2 % 4 of
// half s / 8 of the block.
static void q6k_codes(int16_t codes[16], const struct block_q6k *w, int s)
{
    int half = s / 8, quarter = s / 2 % 4, part = s % 2;
    const uint8_t *low = w->low + 64 * half + 32 * (quarter % 2) + 16 * part;
    const uint8_t *high = w->high + 32 * half + 16 * part;
    int low_shift = 4 * (quarter / 2), high_shift = 2 * quarter;
    for (int i = 0; i < 16; i++) {
        int code = (low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4;
        codes[i] = (int16_t)(code - 32);
    }
}

//: gemv-q6k-oracle-row
static double block_dot(const struct block_q6k *w, const struct block_q8_1 *x)
{
    float d = half_to_float(w->d);
    double total = 0;
    for (int s = 0; s < 16; s++) {
        const int8_t *x_codes = x[s / 2].codes + 16 * (s % 2);
        int16_t codes[16];
        int dot = 0;
        q6k_codes(codes, w, s);
        for (int i = 0; i < 16; i++)
            dot += codes[i] * (int16_t)x_codes[i];
        float product = d * (float)w->scales[s] * (float)dot;
        total += (double)(half_to_float(x[s / 2].d) * product);
    }
    return total;
}

void gemv_q6k_cpu(float *y, const struct block_q6k *w, const struct block_q8_1 *x, int rows,
                  int columns)
{
    int blocks = columns / 256;
    for (int r = 0; r < rows; r++) {
        double total = 0;
        for (int b = 0; b < blocks; b++)
            total += block_dot(w++, x + 8 * b);
        y[r] = (float)total;
    }
}
