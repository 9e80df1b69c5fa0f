// The whole model against its float64 reference: greedy continuations, logits, rewinding.
#include "decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_cpu.h"
#include "failing_malloc.h"
#include "float64_model.h"
#include "main.h"

#define MODEL "data/tales-Q4_K_M.gguf"
enum { VOCABULARY = 4096, MOST_IDS = 1024 };

static struct gguf file;
static struct model model;
static struct backend *backend;
static struct decoder *decoder;

static void open_decoder(enum kv_type kv, int context, int threads)
{
    struct error e;
    struct backend_options on = {.kv = kv, .threads = threads};
    struct decoder_options options = {.kv = kv, .context = context};
    ck_assert_msg(gguf_open(&file, MODEL, &e), "%s", e.text);
    ck_assert_msg(model_open(&model, &file, &e), "%s", e.text);
    ck_assert_msg((backend = backend_cpu_new(&on, &e)) != NULL, "%s", e.text);
    decoder = decoder_new(&model, backend, &options, NULL, NULL, &e);
    ck_assert_msg(decoder != NULL, "%s", e.text);
}

static void setup(void)
{
    open_decoder(KV_F16, 0, 1);
}

static void teardown(void)
{
    decoder_free(decoder);
    backend_free(backend);
    model_close(&model);
    gguf_close(&file);
}

static int parse_ids(const char *text, int *ids)
{
    int n = 0;
    for (char *end; *text >= '0' && *text <= '9'; text = *end == ',' ? end + 1 : end) {
        ck_assert_int_lt(n, MOST_IDS);
        ids[n++] = (int)strtol(text, &end, 10);
    }
    return n;
}

// Row number `row` of greedy.tsv: the prompt's ids and those that follow.
static bool golden_row(int row, int *prompt, int *n_prompt, int *next, int *n_next)
{
    static char line[1 << 16];
    FILE *f = fopen("tests/golden/greedy.tsv", "r");
    ck_assert_ptr_nonnull(f);
    bool found = false;
    while (!found && fgets(line, sizeof line, f) != NULL)
        found = line[0] != '#' && row-- == 0;
    fclose(f);
    if (!found)
        return false;
    char *ids = strchr(line, '\t') + 1;
    *n_prompt = parse_ids(ids, prompt);
    *n_next = parse_ids(strchr(ids, '\t') + 1, next);
    return true;
}

//: decoder-test-greedy
static void check_greedy(const int *prompt, int n_prompt, const int *expected, int n)
{
    struct error e;
    int token = -1;
    decoder_rewind(decoder, 0);
    ck_assert(decoder_prompt(decoder, prompt, (size_t)n_prompt - 1, &e));
    ck_assert(decoder_greedy_start(decoder, prompt[n_prompt - 1], n, &e));
    for (int i = 0; i < n; i++) {
        ck_assert_msg(decoder_greedy_next(decoder, &token, &e), "%s", e.text);
        ck_assert_msg(token == expected[i], "token %d is %d, expected %d", i, token,
                      expected[i]);
    }
    decoder_greedy_stop(decoder);
    ck_assert_int_eq(decoder_position(decoder), n_prompt - 1 + n);
}

//: decoder-test-rows
START_TEST(every_golden_row_continues_exactly)
{
    int prompt[MOST_IDS], next[MOST_IDS], n_prompt, n_next, rows = 0;
    while (golden_row(rows, prompt, &n_prompt, next, &n_next)) {
        check_greedy(prompt, n_prompt, next, n_next);
        rows++;
    }
    ck_assert_int_eq(rows, 6);
}
END_TEST

//: decoder-test-nmse
// Reads one line of logits; NMSE of ours against it.
static double nmse_against(FILE *f, const float *ours)
{
    double error = 0, power = 0;
    for (int i = 0; i < VOCABULARY; i++) {
        double expected;
        ck_assert_int_eq(fscanf(f, "%lf", &expected), 1);
        ck_assert_msg(isfinite(ours[i]), "logit %d is not finite", i);
        error += (ours[i] - expected) * (ours[i] - expected);
        power += expected * expected;
    }
    return error / power;
}

//: decoder-test-logits-after
static const float *logits_after(int id)
{
    struct error e;
    ck_assert_msg(decoder_prompt(decoder, &id, 1, &e), "%s", e.text);
    const float *logits = decoder_logits(decoder, &e);
    ck_assert_ptr_nonnull(logits);
    return logits;
}

