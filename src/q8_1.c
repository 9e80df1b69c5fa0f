//: q8-1-oracle
// Quantizes activations to q8_1; see q8_1.h.  The order of every sum is the one in which a
// warp adds its 32 values, so that CPU and GPU write the same bytes.
#include "q8_1.h"

#include <math.h>
#include <string.h>

#include "half.h"

// The largest magnitude, compared as bit patterns, which are ordered like the magnitudes
// they stand for.  NaN is above infinity: a NaN among the values becomes the maximum.
static float largest_magnitude(const float x[32])
{
    uint32_t max = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = bits_from_float(x[i]) & 0x7fffffff;
        max = bits > max ? bits : max;
    }
    return float_from_bits(max);
}

//: q8-1-oracle-sum
// The sum of 32 values as a butterfly of 16, 8, 4, 2 and 1 lanes apart gives it: there
// every lane adds its partner's value, and since a + b is b + a, all lanes get the bits
// that lane 0 gets here.
static float butterfly_sum(const float x[32])
{
    float lane[32];
    memcpy(lane, x, sizeof lane);
    for (int step = 16; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            lane[i] += lane[i + step];
    return lane[0];
}

//: q8-1-oracle-block
// What the values are divided by: the scale before it is rounded to f16.
static float divisor(float max)
{
    return max / 127.0f;
}

// 0 where the division has no meaning: all values zero, one of them infinite or NaN, or all
// so small that max / 127 is 0.  Among subnormal numbers max / 127 is so coarse that
// x / divisor can pass 127.
static int8_t code_of(float x, float divisor)
{
    if (!(divisor > 0 && divisor < INFINITY))
        return 0;
    return (int8_t)fminf(fmaxf(roundf(x / divisor), -127), 127);
}

//: q8-1-oracle-blocks
void q8_1_cpu(struct block_q8_1 *blocks, const float *x, int n)
{
    for (int b = 0; b < n / 32; b++, x += 32) {
        float max = largest_magnitude(x);
        for (int i = 0; i < 32; i++)
            blocks[b].codes[i] = code_of(x[i], divisor(max));
        blocks[b].d = half_from_float(max / 127.0f);
        blocks[b].sum = half_from_float(butterfly_sum(x));
    }
}
