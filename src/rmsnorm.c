//: rmsnorm-oracle
// RMSNorm on a CPU: what a layer does to the residual stream before every matrix, and to
// each head's query and key.  All arithmetic is f64; each output is rounded to f32 once.
#include "rmsnorm.h"

#include <math.h>

#include "residual.h"

// Eight sums side by side, added up at the end: independent additions, so that a compiler
// may put them into one vector.  A float's square is exact in a double.
static double sum_of_squares(const float *x, int n)
{
    double lane[8] = {0}, sum = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++)
            lane[j] += (double)x[i + j] * x[i + j];
    for (; i < n; i++)
        lane[0] += (double)x[i] * x[i];
    for (int j = 0; j < 8; j++)
        sum += lane[j];
    return sum;
}

//: rmsnorm-rows
void rmsnorm_cpu(float *y, const float *x, const float *weight, float epsilon, int rows,
                 int columns)
{
    for (int row = 0; row < rows; row++, x += columns, y += columns) {
        double mean = sum_of_squares(x, columns) / columns;
        double scale = 1 / sqrt(mean + epsilon);
        for (int i = 0; i < columns; i++)
            y[i] = (float)(x[i] * scale * weight[i]);
    }
}

void rmsnorm_residual_cpu(float *y, const float *left, const float *right,
                          const float *weight, float epsilon, int rows, int columns)
{
    residual_add_cpu(y, left, right, rows * columns);
    rmsnorm_cpu(y, y, weight, epsilon, rows, columns);
}

void rmsnorm_q8_1_cpu(float *y, struct block_q8_1 *blocks, const float *x,
                      const float *weight, float epsilon, int columns)
{
    rmsnorm_cpu(y, x, weight, epsilon, 1, columns);
    q8_1_cpu(blocks, y, columns);
}
