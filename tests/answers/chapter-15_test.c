// Answers to the exercises of chapter 15.
#include <string.h>

#include "backend_cpu.h"
#include "decoder.h"
#include "main.h"

//: answer-recording
// Steps begun, by kind and by bucket / 512.
static int begun[STEP_KINDS][8];
static const struct backend_ops *watched;

static bool watch_begin(struct backend *b, enum step_kind kind, int bucket)
{
    begun[kind][bucket / 512]++;
    return watched->begin(b, kind, bucket);
}

static void watch(struct backend *b, struct backend_ops *ops)
{
    watched = b->ops;
    *ops = *b->ops;
    ops->begin = watch_begin;
    b->ops = ops;
}

//: answer-recording-test
START_TEST(six_prompt_steps_and_two_greedy_ones_share_a_bucket)
{
    const int prompt[] = {341, 613, 352, 25, 360, 40};
    const struct backend_options on = {.threads = 1};
    const struct decoder_options options = {.context = 600};
    struct backend_ops ops;
    struct error e;
    struct gguf file;
    struct model model;
    int token;
    ck_assert(gguf_open(&file, "data/tales-Q4_K_M.gguf", &e));
    ck_assert(model_open(&model, &file, &e));
    struct backend *b = backend_cpu_new(&on, &e);
    struct decoder *d = decoder_new(&model, b, &options, NULL, NULL, &e);
    //: answer-recording-run
    watch(b, &ops);
    ck_assert(decoder_fill(d, prompt, 6, &e));
    ck_assert(decoder_greedy_start(d, 423, 2, &e));
    for (int i = 0; i < 2; i++)
        ck_assert(decoder_greedy_next(d, &token, &e));
    decoder_greedy_stop(d);
    ck_assert_int_eq(begun[STEP_PROMPT][1], 6);
    ck_assert_int_eq(begun[STEP_GREEDY][1], 2);
    ck_assert_int_eq(begun[STEP_LOGITS][1], 0);
    decoder_free(d);
    backend_free(b);
    model_close(&model);
    gguf_close(&file);
}
END_TEST

//: answers-15-suite
Suite *suite(void)
{
    Suite *s = suite_create("answers 15");
    add_case(s, "answers", six_prompt_steps_and_two_greedy_ones_share_a_bucket, NULL);
    return s;
}