//: decoder-test-logits
// The q8_1 activations alone move the logits of one position by an NMSE of 2e-5 to 8e-5 (a
// float64 model with nothing but them and the f16 cache gives as much), so a position may
// have 1e-4, and a file's mean half of that.
START_TEST(logits_match_the_float64_reference)
{
    const char *const paths[] = {"tests/golden/logits-0.txt", "tests/golden/logits-1.txt"};
    int prompt[MOST_IDS], next[MOST_IDS], n_prompt, n_next;
    for (int row = 0; row < 2; row++) {
        FILE *f = fopen(paths[row], "r");
        ck_assert_ptr_nonnull(f);
        ck_assert(golden_row(row, prompt, &n_prompt, next, &n_next));
        decoder_rewind(decoder, 0);
        double sum = 0;
        for (int i = 0; i < 8; i++) {
            double nmse = nmse_against(f, logits_after(prompt[i]));
            ck_assert_msg(nmse <= 1e-4, "%s, position %d: NMSE %g", paths[row], i, nmse);
            sum += nmse;
        }
        ck_assert_msg(sum / 8 <= 5e-5, "%s: mean NMSE %g", paths[row], sum / 8);
        fclose(f);
    }
}
END_TEST

//: decoder-test-far
START_TEST(logits_match_at_both_sides_of_a_bucket_and_far_out)
{
    static char line[1 << 16];
    int ids[MOST_IDS];
    FILE *f = fopen("tests/golden/long.txt", "r");
    ck_assert_ptr_nonnull(f);
    do
        ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    while (line[0] == '#');
    int n = parse_ids(line, ids);
    ck_assert_int_eq(n, 900);
    for (int i = 0; i < n; i++) {
        const float *logits = logits_after(ids[i]);
        int position;
        if (i != 511 && i != 512 && i != 899)
            continue;
        ck_assert_int_eq(fscanf(f, "%d", &position), 1);
        ck_assert_int_eq(position, i);
        double nmse = nmse_against(f, logits);
        ck_assert_msg(nmse <= 5e-5, "position %d: NMSE %g", i, nmse);
    }
    fclose(f);
}
END_TEST

//: decoder-test-divergence
// Both over the six golden prompts and their continuations.
START_TEST(divergence_from_the_float64_model_is_small)
{
    struct float64_model truth;
    double logits[VOCABULARY], divergence = 0, nmse = 0;
    int ids[MOST_IDS], n_prompt, n_next, positions = 0;
    float64_open(&truth, &model, MOST_IDS);
    for (int row = 0; golden_row(row, ids, &n_prompt, ids + MOST_IDS / 2, &n_next); row++) {
        memmove(ids + n_prompt, ids + MOST_IDS / 2, (size_t)n_next * sizeof *ids);
        decoder_rewind(decoder, 0);
        for (int i = 0; i < n_prompt + n_next; i++, positions++) {
            const float *ours = logits_after(ids[i]);
            double error = 0, power = 0;
            float64_step(&truth, logits, ids[i], i);
            for (int j = 0; j < VOCABULARY; j++) {
                error += (ours[j] - logits[j]) * (ours[j] - logits[j]);
                power += logits[j] * logits[j];
            }
            nmse += error / power;
            divergence += float64_divergence(logits, ours, VOCABULARY);
        }
    }
    float64_close(&truth);
    printf("%d positions: mean KL divergence %.3g, mean NMSE %.3g\n", positions,
           divergence / positions, nmse / positions);
    ck_assert(divergence / positions <= 1.6e-4);
    ck_assert(nmse / positions <= 3.5e-5);
}
END_TEST

//: decoder-test-bits
START_TEST(bits_do_not_depend_on_the_number_of_threads)
{
    float one[VOCABULARY];
    const int ids[] = {341, 613, 352, 25, 360, 40};
    for (size_t i = 0; i < 6; i++)
        memcpy(one, logits_after(ids[i]), sizeof one);
    teardown();
    open_decoder(KV_F16, 0, 3);
    const float *three = NULL;
    for (size_t i = 0; i < 6; i++)
        three = logits_after(ids[i]);
    ck_assert_mem_eq(one, three, sizeof one);
}
END_TEST

