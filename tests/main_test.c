// The program as a whole: usage, help, and files that are no models.
#include "spawn.h"

#include <sys/stat.h>

static const char *const names[] = {"generate",   "chat",       "info",
                                    "tokenize",   "detokenize", "logits",
                                    "perplexity", "bench",      "synth"};
enum { NAMES = sizeof names / sizeof *names };

//: main-test-usage
START_TEST(wrong_usage_is_status_2)
{
    RUN(NULL);
    FAILED_WITH(2, "command");
    RUN("sing");
    FAILED_WITH(2, "sing");
    RUN("info");
    FAILED_WITH(2, "operand");
    RUN("info", MODEL, MODEL);
    FAILED_WITH(2, "operand");
    RUN("generate", MODEL, "--loud");
    FAILED_WITH(2, "--loud");
    RUN("generate", MODEL, "-n");
    FAILED_WITH(2, "-n");
    RUN("generate", MODEL, "-n", "many");
    FAILED_WITH(2, "--tokens", "many");
    RUN("generate", MODEL, "-p", "a", "-f", "b");
    FAILED_WITH(2, "not both");
    RUN("generate", MODEL, "--backend", "tpu");
    FAILED_WITH(2, "tpu");
    RUN("info", MODEL, "-p", "x");
    FAILED_WITH(2, "-p");
}
END_TEST

START_TEST(help_is_on_standard_output)
{
    RUN("--help");
    succeeded();
    for (int i = 0; i < NAMES; i++)
        ck_assert_ptr_nonnull(strstr(ran.out, names[i]));
    for (int i = 0; i < NAMES; i++) {
        RUN(names[i], "--help");
        succeeded();
        ck_assert_ptr_nonnull(strstr(ran.out, names[i]));
        ck_assert_uint_eq(ran.n_err, 0);
        ck_assert_ptr_null(strchr(ran.out, '\033'));
    }
    RUN("--version");
    succeeded();
    ck_assert(strncmp(ran.out, "lanewise ", 9) == 0);
    int full = open("/dev/full", O_WRONLY);
    run_words("", 0, full, WORDS("--help"));
    FAILED_WITH(1, "standard output");
    close(full);
}
END_TEST

//: main-test-files
// Runs every command that reads a model on this file.
static void each_command_fails(const char *path, const char *why)
{
    const char *const *lines[] = {WORDS("generate", path, "-p", "x"),
                                  WORDS("chat", path, "-p", "x"),
                                  WORDS("info", path),
                                  WORDS("tokenize", path, "-p", "x"),
                                  WORDS("detokenize", path, "1"),
                                  WORDS("logits", path, "--ids", "1"),
                                  WORDS("perplexity", path, "-f", "tests/main.c"),
                                  WORDS("bench", path)};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        run_words("", 0, TO_FILE, lines[i]);
        FAILED_WITH(1, path, why);
    }
}

START_TEST(a_file_that_is_not_there_is_named)
{
    each_command_fails("/nowhere.gguf", "No such file");
}
END_TEST

START_TEST(what_is_no_gguf_file_is_said)
{
    each_command_fails("tests/main.c", "GGUF");
    each_command_fails("/tmp", "");
    each_command_fails("/dev/null", "");
}
END_TEST

//: main-test-cut
static char model[5 << 20];
static size_t model_bytes;

