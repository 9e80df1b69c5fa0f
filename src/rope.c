//: rope-oracle
// RoPE on a CPU: queries and keys learn where they stand just before attention.  Angles,
// sines and rotations are f64; each output is rounded to f32 once.
#include "rope.h"

#include <math.h>

#include "rmsnorm.h"

struct turn {
    double cosine, sine;
};

static struct turn turn_of(int pair, int position, double theta, int head_dim)
{
    const double angle = position * pow(theta, -2.0 * pair / head_dim);
    return (struct turn){cos(angle), sin(angle)};
}

//: rope-pair
// Turns one pair of every head.
static void turn_pair(float *x, int pair, struct turn by, int heads, int head_dim)
{
    for (int head = 0; head < heads; head++) {
        float *first = x + head * head_dim + pair, *second = first + head_dim / 2;
        const double a = *first, b = *second;
        *first = (float)(a * by.cosine - b * by.sine);
        *second = (float)(a * by.sine + b * by.cosine);
    }
}

//: rope-heads
// Pairs outside, heads inside: the angle depends on the pair alone, so its power, sine and
// cosine are computed once for all heads.
void rope_cpu(float *x, int position, double theta, int heads, int head_dim)
{
    for (int pair = 0; pair < head_dim / 2; pair++)
        turn_pair(x, pair, turn_of(pair, position, theta, head_dim), heads, head_dim);
}

void qk_norm_rope_cpu(float *q, float *k, const float *q_weight, const float *k_weight,
                      int position, const struct qk_shape *shape)
{
    const int dim = shape->head_dim;
    rmsnorm_cpu(q, q, q_weight, shape->epsilon, shape->heads, dim);
    rmsnorm_cpu(k, k, k_weight, shape->epsilon, shape->kv_heads, dim);
    for (int pair = 0; pair < dim / 2; pair++) {
        const struct turn by = turn_of(pair, position, shape->theta, dim);
        turn_pair(q, pair, by, shape->heads, dim);
        turn_pair(k, pair, by, shape->kv_heads, dim);
    }
}
