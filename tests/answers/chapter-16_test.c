#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpe.h"
#include "main.h"
#include "sampler.h"
#include "tokenizer.h"

static struct tokenizer *tales(void)
{
    struct error e;
    struct gguf g;
    ck_assert_msg(gguf_open(&g, "data/tales-Q4_K_M.gguf", &e), "%s", e.text);
    struct tokenizer *t = tokenizer_new(&g, &e);
    ck_assert_msg(t != NULL, "%s", e.text);
    gguf_close(&g);
    return t;
}

//: answer-text-merges
// Tokens: a is 0, aa is 1, aaaa is 2, aaa is 3.
START_TEST(seven_letters_become_two_tokens)
{
    struct error e;
    struct bpe b;
    struct bpe_piece p = {0};
    ck_assert(bpe_init(&b, 3, &e) && bpe_piece_reserve(&p, 7, &e));
    bpe_add(&b, (struct bpe_merge){0, 0, 0, 1});
    bpe_add(&b, (struct bpe_merge){1, 1, 1, 2});
    bpe_add(&b, (struct bpe_merge){1, 0, 2, 3});
    memset(p.ids, 0, 7 * sizeof *p.ids);
    ck_assert_uint_eq(bpe_apply(&b, &p, 7), 2);
    ck_assert(p.ids[0] == 2 && p.ids[1] == 3);
    bpe_piece_free(&p);
    bpe_free(&b);
}
END_TEST

//: answer-text-not-unique
START_TEST(other_ids_can_spell_the_same_text)
{
    struct error e;
    struct tokenizer *t = tales();
    struct ids ids = {0};
    const int apart[] = {tokenizer_find(t, "\xC4\xA0t"), tokenizer_find(t, "he")};
    char text[8];
    size_t bytes, at = 0;
    for (int i = 0; i < 2; i++, at += bytes) {
        const char *token = tokenizer_bytes(t, apart[i], &bytes);
        memcpy(text + at, token, bytes);
    }
    ck_assert(at == 4 && memcmp(text, " the", 4) == 0);
    ck_assert(tokenizer_encode(t, text, at, false, &ids, &e));
    ck_assert_uint_eq(ids.count, 1);
    ck_assert_int_eq(ids.items[0], tokenizer_find(t, "\xC4\xA0the"));
    ids_free(&ids);
    tokenizer_free(t);
}
END_TEST

//: answer-text-bytes
static double bytes_a_token(const struct tokenizer *t, const char *text)
{
    struct error e;
    struct ids ids = {0};
    ck_assert(tokenizer_encode(t, text, strlen(text), false, &ids, &e));
    double ratio = (double)strlen(text) / (double)ids.count;
    ids_free(&ids);
    return ratio;
}

START_TEST(a_tale_needs_fewer_tokens_than_a_program)
{
    struct tokenizer *t = tales();
    ck_assert_double_gt(bytes_a_token(t, "Once upon a time there was a king who had three "
                                         "daughters, and the youngest was the fairest."),
                        3);
    ck_assert_double_lt(
        bytes_a_token(t, "for (int i = 0; i < n; i++)\n    y[i] += x[i];\n"), 2);
    tokenizer_free(t);
}
END_TEST

//: answer-text-order
// Top-k 2, then top-p 0.5: one token stays.  In the other order it would be two.
START_TEST(top_p_after_top_k_keeps_one_of_four)
{
    const struct sampler_options o = {.temperature = 1, .top_k = 2, .top_p = 0.5};
    const float logits[] = {0, logf(4), logf(2), logf(3)};
    struct error e;
    struct sampler *s = sampler_new(&o, 4, &e);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(sampler_choose(s, logits), 1);
    sampler_free(s);
}
END_TEST

//: answer-text-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers of chapter 16");
    add_case(s, "answers", seven_letters_become_two_tokens,
             other_ids_can_spell_the_same_text, a_tale_needs_fewer_tokens_than_a_program,
             top_p_after_top_k_keeps_one_of_four, NULL);
    return s;
}
