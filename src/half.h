//: half
// Sixteen-bit floats, converted by integer arithmetic alone: IEEE half precision (f16) and
// bfloat16.  Branch-free, so that a compiler can turn a loop of conversions into vectors.
#ifndef LANEWISE_HALF_H
#define LANEWISE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float float_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// Exact for every half: subnormals, infinities and NaN included.
static inline float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
    // Scaling by 2^112 moves the exponent's bias from 15 to 127 and normalizes subnormals.
    uint32_t finite = bits_from_float(float_from_bits(rest) * 0x1p112f);
    uint32_t bits = rest >= 0x7c00u << 13 ? rest | 0x7f800000u : finite;
    return float_from_bits(sign | bits);
}

// Rounds to nearest, ties to even; overflow gives infinity, NaN stays NaN.
uint16_t half_from_float(float x);

static inline float bf16_to_float(uint16_t bf16)
{
    return float_from_bits((uint32_t)bf16 << 16);
}

#endif
