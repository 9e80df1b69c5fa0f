#include "gguf.h"

#include <stdlib.h>

#include "main.h"

static struct gguf g;
static struct error e;

static void open_tales(void)
{
    ck_assert_msg(gguf_open(&g, "data/tales-Q4_K_M.gguf", &e), "%s", e.text);
}

static void close_tales(void)
{
    gguf_close(&g);
}

//: answer-gguf-row
START_TEST(a_matrix_of_12288_rows_of_4096_weights_takes_28_million_bytes)
{
    struct block_layout q4k = tensor_layout(TENSOR_Q4_K);
    size_t blocks_of_a_row = (size_t)(4096 / q4k.block_values);
    ck_assert_uint_eq(blocks_of_a_row * (size_t)q4k.block_bytes, 2304);
    ck_assert_uint_eq(12288 * blocks_of_a_row * (size_t)q4k.block_bytes, 28311552);
}
END_TEST

//: answer-gguf-sums
// The bytes of all tensors of one type.
static size_t bytes_of_type(const struct gguf *file, enum tensor_type type)
{
    size_t sum = 0;
    for (size_t i = 0; i < file->n_tensors; i++)
        if (file->tensors[i].type == type)
            sum += file->tensors[i].bytes;
    return sum;
}

START_TEST(seventy_percent_of_the_tales_model_is_q4k)
{
    ck_assert_uint_eq(bytes_of_type(&g, TENSOR_F32), 19456);
    ck_assert_uint_eq(bytes_of_type(&g, TENSOR_Q4_K), 3022848);
    ck_assert_uint_eq(bytes_of_type(&g, TENSOR_Q6_K), 1290240);
}
END_TEST

//: answer-gguf-gaps
// The bytes of the data section that are no tensor's: the padding between them.
static size_t gaps(const struct gguf *file)
{
    size_t gap = file->size - file->data_offset;
    for (size_t i = 0; i < file->n_tensors; i++)
        gap -= file->tensors[i].bytes; // tensors do not overlap: this cannot wrap
    return gap;
}

START_TEST(no_byte_of_the_tales_model_is_padding)
{
    ck_assert_uint_eq(gaps(&g), 0);
}
END_TEST

//: answers-gguf-suite
Suite *suite(void)
{
    Suite *s = suite_create("chapter-01");
    TCase *c = tcase_create("answers");
    tcase_add_checked_fixture(c, open_tales, close_tales);
    tcase_add_test(c, a_matrix_of_12288_rows_of_4096_weights_takes_28_million_bytes);
    tcase_add_test(c, seventy_percent_of_the_tales_model_is_q4k);
    tcase_add_test(c, no_byte_of_the_tales_model_is_padding);
    suite_add_tcase(s, c);
    return s;
}
