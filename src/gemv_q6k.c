//: gemv-q6k-oracle
// The CPU oracle of y = W x with Q6_K weights; see gemv_q6k.h.  Sixteen weights share a
// scale and 32 activations do: a scale times a code still fits sixteen bits (128 * 32), so
// the exact integer dots run over all 32.
#include "gemv_q6k.h"

#include "half.h"
#include "q8_1_wide.h"

// The 256 codes of a block in the order of its values, 0 to 63.
static void q6k_codes(uint8_t codes[256], const struct block_q6k *w)
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *low = w->low + 64 * half, *high = w->high + 32 * half;
        uint8_t *out = codes + 128 * half;
        for (int i = 0; i < 32; i++) {
            out[i] = (uint8_t)((low[i] & 15) | (high[i] & 3) << 4);
            out[32 + i] = (uint8_t)((low[32 + i] & 15) | (high[i] >> 2 & 3) << 4);
            out[64 + i] = (uint8_t)(low[i] >> 4 | (high[i] >> 4 & 3) << 4);
            out[96 + i] = (uint8_t)(low[32 + i] >> 4 | high[i] >> 6 << 4);
        }
    }
}

//: gemv-q6k-oracle-block
// The dot product of 32 weights, code minus 32, the first sixteen times one scale and the
// rest times another, with 32 activation codes.
static int scaled_dot(const uint8_t codes[32], const int8_t scales[2], const int16_t x[32])
{
    int16_t scaled[32], first = scales[0], second = scales[1];
    int dot = 0;
    for (int i = 0; i < 16; i++)
        scaled[i] = (int16_t)((codes[i] - 32) * first);
    for (int i = 16; i < 32; i++)
        scaled[i] = (int16_t)((codes[i] - 32) * second);
    for (int i = 0; i < 32; i++)
        dot += scaled[i] * x[i];
    return dot;
}

//: gemv-q6k-oracle-sum
static double block_dot(const struct block_q6k *w, const struct q8_1_wide *x)
{
    float d = half_to_float(w->d), products[8];
    uint8_t codes[256];
    int dots[8];
    double total = 0;
    q6k_codes(codes, w);
    for (int j = 0; j < 8; j++)
        dots[j] = scaled_dot(codes + 32 * j, w->scales + 2 * j, x->codes + 32 * j);
    for (int j = 0; j < 8; j++)
        products[j] = x->d[j] * (d * (float)dots[j]);
    for (int j = 0; j < 8; j++)
        total += (double)products[j];
    return total;
}

//: gemv-q6k-oracle-row
void gemv_q6k_cpu(float *y, const struct block_q6k *w, const struct block_q8_1 *x, int rows,
                  int columns)
{
    int blocks = columns / 256;
    for (int first = 0; first < rows; first += ROWS_A_GROUP) {
        int count = rows - first < ROWS_A_GROUP ? rows - first : ROWS_A_GROUP;
        const struct block_q6k *group = w + (size_t)first * (size_t)blocks;
        double totals[ROWS_A_GROUP] = {0};
        for (int b = 0; b < blocks; b++) {
            struct q8_1_wide wide;
            q8_1_widen(&wide, x + 8 * b);
            for (int r = 0; r < count; r++)
                totals[r] += block_dot(&group[r * blocks + b], &wide);
        }
        for (int r = 0; r < count; r++)
            y[first + r] = (float)totals[r];
    }
}