START_TEST(bits_do_not_depend_on_an_earlier_conversation)
{
    float fresh[VOCABULARY];
    memcpy(fresh, logits_after(341), sizeof fresh);
    for (int i = 0; i < 40; i++)
        logits_after(100 + i);
    decoder_rewind(decoder, 0);
    ck_assert_mem_eq(logits_after(341), fresh, sizeof fresh);
}
END_TEST

//: decoder-test-cut-short
START_TEST(a_greedy_run_cut_short_leaves_the_cache_at_what_was_fed)
{
    int prompt[MOST_IDS], next[MOST_IDS], n_prompt, n_next, token;
    struct error e;
    ck_assert(golden_row(0, prompt, &n_prompt, next, &n_next));
    ck_assert(decoder_prompt(decoder, prompt, (size_t)n_prompt - 1, &e));
    ck_assert(decoder_greedy_start(decoder, prompt[n_prompt - 1], 30, &e));
    for (int i = 0; i < 5; i++)
        ck_assert(decoder_greedy_next(decoder, &token, &e));
    decoder_greedy_stop(decoder);
    ck_assert_int_eq(decoder_position(decoder), n_prompt + 4);
    ck_assert(decoder_greedy_start(decoder, token, 10, &e));
    for (int i = 5; i < 15; i++) {
        ck_assert(decoder_greedy_next(decoder, &token, &e));
        ck_assert_int_eq(token, next[i]);
    }
    decoder_greedy_stop(decoder);
}
END_TEST

//: decoder-test-f32
START_TEST(an_f32_cache_is_as_close)
{
    int prompt[MOST_IDS], next[MOST_IDS], n_prompt, n_next;
    teardown();
    open_decoder(KV_F32, 600, 2);
    ck_assert(golden_row(3, prompt, &n_prompt, next, &n_next));
    check_greedy(prompt, n_prompt, next, n_next);
}
END_TEST

START_TEST(the_context_holds_exactly_so_many)
{
    struct error e;
    int ids[8] = {341, 613, 352, 25, 360, 40, 423, 756}, token;
    teardown();
    open_decoder(KV_F16, 7, 1);
    ck_assert_int_eq(decoder_context(decoder), 7);
    ck_assert(!decoder_prompt(decoder, ids, 8, &e));
    ck_assert_str_eq(e.text, "8 more tokens do not fit: 0 of the context's 7 are taken");
    ck_assert_int_eq(decoder_position(decoder), 0);
    ck_assert(decoder_prompt(decoder, ids, 6, &e));
    ck_assert(!decoder_greedy_start(decoder, ids[6], 2, &e));
    ck_assert(decoder_greedy_start(decoder, ids[6], 1, &e));
    ck_assert(decoder_greedy_next(decoder, &token, &e));
    decoder_greedy_stop(decoder);
    ck_assert_int_eq(decoder_position(decoder), 7);
    ck_assert(!decoder_prompt(decoder, ids, 1, &e));
}
END_TEST

START_TEST(a_token_outside_the_vocabulary_is_refused)
{
    struct error e;
    ck_assert(!decoder_prompt(decoder, &(int){4096}, 1, &e));
    ck_assert_str_eq(e.text, "token 4096 is not in the vocabulary, 0 to 4095");
    ck_assert(!decoder_prompt(decoder, &(int){-1}, 1, &e));
    ck_assert(!decoder_greedy_start(decoder, 4096, 1, &e));
}
END_TEST

//: decoder-test-room
// A CPU backend that claims to have so many bytes left.
static size_t bytes_left;

static size_t limited(struct backend *b)
{
    (void)b;
    return bytes_left;
}

static struct decoder *open_in(size_t bytes, int context, struct error *e)
{
    static struct backend_ops ops;
    const struct decoder_options options = {.kv = KV_F16, .context = context};
    ops = *backend->ops;
    ops.available = limited;
    backend->ops = &ops;
    bytes_left = bytes;
    decoder_free(decoder);
    decoder = decoder_new(&model, backend, &options, NULL, NULL, e);
    return decoder;
}

//: decoder-test-too-little
// A position of the tales model: 6 layers, keys and values, 2 heads of 128 halves.
enum { A_POSITION = 6 * 2 * 2 * 128 * 2, PLENTY = 1 << 30 };

