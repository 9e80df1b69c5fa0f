// lanewise generate, run as a program.
#include <sys/ioctl.h>

#include "spawn.h"

#define FEW "--threads", "1", "-q"

static char line[1 << 16];

// Row of tests/golden/greedy.tsv: the prompt's bytes, and the ids that follow.
static bool golden_row(FILE *f, char *prompt, char **ids)
{
    do
        if (fgets(line, sizeof line, f) == NULL)
            return false;
    while (line[0] == '#');
    line[strcspn(line, "\n")] = 0;
    char *tab = strchr(line, '\t');
    for (const char *hex = line; hex < tab; hex += 2) {
        unsigned byte;
        ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
        *prompt++ = (char)byte;
    }
    *prompt = 0;
    *ids = strchr(tab + 1, '\t') + 1;
    return true;
}

//: generate-test-golden
START_TEST(ids_are_those_of_the_float64_reference)
{
    char prompt[4096], *ids, count[16];
    FILE *f = fopen("tests/golden/greedy.tsv", "r");
    int rows = 0;
    for (; golden_row(f, prompt, &ids); rows++) {
        int n = 1;
        for (const char *c = ids; *c != 0; c++)
            n += *c == ',';
        snprintf(count, sizeof count, "%d", n);
        const char *kv = rows % 2 == 0 ? "f16" : "f32";
        RUN("generate", MODEL, "-p", prompt, "-n", count, "--ids", "--kv", kv, FEW);
        succeeded();
        ck_assert_uint_eq(ran.n_out, strlen(ids) + 1);
        ck_assert_msg(strncmp(ran.out, ids, strlen(ids)) == 0, "%s: %s", prompt, ran.out);
        ck_assert_int_eq(ran.out[ran.n_out - 1], '\n');
    }
    fclose(f);
    ck_assert_int_ge(rows, 2);
}
END_TEST

//: generate-test-same
static const char *const tale[] = {"generate", MODEL,    "-n", "12", "--temp",
                                   "0.8",      "--seed", "3",  "-q", NULL};

static void keep(const char *const *more, const void *input, size_t count, char *text)
{
    const char *words[30];
    int n = 0;
    for (int i = 0; tale[i] != NULL; i++)
        words[n++] = tale[i];
    for (int i = 0; more[i] != NULL; i++)
        words[n++] = more[i];
    words[n] = NULL;
    run_words(input, count, TO_FILE, words);
    succeeded();
    ck_assert_uint_gt(ran.n_out, 0);
    ck_assert_uint_lt(ran.n_out, 4096);
    memcpy(text, ran.out, ran.n_out + 1);
}

START_TEST(a_prompt_may_come_from_three_places_and_threads_do_not_matter)
{
    char first[4096], other[4096], path[] = "/tmp/lanewise-prompt-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, "The old king", 12), 12);
    close(fd);
    keep(WORDS("-p", "The old king", "--threads", "1"), "", 0, first);
    keep(WORDS("-f", path, "--threads", "2"), "", 0, other);
    ck_assert_str_eq(first, other);
    keep(WORDS("-v"), "The old king", 12, other);
    ck_assert_str_eq(first, other);
    keep(WORDS("-p", "The old king", "--seed", "4"), "", 0, other);
    ck_assert_str_ne(first, other);
    unlink(path);
}
END_TEST

START_TEST(the_text_is_that_of_the_ids)
{
    RUN("generate", MODEL, "-p", "The king said", "-n", "9", "--ids", FEW);
    char ids[256];
    snprintf(ids, sizeof ids, "%s", ran.out);
    ids[strcspn(ids, "\n")] = 0;
    RUN("detokenize", MODEL, ids);
    char text[256];
    snprintf(text, sizeof text, "%s", ran.out);
    RUN("generate", MODEL, "-p", "The king said", "-n", "9", FEW);
    ck_assert_str_eq(ran.out, text); // and no line feed after it
}
END_TEST

#ifdef EMULATED
START_TEST(emulated_kernels_choose_the_same_tokens)
{
    RUN("generate", MODEL, "-p", "The king", "-n", "2", "--ids", FEW, "--backend", "cpu");
    char ids[64];
    snprintf(ids, sizeof ids, "%s", ran.out);
    RUN("generate", MODEL, "-p", "The king", "-n", "2", "--ids", FEW, "--backend", "cuda");
    succeeded();
    ck_assert_str_eq(ran.out, ids);
}
END_TEST
#endif

