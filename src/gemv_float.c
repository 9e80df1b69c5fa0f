//: gemv-float-oracle
// The CPU oracle of y = W x for weights that meet f32 activations; see gemv_float.h.  A
// short piece of a row at a time becomes floats: never a whole matrix, nor a whole row.
#include "gemv_float.h"

#include <stddef.h>

#include "quant_blocks.h"

enum { PIECE = 256 }; // values; whole blocks of every type

// Eight sums side by side, so that a compiler can keep them in one vector.
static double piece_dot(const float *w, const float *x, int n)
{
    double lane[8] = {0}, total = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] += (double)w[i + l] * (double)x[i + l];
    for (; i < n; i++)
        total += (double)w[i] * (double)x[i];
    for (int l = 0; l < 8; l++)
        total += lane[l];
    return total;
}

//: gemv-float-oracle-row
void gemv_float_cpu(float *y, const void *w, enum tensor_type type, const float *x,
                    int rows, int columns)
{
    struct block_layout layout = tensor_layout(type);
    const char *next = w;
    for (int r = 0; r < rows; r++) {
        double total = 0;
        for (int begin = 0; begin < columns; begin += PIECE) {
            int n = columns - begin < PIECE ? columns - begin : PIECE;
            float piece[PIECE];
            dequantize_row_cpu(piece, next, type, n);
            total += piece_dot(piece, x + begin, n);
            next += (ptrdiff_t)(n / layout.block_values) * layout.block_bytes;
        }
        y[r] = (float)total;
    }
}
