//: half-from-float
// From float to half, the one direction that rounds; see half.h.
#include "half.h"

uint16_t half_from_float(float x)
{
    uint32_t bits = bits_from_float(x);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7fffffff, half; // both without the sign
    if (rest > 0x7f800000)
        return 0x7fff; // the NaN that the GPU's own conversion gives
    if (rest >= 0x477ff000) {
        // 65520, half-way from the largest half to the next step, and up: infinity.
        half = 0x7c00;
    } else if (rest < 0x38800000) {
        // Below 2^-14 halves are multiples of 2^-24, as is the last bit of this sum.
        half = bits_from_float(float_from_bits(rest) + 0.5f) - 0x3f000000;
    } else {
        // 10 of 23 mantissa bits stay; 0xfff and the last of them round to nearest even.
        half = ((rest + 0xfff + (rest >> 13 & 1)) >> 13) - (112 << 10);
    }
    return (uint16_t)(sign | half);
}
