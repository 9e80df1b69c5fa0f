// Numbers for tests: the same for the same seed, on every machine.
#ifndef LANEWISE_TESTS_SEEDED_H
#define LANEWISE_TESTS_SEEDED_H

#include <stdint.h>
#include <stdlib.h>

// Steele and others, SplitMix, 2014: 64 well-mixed bits a call.
static inline uint64_t seeded_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Uniform in (-1, 1), never zero.
static inline float seeded_unit(uint64_t *state)
{
    return ((float)(seeded_next(state) >> 41) + 0.5f) * 0x1p-22f - 1.0f;
}

// n values in a bell around 0, none beyond 3 * spread: the sum of three uniform ones.
static inline void seeded_fill(float *x, int n, int seed, float spread)
{
    uint64_t state = (uint64_t)(unsigned)seed;
    for (int i = 0; i < n; i++) {
        float sum = seeded_unit(&state);
        sum += seeded_unit(&state);
        sum += seeded_unit(&state);
        x[i] = spread * sum;
    }
}

// The same in new memory; the caller frees it.
static inline float *seeded_floats(int n, int seed, float spread)
{
    float *x = (float *)malloc((size_t)n * sizeof *x);
    if (x == NULL)
        abort();
    seeded_fill(x, n, seed, spread);
    return x;
}

#endif
