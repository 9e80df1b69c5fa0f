// Answers to the exercises of chapter 5.
#include <stdlib.h>

#include "gemv_q4k.h"
#include "main.h"
#include "random.h"

//: answer-gemv-two
static void gemv_q4k_two_cpu(float *y[2], const struct block_q4k *w,
                             const struct block_q8_1 *x[2], int rows, int columns)
{
    for (int r = 0; r < rows; r++, w += columns / 256)
        for (int v = 0; v < 2; v++)
            gemv_q4k_cpu(&y[v][r], w, x[v], 1, columns);
}

//: answer-gemv-two-test
START_TEST(two_vectors_at_once_give_the_bits_of_each_alone)
{
    enum { ROWS = 21, COLUMNS = 1024 };
    struct random r = {1};
    static struct block_q4k w[ROWS * COLUMNS / 256];
    static struct block_q8_1 first[COLUMNS / 32], second[COLUMNS / 32];
    float x[COLUMNS], y[2][ROWS], alone[ROWS];
    random_bytes(&r, w, sizeof w);
    for (size_t b = 0; b < sizeof w / sizeof w[0]; b++)
        w[b].d = w[b].dmin = random_half_scale(&r);
    random_floats(&r, x, COLUMNS);
    q8_1_cpu(first, x, COLUMNS);
    random_floats(&r, x, COLUMNS);
    q8_1_cpu(second, x, COLUMNS);
    gemv_q4k_two_cpu((float *[]){y[0], y[1]}, w,
                     (const struct block_q8_1 *[]){first, second}, ROWS, COLUMNS);
    gemv_q4k_cpu(alone, w, first, ROWS, COLUMNS);
    ck_assert_mem_eq(y[0], alone, sizeof alone);
    gemv_q4k_cpu(alone, w, second, ROWS, COLUMNS);
    ck_assert_mem_eq(y[1], alone, sizeof alone);
}
END_TEST

//: answers-05-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers to chapter 5");
    add_case(s, "answers", two_vectors_at_once_give_the_bits_of_each_alone, NULL);
    return s;
}
