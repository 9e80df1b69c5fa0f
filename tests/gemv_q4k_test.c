#include "gemv_q4k.h"

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

//: gemv-q4k-test-by-hand
START_TEST(one_superblock_worked_by_hand)
{
    // Every low nibble is 3, every high one 5; every scale is 1; sub-blocks 4 to 7 have the
    // minimum 2.
    struct block_q4k w = {.d = 0x4000, .dmin = 0x3c00}; // 2 and 1
    memset(w.codes, 0x53, sizeof w.codes);
    memset(w.scales, 1, 4);
    memset(w.scales + 8, 0x21, 4);
    struct block_q8_1 x[8] = {
        [0] = {.codes = {1, 2, 3, 4}, .d = 0x3800}, // 0.5
        [5] = {.codes = {10}, .d = 0x3c00},         // 1
    };
    float y;
    gemv_q4k_cpu(&y, &w, x, 1, 256);
    // Sub-block 0: 0.5 * (2 * 1 * (3 * 1 + 3 * 2 + 3 * 3 + 3 * 4) - 1 * 0 * 10) = 30.
    // Sub-block 5: 1 * (2 * 1 * (5 * 10) - 1 * 2 * 10) = 80.
    ck_assert(y == 110);
}
END_TEST

//: gemv-q4k-test-double
// One weight by the format's formula, in double.
static double weight(const struct block_q4k *b, int i)
{
    int j = i / 32, byte = b->codes[32 * (j / 2) + i % 32];
    const uint8_t *s = b->scales;
    int scale = j < 4 ? s[j] % 64 : s[j + 4] % 16 + s[j - 4] / 64 * 16;
    int min = j < 4 ? s[j + 4] % 64 : s[j + 4] / 16 + s[j] / 64 * 16;
    int code = j % 2 == 0 ? byte % 16 : byte / 16;
    return from_half(b->d) * scale * code - from_half(b->dmin) * min;
}

//: gemv-q4k-test-row
// The row's dot product in double, and the sum of its terms' magnitudes, to which rounding
// errors are in proportion.  The sum that x stores is never read.
static double row_dot(const struct block_q4k *w, const struct block_q8_1 *x, int columns,
                      double *magnitude)
{
    double sum = 0;
    *magnitude = 0;
    for (int i = 0; i < columns; i++) {
        double code = x[i / 32].codes[i % 32] * from_half(x[i / 32].d);
        double offset = from_half(w[i / 256].dmin) * 63;
        sum += weight(&w[i / 256], i % 256) * code;
        *magnitude += fabs(code) * (fabs(weight(&w[i / 256], i % 256)) + 2 * fabs(offset));
    }
    return sum;
}

//: gemv-q4k-test-shapes
static void check_shape(struct random *r, int rows, int columns)
{
    size_t blocks = (size_t)rows * (size_t)columns / 256, x_blocks = (size_t)columns / 32;
    struct block_q4k *w = malloc(blocks * sizeof *w);
    struct block_q8_1 *x = malloc(x_blocks * sizeof *x);
    float *y = malloc((size_t)rows * sizeof *y);
    random_bytes(r, w, blocks * sizeof *w);
    random_bytes(r, x, x_blocks * sizeof *x); // the stored sums are any bits, NaN too
    for (size_t b = 0; b < blocks; b++) {
        w[b].d = random_half_scale(r);
        w[b].dmin = random_half_scale(r);
    }
    for (size_t b = 0; b < x_blocks; b++)
        x[b].d = random_half_scale(r) & 0x7fff;
    gemv_q4k_cpu(y, w, x, rows, columns);
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

//: gemv-q4k-test-random
START_TEST(random_rows_match_the_formula_in_double)
{
    struct random r = {5};
    const int rows[] = {1, 3, 5, 33}, columns[] = {256, 512, 768, 1024, 4096, 25600};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 6; k++)
            check_shape(&r, rows[i], columns[k]);
}
END_TEST

//: gemv-q4k-test-largest
START_TEST(the_largest_codes_and_scales_are_exact)
{
    struct block_q4k w = {.d = 0x3c00, .dmin = 0x3c00};
    struct block_q8_1 x[8];
    memset(w.codes, 0xff, sizeof w.codes);
    memset(w.scales, 0xff, sizeof w.scales);
    memset(x, 0, sizeof x);
    for (int b = 0; b < 8; b++) {
        memset(x[b].codes, -127, 32);
        x[b].d = 0x3c00;
    }
    float y;
    gemv_q4k_cpu(&y, &w, x, 1, 256);
    // 256 weights of 63 * 15 - 63 = 882, times -127.
    ck_assert(y == -256.0f * 882 * 127);
}
END_TEST

//: gemv-q4k-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("gemv_q4k");
    add_case(s, "core", one_superblock_worked_by_hand,
             random_rows_match_the_formula_in_double, NULL);
    add_case(s, "limits", the_largest_codes_and_scales_are_exact, NULL);
    return s;
}