//: generate-test-context
static int tokens_of(const char *prompt)
{
    int n = 1;
    RUN("tokenize", MODEL, "-p", prompt);
    for (size_t i = 0; i < ran.n_out; i++)
        n += ran.out[i] == ',';
    return n;
}

//: generate-test-full
START_TEST(a_prompt_fills_the_context_but_does_not_pass_it)
{
    const char *prompt = "Once upon a time there was a fox";
    char context[16], tokens[16], more[16];
    int n = tokens_of(prompt);
    ck_assert_int_gt(n, 4);
    snprintf(tokens, sizeof tokens, "%d", n);
    snprintf(context, sizeof context, "%d", n - 1);
    RUN("generate", MODEL, "-p", prompt, "--ctx", context, "--threads", "1");
    FAILED_WITH(1, tokens, context);
    RUN("generate", MODEL, "-p", prompt, "--ctx", tokens, "--ids", FEW);
    succeeded();
    ck_assert_ptr_null(strchr(ran.out, ',')); // room for one
    ck_assert_ptr_nonnull(strstr(ran.err, "context"));
    snprintf(more, sizeof more, "%d", n + 1);
    RUN("generate", MODEL, "-p", prompt, "--ctx", more, "--ids", FEW);
    succeeded();
    ck_assert_ptr_nonnull(strchr(ran.out, ','));
    ck_assert_ptr_eq(strchr(ran.out, ','), strrchr(ran.out, ',')); // for two
    ck_assert_ptr_nonnull(strstr(ran.err, more));
}
END_TEST

//: generate-test-empty
START_TEST(an_empty_prompt_is_an_error)
{
    RUN("generate", MODEL, "-p", "");
    FAILED_WITH(1, "empty");
    RUN("generate", MODEL);
    FAILED_WITH(1, "empty");
    RUN("generate", MODEL, "-f", "/dev/null");
    FAILED_WITH(1, "empty");
}
END_TEST

START_TEST(no_tokens_are_no_text)
{
    RUN("generate", MODEL, "-p", "x", "-n", "0", FEW);
    succeeded();
    ck_assert_uint_eq(ran.n_out, 0);
    ck_assert_uint_eq(ran.n_err, 0);
    RUN("generate", MODEL, "-p", "x", "-n", "0", "--ids", FEW);
    ck_assert_str_eq(ran.out, "\n");
}
END_TEST

START_TEST(a_context_beyond_the_models_is_refused)
{
    RUN("generate", MODEL, "-p", "x", "--ctx", "2049");
    FAILED_WITH(1, MODEL, "2049", "2048");
}
END_TEST

START_TEST(a_missing_text_is_named)
{
    RUN("generate", MODEL, "-f", "/nowhere/at all");
    FAILED_WITH(1, "/nowhere/at all: ");
    RUN("generate", MODEL, "-f", "/tmp");
    FAILED_WITH(1, "/tmp: ");
}
END_TEST

//: generate-test-bytes
static bool is_utf8(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text[i++];
        int more = c < 0x80 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : -1;
        for (; more > 0; more--)
            if (i >= n || ((unsigned char)text[i++] & 0xc0) != 0x80)
                return false;
        if (more < 0)
            return false;
    }
    return true;
}

START_TEST(any_bytes_are_a_prompt_and_whole_characters_come_out)
{
    static const char odd[] = "\xff\xfe\0 \xe2\x82 <|im_end|> \x80";
    for (int seed = 0; seed < 4; seed++) {
        char text[8];
        snprintf(text, sizeof text, "%d", seed);
        RUN_WITH(odd, sizeof odd, "generate", MODEL, "-n", "16", "--temp", "30", "--seed",
                 text, "--ignore-eos", FEW);
        succeeded();
        ck_assert(is_utf8(ran.out, ran.n_out));
    }
}
END_TEST

//: generate-test-streams
START_TEST(the_summary_is_on_standard_error_unless_quiet)
{
    RUN("generate", MODEL, "-p", "The king said", "-n", "3", "--threads", "1");
    succeeded();
    ck_assert_ptr_nonnull(strstr(ran.err, "backend: cpu"));
    ck_assert_ptr_nonnull(strstr(ran.err, "loaded in "));
    ck_assert_ptr_nonnull(strstr(ran.err, "decoded: 3 tokens"));
    ck_assert_ptr_null(strchr(ran.err, '\r')); // progress is for terminals
    ck_assert_ptr_null(strchr(ran.err, '\033'));
    RUN("generate", MODEL, "-p", "The king said", "-n", "3", FEW);
    ck_assert_uint_eq(ran.n_err, 0);
}
END_TEST

