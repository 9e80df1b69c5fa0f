//: half
// Sixteen-bit floats.  The two formats of GGUF, the bits from the highest to the lowest:
//   f16   s eeeee mmmmmmmmmm     IEEE half: exponent bias 15, 11 significant bits
//   bf16  s eeeeeeee mmmmmmm     the upper half of an f32: bias 127, 8 significant bits
// Conversions from them are exact and free of branches, so that a compiler can turn a loop
// of them into vector instructions.
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

//: half-to-float
// Every half is a float: subnormals, infinities and NaN included.
static inline float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
    // Scaling by 2^112 moves the exponent's bias from 15 to 127 and normalizes subnormals.
    uint32_t finite = bits_from_float(float_from_bits(rest) * 0x1p112f);
    // Infinity and NaN get the greatest exponent: a mask, since a choice between a product
    // and another value would keep a compiler from making vectors of it.
    uint32_t special = (0u - (uint32_t)(rest >= 0x7c00u << 13)) & 0x7f800000u;
    return float_from_bits(sign | finite | special);
}

// Rounds to nearest, ties to even; from 65520 up the result is infinity.  Every NaN gives
// 0x7fff, the NaN that the GPU's conversion gives.
uint16_t half_from_float(float x);

static inline float bf16_to_float(uint16_t bf16)
{
    return float_from_bits((uint32_t)bf16 << 16);
}

#endif