START_TEST(too_little_memory_is_told_with_the_context_that_would_fit)
{
    struct error e;
    ck_assert_ptr_nonnull(open_in(PLENTY, 512, &e));
    size_t used = backend->bytes_in_use; // all but attention's partial states
    size_t enough = used + 64 * 4 * (128 + 2) * sizeof(float);
    ck_assert_ptr_nonnull(open_in(enough, 512, &e));
    ck_assert_ptr_null(open_in(enough - 1, 512, &e));
    ck_assert_msg(strstr(e.text, "a context of 512 needs 7.3 MiB on 1 CPU thread, but "
                                 "7.3 MiB are free: --ctx 511 would fit") != NULL,
                  "%s", e.text);
    ck_assert_uint_eq(backend->bytes_in_use, 0); // nothing was allocated
    ck_assert_ptr_nonnull(open_in(enough - 1, 511, &e));
    ck_assert_ptr_null(open_in(enough - 400 * A_POSITION, 512, &e));
    ck_assert_msg(strstr(e.text, "--ctx 112 would fit") != NULL, "%s", e.text);
    ck_assert_ptr_null(open_in(enough - 512 * A_POSITION, 512, &e));
    ck_assert_msg(strstr(e.text, "no --ctx would fit") != NULL, "%s", e.text);
    ck_assert_ptr_nonnull(open_in(enough, 512, &e)); // and it was only the room
}
END_TEST

//: decoder-test-failing
#if FAILING_MALLOC
// A model, a backend and a decoder, one allocation of which fails; the file is open
// already.
static bool open_with_failure(long allocation, struct error *e)
{
    const struct backend_options on = {.kv = KV_F16, .threads = 1};
    const struct decoder_options options = {.kv = KV_F16, .context = 64};
    struct model m = {0};
    allocations.before_failure = allocation;
    bool opened = model_open(&m, &file, e);
    struct backend *b = opened ? backend_cpu_new(&on, e) : NULL;
    struct decoder *d = b != NULL ? decoder_new(&m, b, &options, NULL, NULL, e) : NULL;
    allocations.before_failure = -1;
    opened = d != NULL;
    decoder_free(d);
    backend_free(b);
    model_close(&m);
    return opened;
}

START_TEST(each_host_allocation_that_fails_is_told_and_leaves_nothing)
{
    long failures = 0;
    for (bool opened = false; !opened; failures++) {
        struct error e = {""};
        long before = allocations.live;
        opened = open_with_failure(failures, &e);
        ck_assert_int_eq(allocations.live, before);
        ck_assert_msg(opened || strstr(e.text, "out of memory") != NULL, "%s", e.text);
    }
    ck_assert_int_gt(failures, 68 + 20); // a description a weight, two arrays a vector
}
END_TEST
#endif

//: decoder-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("decoder");
    TCase *core = tcase_create("core"), *limits = tcase_create("limits");
    tcase_add_checked_fixture(core, setup, teardown);
    tcase_add_checked_fixture(limits, setup, teardown);
    tcase_set_timeout(core, 300);
    tcase_set_timeout(limits, 300);
    tcase_add_test(core, every_golden_row_continues_exactly);
    tcase_add_test(core, logits_match_the_float64_reference);
    tcase_add_test(core, logits_match_at_both_sides_of_a_bucket_and_far_out);
    tcase_add_test(core, divergence_from_the_float64_model_is_small);
    tcase_add_test(core, bits_do_not_depend_on_the_number_of_threads);
    tcase_add_test(core, bits_do_not_depend_on_an_earlier_conversation);
    tcase_add_test(core, a_greedy_run_cut_short_leaves_the_cache_at_what_was_fed);
    tcase_add_test(core, an_f32_cache_is_as_close);
    tcase_add_test(limits, the_context_holds_exactly_so_many);
    tcase_add_test(limits, a_token_outside_the_vocabulary_is_refused);
    tcase_add_test(limits, too_little_memory_is_told_with_the_context_that_would_fit);
#if FAILING_MALLOC
    tcase_add_test(limits, each_host_allocation_that_fails_is_told_and_leaves_nothing);
#endif
    suite_add_tcase(s, core);
    suite_add_tcase(s, limits);
    return s;
}
