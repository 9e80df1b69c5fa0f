#include "gemv_q6k.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "main.h"
#include "random.h"

static double from_half(uint16_t bits) // by the compiler's own conversion
{
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return (double)half;
}

//: gemv-q6k-test-by-hand
START_TEST(one_block_worked_by_hand)
{
    // The four quarters of each half have the codes 1, 1 + 16, 2 + 32 and 2 + 48; minus 32
    // these are -31, -15, 2 and 18.
    struct block_q6k w = {.d = 0x3800, .scales = {[0] = 2, [15] = -3}}; // d = 0.5
    memset(w.low, 0x21, sizeof w.low);
    memset(w.high, 0xe4, sizeof w.high); // 3, 2, 1, 0
    struct block_q8_1 x[8] = {
        [0] = {.codes = {[0] = 4}, .d = 0x3c00},  // 1
        [7] = {.codes = {[31] = 2}, .d = 0x4000}, // 2
    };
    float y;
    gemv_q6k_cpu(&y, &w, x, 1, 256);
    // Value 0: 1 * (0.5 * 2 * (-31 * 4)) = -124.  Value 255, in the last quarter of the
    // second half: 2 * (0.5 * -3 * (18 * 2)) = -108.
    ck_assert(y == -232);
}
END_TEST

//: gemv-q6k-test-double
// One weight by the format's formula, in double.
static double weight(const struct block_q6k *b, int i)
{
    int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    int low = b->low[64 * half + 32 * (quarter & 1) + l];
    int high = b->high[32 * half + l];
    low = quarter < 2 ? low % 16 : low / 16;
    for (int shift = 0; shift < quarter; shift++)
        high /= 4;
    return from_half(b->d) * b->scales[i / 16] * (low + high % 4 * 16 - 32);
}

//: gemv-q6k-test-row
static double row_dot(const struct block_q6k *w, const struct block_q8_1 *x, int columns,
                      double *magnitude)
{
    double sum = 0;
    *magnitude = 0;
    for (int i = 0; i < columns; i++) {
        double term = weight(&w[i / 256], i % 256) *
                      (x[i / 32].codes[i % 32] * from_half(x[i / 32].d));
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

static void check_shape(struct random *r, int rows, int columns)
{
    size_t blocks = (size_t)rows * (size_t)columns / 256, x_blocks = (size_t)columns / 32;
    struct block_q6k *w = malloc(blocks * sizeof *w);
    struct block_q8_1 *x = malloc(x_blocks * sizeof *x);
    float *y = malloc((size_t)rows * sizeof *y);
    random_bytes(r, w, blocks * sizeof *w);
    random_bytes(r, x, x_blocks * sizeof *x); // the stored sums are any bits, NaN too
    for (size_t b = 0; b < blocks; b++)
        w[b].d = random_half_scale(r);
    for (size_t b = 0; b < x_blocks; b++)
        x[b].d = random_half_scale(r) & 0x7fff;
    gemv_q6k_cpu(y, w, x, rows, columns);
    for (int i = 0; i < rows; i++) {
        double magnitude;
        double exact = row_dot(w + i * (columns / 256), x, columns, &magnitude);
        ck_assert(isfinite(y[i]));
        ck_assert(fabs((double)y[i] - exact) <= 4 * 0x1p-24 * magnitude);
    }
    free(w);
    free(x);
    free(y);
}

//: gemv-q6k-test-random
START_TEST(random_rows_match_the_formula_in_double)
{
    struct random r = {6};
    const int rows[] = {1, 3, 5, 33}, columns[] = {256, 512, 768, 1024, 4096, 25600};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 6; k++)
            check_shape(&r, rows[i], columns[k]);
}
END_TEST

//: gemv-q6k-test-largest
START_TEST(the_largest_codes_and_scales_are_exact)
{
    struct block_q6k w = {.d = 0x3c00};
    struct block_q8_1 x[8];
    memset(w.scales, -128, sizeof w.scales);
    memset(x, 0, sizeof x);
    for (int b = 0; b < 8; b++) {
        memset(x[b].codes, -127, 32);
        x[b].d = 0x3c00;
    }
    float y;
    gemv_q6k_cpu(&y, &w, x, 1, 256);
    ck_assert(y == -256.0f * 128 * 32 * 127); // every code is 0 - 32
    memset(w.low, 0xff, sizeof w.low);
    memset(w.high, 0xff, sizeof w.high);
    gemv_q6k_cpu(&y, &w, x, 1, 256);
    ck_assert(y == 256.0f * 128 * 31 * 127);
}
END_TEST

//: gemv-q6k-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("gemv_q6k");
    add_case(s, "core", one_block_worked_by_hand, random_rows_match_the_formula_in_double,
             NULL);
    add_case(s, "limits", the_largest_codes_and_scales_are_exact, NULL);
    return s;
}
