// Answers to the exercises of chapter 17.
#include <stdbool.h>

#include "main.h"
#include "synth.h"

//: answer-bytes-of-a-layer
// Bytes of a matrix of Q4_K or Q6_K blocks.
static long matrix_bytes(long rows, long columns, bool six_bits)
{
    return rows * columns / 256 * (six_bits ? 210 : 144);
}

static long layer_bytes(const struct synth_shape *s, bool six_bits)
{
    long query = s->heads * 128L, key = s->kv_heads * 128L;
    return matrix_bytes(query, s->embedding, false) +
           matrix_bytes(key, s->embedding, false) +
           matrix_bytes(key, s->embedding, six_bits) +
           matrix_bytes(s->embedding, query, false) +
           2 * matrix_bytes(s->feed_forward, s->embedding, false) +
           matrix_bytes(s->embedding, s->feed_forward, six_bits) +
           4L * (2 * s->embedding + 2 * 128);
}

//: answer-bytes-a-token
static long bytes_a_token(const struct synth_shape *s, int vocabulary)
{
    long bytes = matrix_bytes(vocabulary, s->embedding, true) + 4L * s->embedding;
    for (int i = 0; i < s->layers; i++) {
        int eighth = s->layers / 8;
        bool six = i < eighth || i >= 7 * s->layers / 8 || (i - eighth) % 3 == 2;
        bytes += layer_bytes(s, six);
    }
    return s->tied ? bytes : bytes + matrix_bytes(1, s->embedding, false);
}

START_TEST(bytes_a_token_are_those_of_the_chapter)
{
    const struct synth_shape tales = {"tales", 6, 256, 768, 4, 2, true};
    ck_assert_int_eq(bytes_a_token(&tales, 4096), 4332544);
    ck_assert_int_eq(bytes_a_token(synth_find("qwen3-8b"), 151936), 4671768832);
    ck_assert_int_eq(bytes_a_token(synth_find("qwen3-0.6b"), 151936), 390753280);
}
END_TEST

//: answers-17-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 17");
    add_case(s, "answers", bytes_a_token_are_those_of_the_chapter, NULL);
    return s;
}
