// lanewise bench and synth, run as a program.
#include "spawn.h"

#include <math.h>
#include <sys/stat.h>

#define FEW "--threads", "1", "-q"

//: measure-test-tsv
// Bytes a token of the tales model, added up by hand in chapter 17.
enum { BYTES_A_TOKEN = 4332544 };

START_TEST(bench_prints_seven_columns)
{
    RUN("bench", MODEL, "--tsv", "-n", "2", "--depth", "0,9", "--repeat", "2", FEW);
    succeeded();
    const char *head = "depth\ttokens_s\tmin\tmax\tweight_bytes\tgb_s\tshare\n";
    ck_assert(strncmp(ran.out, head, strlen(head)) == 0);
    char *at = ran.out + strlen(head);
    for (int row = 0; row < 2; row++) {
        double v[7];
        for (int i = 0; i < 7; i++) {
            v[i] = strtod(at, &at);
            ck_assert_int_eq(*at++, i < 6 ? '\t' : '\n');
        }
        ck_assert(v[0] == (row == 0 ? 0 : 9));
        ck_assert(v[2] > 0 && v[2] <= v[1] && v[1] <= v[3]);
        ck_assert(v[4] == BYTES_A_TOKEN);
        ck_assert(fabs(v[5] - v[1] * v[4] * 1e-9) <= 0.001 + 0.001 * v[5]);
        ck_assert(v[6] >= 0 && isfinite(v[6])); // above 1 where a cache holds the weights
    }
    ck_assert_int_eq(*at, 0);
    ck_assert_uint_eq(ran.n_err, 0);
}
END_TEST

START_TEST(default_depths_that_do_not_fit_are_left_out)
{
    RUN("bench", MODEL, "-n", "1", "--repeat", "1", "--threads", "1");
    succeeded();
    ck_assert_ptr_nonnull(strstr(ran.err, "2048 is left out"));
    ck_assert_ptr_nonnull(strstr(ran.err, "8000 is left out"));
    ck_assert_ptr_nonnull(strstr(ran.err, "read bandwidth: "));
    int lines = 0;
    for (size_t i = 0; i < ran.n_out; i++)
        lines += ran.out[i] == '\n';
    ck_assert_int_eq(lines, 2);
}
END_TEST

START_TEST(a_depth_that_is_asked_for_must_fit)
{
    RUN("bench", MODEL, "--depth", "0,2048", "-n", "4");
    FAILED_WITH(1, "2048", "context");
    RUN("bench", MODEL, "-n", "0");
    FAILED_WITH(2, "-n");
    RUN("bench", MODEL, "--depth", "1;2");
    FAILED_WITH(2, "1;2");
    int full = open("/dev/full", O_WRONLY);
    run_words("", 0, full, WORDS("bench", MODEL, "-n", "1", "--depth", "0", "-q"));
    close(full);
    FAILED_WITH(1, "standard output");
}
END_TEST

//: measure-test-synth
START_TEST(a_synthetic_file_can_be_looked_at_and_run)
{
    char path[] = "/tmp/lanewise-synth-XXXXXX";
    close(mkstemp(path));
    RUN("synth", "--shape", "qwen3-0.6b", "--layers", "1", path);
    succeeded();
    ck_assert_uint_eq(ran.n_out + ran.n_err, 0);
    RUN("info", path);
    succeeded();
    ck_assert_ptr_nonnull(strstr(ran.out, "qwen3.block_count: 1"));
    ck_assert_ptr_nonnull(strstr(ran.out, "(151936, 1024)"));
    RUN("generate", path, "-p", "x", "-n", "2", "--ids", "--ignore-eos", "--ctx", "8", FEW);
    succeeded();
    ck_assert_ptr_nonnull(strchr(ran.out, ','));
    unlink(path);
}
END_TEST

START_TEST(what_cannot_be_written_is_named)
{
    RUN("synth", "--shape", "qwen3-0.6b", "--layers", "1", "/dev/full");
    FAILED_WITH(1, "/dev/full", "space");
    RUN("synth", "--shape", "qwen3-0.6b", "/nowhere/at/all");
    FAILED_WITH(1, "/nowhere/at/all");
    RUN("synth", "--shape", "qwen3-7b", "/tmp/never");
    FAILED_WITH(2, "qwen3-7b", "qwen3-0.6b");
    RUN("synth", "/tmp/never");
    FAILED_WITH(2, "--shape");
    ck_assert_int_ne(access("/tmp/never", F_OK), 0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("measure");
    add_case(s, "core", bench_prints_seven_columns,
             default_depths_that_do_not_fit_are_left_out,
             a_synthetic_file_can_be_looked_at_and_run, NULL);
    add_case(s, "limits", a_depth_that_is_asked_for_must_fit,
             what_cannot_be_written_is_named, NULL);
    return s;
}
