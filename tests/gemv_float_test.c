#include "gemv_float.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "main.h"
#include "quant_blocks.h"
#include "random.h"

static double from_half(uint16_t bits) // by the compiler's own conversion
{
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return (double)half;
}

//: gemv-float-test-by-hand
START_TEST(two_rows_worked_by_hand)
{
    const float w[6] = {1, 2, 3, -1, 0.5f, 0}, x[3] = {10, 20, 30};
    float y[2];
    gemv_float_cpu(y, w, TENSOR_F32, x, 2, 3);
    ck_assert(y[0] == 140 && y[1] == 0);
    const uint16_t halves[6] = {0x3c00, 0x4000, 0x4200, 0xbc00, 0x3800, 0};
    gemv_float_cpu(y, halves, TENSOR_F16, x, 2, 3);
    ck_assert(y[0] == 140 && y[1] == 0);
    const uint16_t bf16s[6] = {0x3f80, 0x4000, 0x4040, 0xbf80, 0x3f00, 0};
    gemv_float_cpu(y, bf16s, TENSOR_BF16, x, 2, 3);
    ck_assert(y[0] == 140 && y[1] == 0);
}
END_TEST

//: gemv-float-test-weight
// Value i of a row, by each format's formula, in double.
static double weight(const void *row, enum tensor_type type, int i)
{
    const struct block_q8_0 *q8 = row;
    const struct block_q5k *b = (const struct block_q5k *)row + i / 256;
    int j = i % 256 / 32, l = i % 32;
    int scale, min, code;
    switch (type) {
    case TENSOR_F32:
        return (double)((const float *)row)[i];
    case TENSOR_F16:
        return from_half(((const uint16_t *)row)[i]);
    case TENSOR_BF16:
        return ldexp(128 + ((const uint16_t *)row)[i] % 128, -7); // 1 to 2, as made below
    case TENSOR_Q8_0:
        return from_half(q8[i / 32].d) * q8[i / 32].codes[l];
    default: // Q5_K
        q4k_scale_min(b->scales, j, &scale, &min);
        code = b->codes[32 * (j / 2) + l];
        code = (j % 2 ? code / 16 : code % 16) + 16 * (b->high[l] >> j & 1);
        return from_half(b->d) * scale * code - from_half(b->dmin) * min;
    }
}

//: gemv-float-test-fill
static void fill(struct random *r, void *row, enum tensor_type type, int columns)
{
    struct block_layout layout = tensor_layout(type);
    size_t blocks = (size_t)(columns / layout.block_values);
    random_bytes(r, row, blocks * (size_t)layout.block_bytes);
    for (size_t i = 0; i < blocks; i++) {
        if (type == TENSOR_F32)
            ((float *)row)[i] = random_normal(r);
        else if (type == TENSOR_F16)
            ((uint16_t *)row)[i] &= 0xbfff; // below 2
        else if (type == TENSOR_BF16)
            ((uint16_t *)row)[i] = 0x3f80 | (((uint16_t *)row)[i] & 0x7f);
        else if (type == TENSOR_Q8_0)
            ((struct block_q8_0 *)row)[i].d = random_half_scale(r);
        else
            ((struct block_q5k *)row)[i].d = ((struct block_q5k *)row)[i].dmin =
                random_half_scale(r);
    }
}

//: gemv-float-test-shapes
static void check_shape(struct random *r, enum tensor_type type, int rows, int columns)
{
    struct block_layout layout = tensor_layout(type);
    size_t row_bytes = (size_t)(columns / layout.block_values * layout.block_bytes);
    char *w = malloc((size_t)rows * row_bytes);
    float *x = malloc((size_t)columns * sizeof *x), *y = malloc((size_t)rows * sizeof *y);
    random_floats(r, x, (size_t)columns);
    for (int i = 0; i < rows; i++)
        fill(r, w + (size_t)i * row_bytes, type, columns);
    gemv_float_cpu(y, w, type, x, rows, columns);
    for (int i = 0; i < rows; i++) {
        double exact = 0, magnitude = 0;
        for (int k = 0; k < columns; k++) {
            double term = weight(w + (size_t)i * row_bytes, type, k) * (double)x[k];
            exact += term;
            magnitude += fabs(term);
        }
        ck_assert(isfinite(y[i]));
        ck_assert(fabs((double)y[i] - exact) <= 1e-6 * magnitude);
    }
    free(w);
    free(x);
    free(y);
}

//: gemv-float-test-random
START_TEST(random_rows_of_every_type_match_double)
{
    struct random r = {7};
    const enum tensor_type types[] = {TENSOR_F32, TENSOR_F16, TENSOR_BF16, TENSOR_Q8_0,
                                      TENSOR_Q5_K};
    const int rows[] = {1, 3, 33};
    for (int t = 0; t < 5; t++)
        for (int i = 0; i < 3; i++)
            for (int columns = 256; columns <= 4096; columns *= 4)
                check_shape(&r, types[t], rows[i], columns);
}
END_TEST

//: gemv-float-test-ragged
START_TEST(rows_need_not_fill_a_piece)
{
    struct random r = {8};
    const int columns[] = {1, 7, 31, 33, 255, 257, 1000};
    for (int i = 0; i < 7; i++) {
        check_shape(&r, TENSOR_F32, 5, columns[i]);
        check_shape(&r, TENSOR_F16, 5, columns[i]);
        check_shape(&r, TENSOR_BF16, 5, columns[i]);
        check_shape(&r, TENSOR_Q8_0, 5, 32 * columns[i]);
    }
}
END_TEST

//: gemv-float-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("gemv_float");
    add_case(s, "core", two_rows_worked_by_hand, random_rows_of_every_type_match_double,
             NULL);
    add_case(s, "limits", rows_need_not_fill_a_piece, NULL);
    return s;
}
