// What the tests of the matrix-vector kernels share: activations of every kind, and how
// close a result must be to the oracle's.
#ifndef LANEWISE_TESTS_CUDA_GEMV_H
#define LANEWISE_TESTS_CUDA_GEMV_H

#include <math.h>

#include "device.h"
#include "random.h"

extern "C" {
#include "q8_1.h"
}

//: gemv-test-close
// Finite, each within 1e-5 of the largest |expected|, and a mean square error within 1e-10
// of the mean square.  In f32 a sum of n terms in any order is off by some 6e-8 * sqrt(n).
// least: a size that the largest is sure to have but for chance, where rows are few.
static inline void check_close(const std::vector<float> &found,
                               const std::vector<float> &expected, double least = 0)
{
    double largest = least, error = 0, power = least * least;
    for (float y : expected)
        largest = fmax(largest, fabs(static_cast<double>(y)));
    for (size_t i = 0; i < expected.size(); i++) {
        const double e = static_cast<double>(found[i]) - static_cast<double>(expected[i]);
        ck_assert_msg(isfinite(found[i]), "row %zu is %g", i,
                      static_cast<double>(found[i]));
        ck_assert_msg(fabs(e) <= 1e-5 * largest, "row %zu is %.9g, expected %.9g", i,
                      static_cast<double>(found[i]), static_cast<double>(expected[i]));
        error += e * e;
        power += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    ck_assert(error <= 1e-10 * power);
}

//: gemv-test-kinds
enum activation_kind {
    NORMAL,
    OUTLIER,   // one value of 3000 among small ones
    ALL_LARGE, // 3000 everywhere: the f16 sums of the q8_1 blocks overflow
    SPARSE,    // most blocks zero
    DENORMAL,  // so small that the f16 scales are subnormal
    ACTIVATION_KINDS
};

//: gemv-test-activations
static inline std::vector<float> random_activations(struct random *r, int n, int kind)
{
    std::vector<float> x(static_cast<size_t>(n));
    random_floats(r, x.data(), x.size());
    for (size_t i = 0; i < x.size(); i++) {
        if (kind == ALL_LARGE)
            x[i] = 3000;
        if (kind == SPARSE && i / 32 % 5 != 0)
            x[i] = 0;
        if (kind == DENORMAL)
            x[i] *= 1e-4f;
    }
    if (kind == OUTLIER)
        x[random_bits(r) % x.size()] = 3000;
    return x;
}

static inline std::vector<block_q8_1> quantized(const std::vector<float> &x)
{
    std::vector<block_q8_1> blocks(x.size() / 32);
    q8_1_cpu(blocks.data(), x.data(), static_cast<int>(x.size()));
    return blocks;
}

#endif