START_TEST(a_full_disk_is_a_failure_of_one_line)
{
    int full = open("/dev/full", O_WRONLY);
    run_words("", 0, full, WORDS("generate", MODEL, "-p", "x", "-n", "3", FEW));
    close(full);
    FAILED_WITH(1, "standard output", "space");
}
END_TEST

START_TEST(an_interrupt_ends_a_write_that_waits_for_its_reader)
{
    int ends[2], held = 0, err = spawn_file("", 0);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid =
        spawn(WORDS("logits", MODEL, "--ids", "1,2,3,4,5,6,7,8", FEW), 0, ends[1], err);
    while (held < 40000) { // of the 64 KB that a pipe holds
        usleep(1000);
        ck_assert_int_eq(ioctl(ends[0], FIONREAD, &held), 0);
    }
    usleep(300000); // it goes on to write more
    kill(pid, SIGINT);
    spawn_wait(pid);
    ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
    ck_assert_int_eq(ran.status, 130);
    ck_assert_uint_eq(ran.n_err, 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(a_limit_on_the_size_of_files_is_a_failure_of_one_line)
{
    struct rlimit before, one_page;
    int file = spawn_file("", 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    one_page = (struct rlimit){4096, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &one_page), 0);
    run_words("", 0, file, WORDS("logits", MODEL, "--ids", "1", FEW)); // 40 KB
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    close(file);
    FAILED_WITH(1, "standard output: File too large");
}
END_TEST

START_TEST(a_closed_standard_output_is_a_failure_and_no_file_is_hit)
{
    run_words("", 0, -1, WORDS("generate", MODEL, "-p", "x", "-n", "3", FEW));
    FAILED_WITH(1, "standard output");
}
END_TEST

START_TEST(a_closed_pipe_is_quiet)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    run_words("", 0, ends[1],
              WORDS("generate", MODEL, "-p", "x", "-n", "2000", "--ignore-eos", "--threads",
                    "1"));
    close(ends[1]);
    ck_assert_int_eq(ran.status, 0);
    ck_assert_ptr_null(strstr(ran.err, "lanewise:"));
    ck_assert_ptr_null(strstr(ran.err, "decoded"));
}
END_TEST

START_TEST(an_interrupt_ends_with_130_and_the_summary)
{
    int ends[2], in = spawn_file("", 0), err = spawn_file("", 0);
    char byte;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = spawn(
        WORDS("generate", MODEL, "-p", "x", "-n", "2000", "--ignore-eos", "--threads", "1"),
        in, ends[1], err);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1); // the first token is there: flushed
    kill(pid, SIGINT);
    while (read(ends[0], &byte, 1) == 1)
        ;
    spawn_wait(pid);
    ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
    ck_assert_int_eq(ran.status, 130);
    ck_assert_ptr_nonnull(strstr(ran.err, "decoded: "));
    ck_assert_ptr_null(strstr(ran.err, "lanewise: "));
    close(in);
    close(ends[0]);
}
END_TEST

//: generate-test-suite
Suite *suite(void)
{
    Suite *s = suite_create("generate");
    add_case(s, "core", ids_are_those_of_the_float64_reference,
             a_prompt_may_come_from_three_places_and_threads_do_not_matter,
             the_text_is_that_of_the_ids,
#ifdef EMULATED
             emulated_kernels_choose_the_same_tokens,
#endif
             NULL);
    add_case(s, "limits", a_prompt_fills_the_context_but_does_not_pass_it,
             an_empty_prompt_is_an_error, no_tokens_are_no_text,
             a_context_beyond_the_models_is_refused, a_missing_text_is_named,
             any_bytes_are_a_prompt_and_whole_characters_come_out, NULL);
    add_case(s, "streams", the_summary_is_on_standard_error_unless_quiet,
             a_full_disk_is_a_failure_of_one_line,
             an_interrupt_ends_a_write_that_waits_for_its_reader,
             a_limit_on_the_size_of_files_is_a_failure_of_one_line,
             a_closed_standard_output_is_a_failure_and_no_file_is_hit,
             a_closed_pipe_is_quiet, an_interrupt_ends_with_130_and_the_summary, NULL);
    return s;
}
