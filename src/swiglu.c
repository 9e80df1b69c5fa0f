//: swiglu-oracle
// SwiGLU on a CPU: between a layer's gate and up products and its down product, each value
// of gate decides how much of its neighbour in up goes on.  f64, rounded to f32 once.
#include "swiglu.h"

#include <math.h>
#include <stddef.h>

void swiglu_cpu(float *y, struct block_q8_1 *blocks, const float *gate, const float *up,
                int n)
{
    for (int i = 0; i < n; i++) {
        const double x = gate[i], silu = x / (1 + exp(-x));
        y[i] = (float)(silu * up[i]);
    }
    if (blocks != NULL)
        q8_1_cpu(blocks, y, n);
}
