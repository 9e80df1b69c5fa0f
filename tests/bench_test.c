// Measuring: what is printed, by hand; what is run, by what it leaves in the cache.
#include "bench.h"

#include <math.h>
#include <string.h>

#include "backend_cpu.h"
#include "main.h"

static struct error e;
static struct gguf file;
static struct model model;
static struct backend *backend;
static struct decoder *decoder;

static void setup(void)
{
    const struct backend_options on = {.kv = KV_F16, .threads = 1};
    const struct decoder_options options = {.kv = KV_F16, .context = 32};
    ck_assert(gguf_open(&file, "data/tales-Q4_K_M.gguf", &e));
    ck_assert(model_open(&model, &file, &e));
    ck_assert((backend = backend_cpu_new(&on, &e)) != NULL);
    decoder = decoder_new(&model, backend, &options, NULL, NULL, &e);
    ck_assert_msg(decoder != NULL, "%s", e.text);
}

static void teardown(void)
{
    decoder_free(decoder);
    backend_free(backend);
    model_close(&model);
    gguf_close(&file);
}

//: bench-test-run
START_TEST(a_run_starts_at_its_depth_and_has_its_length)
{
    struct bench_row row;
    setup();
    for (int repeat = 1; repeat <= 4; repeat++) {
        ck_assert_msg(bench_depth(decoder, 10, 3, repeat, NULL, &row, &e), "%s", e.text);
        ck_assert_int_eq(decoder_position(decoder), 10 + 1 + 3);
        ck_assert_int_eq(row.depth, 10);
        ck_assert(row.least > 0 && isfinite(row.most));
        ck_assert(row.least <= row.median && row.median <= row.most);
    }
    ck_assert(bench_depth(decoder, 4, 2, 2, NULL, &row, &e)); // less deep than before
    ck_assert_int_eq(decoder_position(decoder), 4 + 1 + 2);
    teardown();
}
END_TEST

//: bench-test-fits
START_TEST(a_run_that_does_not_fit_is_refused_with_the_numbers)
{
    struct bench_row row;
    setup();
    ck_assert(bench_depth(decoder, 26, 5, 1, NULL, &row, &e)); // 26 + 1 + 5
    ck_assert_int_eq(decoder_position(decoder), 32);
    ck_assert(!bench_depth(decoder, 27, 5, 1, NULL, &row, &e));
    ck_assert_str_eq(e.text, "depth 27 and 6 tokens do not fit the context's 32");
    teardown();
}
END_TEST

static int looks;

static bool three_more(void)
{
    return ++looks <= 3;
}

START_TEST(it_stops_when_told_to)
{
    struct bench_row row;
    setup();
    ck_assert(!bench_depth(decoder, 10, 3, 1, three_more, &row, &e));
    ck_assert_str_eq(e.text, "interrupted");
    ck_assert_int_eq(decoder_position(decoder), 3);
    looks = 0;
    ck_assert(!bench_depth(decoder, 3, 20, 1, three_more, &row, &e)); // in the run itself
    teardown();
}
END_TEST

//: bench-test-print
// 50 tokens a second of 4 GB each are 200 GB/s: a fifth of 1000.
START_TEST(lines_hold_rates_bytes_and_the_share)
{
    const struct bench_row row = {2048, 50, 49.5, 50.25};
    const struct bench_machine machine = {4e9, 1e12};
    char text[BENCH_LINE];
    bench_line(text, true, &row, &machine);
    ck_assert_str_eq(text, "2048\t50.000\t49.500\t50.250\t4000000000\t200.000\t0.2000\n");
    bench_line(text, false, &row, &machine);
    ck_assert_str_eq(
        text, "    2048       50.0       49.5       50.2     4000.0   200.00  20.0%\n");
    bench_head(text, true);
    int tabs = 0;
    for (const char *c = text; *c != 0; c++)
        tabs += *c == '\t';
    ck_assert_int_eq(tabs, 6);
}
END_TEST

//: bench-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("bench");
    add_case(s, "core", a_run_starts_at_its_depth_and_has_its_length,
             lines_hold_rates_bytes_and_the_share, NULL);
    add_case(s, "limits", a_run_that_does_not_fit_is_refused_with_the_numbers,
             it_stops_when_told_to, NULL);
    return s;
}
