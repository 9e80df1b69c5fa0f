// Answers to the exercises of chapter 14.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend_cpu.h"
#include "decoder.h"
#include "main.h"

//: answer-surprise
// The mean of -ln p of tokens[1] to tokens[n - 1], each after those before it, in nats.
static double surprise(struct decoder *d, const int *tokens, int n)
{
    struct error e;
    double sum = 0;
    decoder_rewind(d, 0);
    for (int i = 0; i + 1 < n; i++) {
        ck_assert_msg(decoder_prompt(d, &tokens[i], 1, &e), "%s", e.text);
        const float *logits = decoder_logits(d, &e);
        double top = -INFINITY, all = 0;
        ck_assert_ptr_nonnull(logits);
        for (int j = 0; j < decoder_vocabulary(d); j++)
            top = fmax(top, logits[j]);
        for (int j = 0; j < decoder_vocabulary(d); j++)
            all += exp(logits[j] - top);
        sum += top + log(all) - logits[tokens[i + 1]];
    }
    return sum / (n - 1);
}

//: answer-surprise-test
START_TEST(a_tale_surprises_less_than_its_reverse)
{
    const int tale[] = {341, 613, 352, 25,  360, 40,  423, 756, 309,
                        393, 900, 274, 841, 11,  269, 310, 423};
    enum { N = sizeof tale / sizeof *tale };
    const struct backend_options on = {.threads = 1};
    const struct decoder_options options = {.context = 64};
    int reverse[N];
    struct error e;
    struct gguf file;
    struct model model;
    for (int i = 0; i < N; i++)
        reverse[i] = tale[N - 1 - i];
    ck_assert(gguf_open(&file, "data/tales-Q4_K_M.gguf", &e));
    ck_assert(model_open(&model, &file, &e));
    struct backend *b = backend_cpu_new(&on, &e);
    struct decoder *d = decoder_new(&model, b, &options, NULL, NULL, &e);
    //: answer-surprise-run
    double forward = surprise(d, tale, N), backward = surprise(d, reverse, N);
    printf("forward %.2f, backward %.2f nats a token\n", forward, backward);
    ck_assert(forward > 0 && forward < 2.5);
    ck_assert(backward > 6);
    decoder_free(d);
    backend_free(b);
    model_close(&model);
    gguf_close(&file);
}
END_TEST

//: answers-14-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 14");
    add_case(s, "answers", a_tale_surprises_less_than_its_reverse, NULL);
    return s;
}