static void read_model(void)
{
    int fd = open(MODEL, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    model_bytes = spawn_read(fd, model, sizeof model);
}

// Where `text` stands for the first time in the model's bytes.
static char *find(const char *text)
{
    char *at = memmem(model, model_bytes, text, strlen(text));
    ck_assert_ptr_nonnull(at);
    return at;
}

static void generating_fails(size_t bytes, const char *why)
{
    char path[] = "/tmp/lanewise-main-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, model, bytes), (ssize_t)bytes);
    close(fd);
    RUN("generate", path, "-p", "x", "-n", "1");
    FAILED_WITH(1, path, why);
    unlink(path);
}

START_TEST(a_file_cut_anywhere_is_refused)
{
    read_model();
    const size_t cuts[] = {
        0, 3, 4, 23, 24, 100, 5000, 100000, model_bytes / 2, model_bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        generating_fails(cuts[i], "");
}
END_TEST

START_TEST(another_architecture_is_named)
{
    read_model();
    char *value = find("general.architecture") + strlen("general.architecture") + 12;
    ck_assert(memcmp(value, "qwen3", 5) == 0);
    memcpy(value, "llama", 5);
    generating_fails(model_bytes, "llama");
}
END_TEST

// Zeros, then infinity, where the first tensor's first scale may be.
START_TEST(a_scale_that_is_no_number_is_an_error)
{
    read_model();
    for (size_t i = model_bytes - 4000; i + 1 < model_bytes; i += 2) {
        model[i] = 0;
        model[i + 1] = 0x7c;
    }
    generating_fails(model_bytes, "");
}
END_TEST

//: main-test-streams
START_TEST(a_closed_standard_input_is_an_error_where_it_is_read)
{
    int out = spawn_file("", 0), err = spawn_file("", 0);
    spawn_wait(spawn(WORDS("tokenize", MODEL), -1, out, err));
    ran.n_out = spawn_read(out, ran.out, sizeof ran.out);
    ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
    FAILED_WITH(1, "standard input");
}
END_TEST

START_TEST(no_stream_becomes_the_model)
{
    int none = open("/dev/null", O_RDWR);
    spawn_wait(spawn(WORDS("generate", MODEL, "-p", "x", "-n", "1"), none, none, -1));
    ck_assert_int_eq(ran.status, 0);
    spawn_wait(spawn(WORDS("generate", MODEL, "-p", "x", "-n", "1"), -1, -1, -1));
    ck_assert_int_eq(ran.status, 1);
    close(none);
}
END_TEST

START_TEST(nothing_is_coloured)
{
    setenv("NO_COLOR", "1", 1);
    RUN("generate", MODEL, "-p", "x", "-n", "2", "--threads", "1");
    succeeded();
    ck_assert_ptr_null(strchr(ran.err, '\033'));
    ck_assert_ptr_null(strchr(ran.out, '\033'));
}
END_TEST

//: main-test-readme
// The tale in README.md is the one that is told; only its line breaks may differ.
static void skip_blanks(const char **text)
{
    while (**text == ' ' || **text == '\n')
        ++*text;
}

START_TEST(the_readme_shows_the_tale_that_is_told)
{
    static char readme[1 << 16];
    int fd = open("README.md", O_RDONLY);
    if (fd < 0)
        return; // a copy of the sources alone
    spawn_read(fd, readme, sizeof readme);
    const char *shown = strstr(readme, "<!-- tale -->\n```\n");
    const char *prompt = "Once upon a time", *told = ran.out;
    ck_assert_ptr_nonnull(shown);
    shown = strstr(shown, "```\n") + 4;
    ck_assert(strncmp(shown, prompt, strlen(prompt)) == 0);
    shown += strlen(prompt);
    RUN("generate", MODEL, "-p", prompt, "--temp", "0.7", "--top-p", "0.9", "--seed", "2",
        "--backend", "cpu", "--threads", "1", "-q");
    succeeded();
    for (skip_blanks(&told), skip_blanks(&shown); *told != 0;
         skip_blanks(&told), skip_blanks(&shown))
        ck_assert_msg(*told++ == *shown++, "README.md is stale; make readme");
    ck_assert(strncmp(shown, "```", 3) == 0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("main");
    add_case(s, "usage", wrong_usage_is_status_2, help_is_on_standard_output, NULL);
    add_case(s, "readme", the_readme_shows_the_tale_that_is_told, NULL);
    add_case(s, "files", a_file_that_is_not_there_is_named, what_is_no_gguf_file_is_said,
             a_file_cut_anywhere_is_refused, another_architecture_is_named,
             a_scale_that_is_no_number_is_an_error, NULL);
    add_case(s, "streams", a_closed_standard_input_is_an_error_where_it_is_read,
             no_stream_becomes_the_model, nothing_is_coloured, NULL);
    return s;
}
