// Random test data, the same in every run: numbers from a seed, and weight blocks made of
// any bits but with scales of a sensible size.
#ifndef LANEWISE_TESTS_RANDOM_H
#define LANEWISE_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <stddef.h>

struct random {
    uint64_t state; // any seed; numbers of one seed follow from each other
};

static inline uint32_t random_bits(struct random *r) // Steele and others, SplitMix, 2014
{
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

static inline float random_uniform(struct random *r) // -1 to 1
{
    return (float)((double)random_bits(r) / 2147483648.0 - 1.0);
}

static inline float random_normal(struct random *r) // near enough: a sum of twelve, scaled
{
    float sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_uniform(r);
    return sum / 2;
}

static inline void random_floats(struct random *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = random_normal(r);
}

// n numbers that depend on the seed alone, normal around 0 with this deviation.
static inline void random_fill(float *x, int n, int seed, float deviation)
{
    struct random r = {(uint64_t)(uint32_t)seed};
    for (int i = 0; i < n; i++)
        x[i] = deviation * random_normal(&r);
}

static inline void random_bytes(struct random *r, void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)random_bits(r);
}

// The bits of a half between 2^-9 and 2^-8, of either sign: a likely scale of a block.
static inline uint16_t random_half_scale(struct random *r)
{
    return (uint16_t)(0x1800 | (random_bits(r) & 0x83ff));
}

#endif
