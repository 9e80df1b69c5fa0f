// What the tests of weight formats share: rows of random blocks in any of the seven
// formats, and the value of one weight from the definition of its format, in double.
#ifndef LANEWISE_TESTS_BLOCKS_H
#define LANEWISE_TESTS_BLOCKS_H

#include <stdbool.h>
#include <string.h>

#include "half.h"
#include "quant_blocks.h"
#include "random.h"

static const enum tensor_type all_types[7] = {TENSOR_F32,  TENSOR_F16,  TENSOR_BF16,
                                              TENSOR_Q8_0, TENSOR_Q4_K, TENSOR_Q5_K,
                                              TENSOR_Q6_K};

// Every bit of codes and of packed scales is random; f16 scales are small numbers.
static inline void random_block(struct random *r, void *block, enum tensor_type type)
{
    uint8_t *bytes = (uint8_t *)block;
    uint16_t d = random_half_scale(r), dmin = random_half_scale(r);
    float x = random_normal(r);
    uint32_t bits = bits_from_float(x);
    uint16_t f16 = half_from_float(x), bf16 = (uint16_t)(bits >> 16);
    random_bytes(r, bytes, (size_t)tensor_layout(type).block_bytes);
    if (type == TENSOR_F32)
        memcpy(bytes, &x, 4);
    else if (type == TENSOR_F16 || type == TENSOR_BF16)
        memcpy(bytes, type == TENSOR_F16 ? &f16 : &bf16, 2);
    else
        memcpy(type == TENSOR_Q6_K ? bytes + 208 : bytes, &d, 2);
    if (type == TENSOR_Q4_K || type == TENSOR_Q5_K)
        memcpy(bytes + 2, &dmin, 2);
}

static inline void random_blocks(struct random *r, void *blocks, enum tensor_type type,
                                 size_t count)
{
    size_t bytes = (size_t)tensor_layout(type).block_bytes;
    for (size_t i = 0; i < count; i++)
        random_block(r, (uint8_t *)blocks + i * bytes, type);
}

//: blocks-bits
// `count` bits of a block from bit `first` on, the lowest bit of byte 0 being bit 0.
static inline int bits_at(const uint8_t *block, int first, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++)
        value |= (block[(first + i) / 8] >> (first + i) % 8 & 1) << i;
    return value;
}

static inline double half_at(const uint8_t *block, int byte)
{
    return (double)half_to_float((uint16_t)bits_at(block, 8 * byte, 16));
}

//: blocks-k
// Value n of a Q4_K or Q5_K block, whose fifth bits lie from byte 16 on if it has them.
static inline double k_value(const uint8_t *block, bool fifth, int n)
{
    int j = n / 32, s = 32; // s: the first bit of the 12 bytes of scales
    int scale = bits_at(block, s + 8 * j, 6), min = bits_at(block, s + 8 * j + 32, 6);
    if (j >= 4) {
        scale = bits_at(block, s + 8 * j + 32, 4) + 16 * bits_at(block, s + 8 * j - 26, 2);
        min = bits_at(block, s + 8 * j + 36, 4) + 16 * bits_at(block, s + 8 * j + 6, 2);
    }
    int codes = fifth ? 48 : 16;
    int code = bits_at(block, 8 * (codes + n / 64 * 32 + n % 32) + n / 32 % 2 * 4, 4);
    if (fifth)
        code += 16 * bits_at(block, 8 * (16 + n % 32) + j, 1);
    return half_at(block, 0) * scale * code - half_at(block, 2) * min;
}

//: blocks-q6k
static inline double q6k_value(const uint8_t *block, int n)
{
    int part = n / 128, quarter = n % 128 / 32, l = n % 32;
    static const int low_byte[4] = {0, 32, 0, 32}, low_bit[4] = {0, 0, 4, 4};
    int code =
        bits_at(block, 8 * (64 * part + low_byte[quarter] + l) + low_bit[quarter], 4) +
        16 * bits_at(block, 8 * (128 + 32 * part + l) + 2 * quarter, 2);
    int scale = (int8_t)block[192 + n / 16];
    return half_at(block, 208) * scale * (code - 32);
}

//: blocks-value
// Value number `column` of a row.  Exact: every format's products fit in a double, and so
// does the difference of Q4_K and Q5_K, which spans 50 bits at most.
static inline double value_by_definition(const void *row, enum tensor_type type, int column)
{
    struct block_layout layout = tensor_layout(type);
    const uint8_t *block = (const uint8_t *)row +
                           (ptrdiff_t)(column / layout.block_values) * layout.block_bytes;
    int n = column % layout.block_values;
    float x;
    switch (type) {
    case TENSOR_F32:
        memcpy(&x, block, 4);
        return (double)x;
    case TENSOR_F16:
        return half_at(block, 0);
    case TENSOR_BF16:
        return (double)float_from_bits((uint32_t)bits_at(block, 0, 16) << 16);
    case TENSOR_Q8_0:
        return half_at(block, 0) * (int8_t)block[2 + n];
    case TENSOR_Q6_K:
        return q6k_value(block, n);
    default:
        return k_value(block, type == TENSOR_Q5_K, n);
    }
}

#endif
