// Answers to the exercises of chapter 13.
#include <stdlib.h>
#include <string.h>

#include "backend_cpu.h"
#include "main.h"

//: answer-counting-backend
// The table of another backend with one verb replaced by a counting one.
static const struct backend_ops *counted;
static int products;

static void count_gemv(struct backend *b, struct vector *y, const struct weight *w,
                       struct vector *x)
{
    products++;
    counted->gemv(b, y, w, x);
}

static struct backend_ops counting(struct backend *b)
{
    struct backend_ops ops = *b->ops;
    counted = b->ops;
    ops.gemv = count_gemv;
    return ops;
}

//: answer-counting-test
START_TEST(a_counting_backend_counts_and_computes)
{
    struct error e;
    const struct backend_options options = {.threads = 1};
    const float twos[4] = {2, 2, 2, 2};
    const struct gguf_tensor t = {{0}, TENSOR_F32, 2, {2, 2, 1, 1}, twos, sizeof twos};
    struct backend *b = backend_cpu_new(&options, &e);
    struct backend_ops ops = counting(b);
    b->ops = &ops; // it is the same backend, by another table
    struct weight *w = backend_weight_new(b, &t, &e);
    struct vector *x = backend_vector_new(b, 2, &e), *y = backend_vector_new(b, 2, &e);
    float result[2];
    backend_set(b, 1, 0);
    backend_embed(b, x, w); // x = (2, 2)
    backend_gemv(b, y, w, x);
    backend_gemv(b, x, w, y);
    ck_assert(backend_read(b, x, result, &e));
    ck_assert_int_eq(products, 2);
    ck_assert(result[0] == 32 && result[1] == 32); // 2 * 8 + 2 * 8
    backend_vector_free(b, x);
    backend_vector_free(b, y);
    backend_weight_free(b, w);
    backend_free(b);
}
END_TEST

//: answers-13-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 13");
    add_case(s, "answers", a_counting_backend_counts_and_computes, NULL);
    return s;
}
