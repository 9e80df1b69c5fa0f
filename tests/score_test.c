// lanewise logits and perplexity, run as a program.
#include <math.h>

#include "spawn.h"

#define FEW "--threads", "1", "-q"
enum { VOCABULARY = 4096 };

// Reads n numbers from text; returns what is after them.
static char *read_numbers(char *text, double *numbers, int n)
{
    for (int i = 0; i < n; i++) {
        char *end;
        numbers[i] = strtod(text, &end);
        ck_assert_msg(end != text && isfinite(numbers[i]), "number %d", i);
        text = end;
    }
    return text;
}

//: score-test-golden
START_TEST(logits_are_near_the_float64_reference)
{
    static char golden[1 << 20];
    double expected[VOCABULARY], found[VOCABULARY];
    FILE *f = fopen("tests/golden/logits-0.txt", "r");
    golden[fread(golden, 1, sizeof golden - 1, f)] = 0;
    fclose(f);
    RUN("logits", MODEL, "--ids", "341,613,352,25,360,40,423,756", FEW);
    succeeded();
    char *ours = ran.out, *theirs = golden;
    for (int position = 0; position < 8; position++) {
        double error = 0, power = 0;
        theirs = read_numbers(theirs, expected, VOCABULARY);
        ours = read_numbers(ours, found, VOCABULARY);
        ck_assert_int_eq(*ours++, '\n');
        for (int i = 0; i < VOCABULARY; i++) {
            error += (found[i] - expected[i]) * (found[i] - expected[i]);
            power += expected[i] * expected[i];
        }
        ck_assert(error / power <= 1e-4);
    }
    ck_assert_int_eq(*ours, 0);
}
END_TEST

START_TEST(nine_digits_give_the_float_back)
{
    RUN("logits", MODEL, "--ids", "1", FEW);
    succeeded();
    char *word = strtok(ran.out, " \n");
    int count = 0;
    for (; word != NULL; word = strtok(NULL, " \n"), count++) {
        char again[32];
        snprintf(again, sizeof again, "%.9g", (double)strtof(word, NULL));
        ck_assert_str_eq(word, again);
    }
    ck_assert_int_eq(count, VOCABULARY);
}
END_TEST

//: score-test-perplexity
// From the logits that the other command prints, and the definition.
static double perplexity_of(char *logits, const int *ids, int n, double *error)
{
    double all[VOCABULARY], mean = 0, nats[64], variance = 0;
    for (int i = 0; i + 1 < n; i++) {
        double sum = 0;
        logits = read_numbers(logits, all, VOCABULARY);
        for (int j = 0; j < VOCABULARY; j++)
            sum += exp(all[j]);
        nats[i] = log(sum) - all[ids[i + 1]];
        mean += nats[i] / (n - 1);
    }
    for (int i = 0; i + 1 < n; i++)
        variance += (nats[i] - mean) * (nats[i] - mean) / (n - 2);
    *error = exp(mean) * sqrt(variance / (n - 1));
    return exp(mean);
}

//: score-test-perplexity-run
START_TEST(perplexity_is_what_the_logits_say)
{
    char path[] = "/tmp/lanewise-score-XXXXXX", list[1024];
    const char text[] = "Once upon a time there was a king who had three daughters.";
    int fd = mkstemp(path), ids[64], n = 0;
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    RUN("tokenize", MODEL, "-f", path);
    ran.out[ran.n_out - 1] = 0;
    snprintf(list, sizeof list, "%s", ran.out);
    for (char *at = list; n < 64 && *at != 0; n++, at += *at == ',')
        ids[n] = (int)strtol(at, &at, 10);
    ck_assert_int_gt(n, 5);
    RUN("logits", MODEL, "--ids", list, FEW);
    double error, expected = perplexity_of(ran.out, ids, n, &error), found, found_error;
    RUN("perplexity", MODEL, "-f", path, FEW);
    succeeded();
    int count;
    ck_assert_int_eq(sscanf(ran.out, "perplexity %lf +- %lf over %d tokens", &found,
                            &found_error, &count),
                     3);
    ck_assert_int_eq(count, n - 1);
    ck_assert(fabs(found - expected) <= 1e-4 + 1e-5 * expected);
    ck_assert(fabs(found_error - error) <= 1e-4 + 1e-5 * error);
    unlink(path);
}
END_TEST

//: score-test-windows
// A text longer than the context is cut into windows; every token after the first counts.
START_TEST(a_long_text_is_scored_in_windows)
{
    int n = 1, count;
    double value, error;
    char path[] = "/tmp/lanewise-score-XXXXXX";
    int fd = mkstemp(path);
    for (int i = 0; i < 20; i++)
        ck_assert_int_gt(dprintf(fd, "The king had %d sons. ", i), 0);
    close(fd);
    RUN("tokenize", MODEL, "-f", path);
    for (size_t i = 0; i < ran.n_out; i++)
        n += ran.out[i] == ',';
    ck_assert_int_gt(n, 120);
    RUN("perplexity", MODEL, "-f", path, "--ctx", "40", FEW);
    succeeded();
    ck_assert_int_eq(
        sscanf(ran.out, "perplexity %lf +- %lf over %d tokens", &value, &error, &count), 3);
    ck_assert_int_eq(count, n - 1);
    ck_assert(value > 1 && value < VOCABULARY);
    ck_assert(error > 0 && error < value);
    unlink(path);
}
END_TEST

START_TEST(what_cannot_be_scored_is_said)
{
    RUN("perplexity", MODEL, "-f", "/dev/null");
    FAILED_WITH(1, "/dev/null", "0 tokens");
    RUN("perplexity", MODEL, "-f", "tests/main.c", "--ctx", "1");
    FAILED_WITH(1, "context is 1");
    RUN("perplexity", MODEL);
    FAILED_WITH(2, "-f");
    RUN("logits", MODEL);
    FAILED_WITH(2, "--ids");
    RUN("logits", MODEL, "--ids", "1,4096");
    FAILED_WITH(1, "4096", "4095");
    RUN("logits", MODEL, "--ids", "1,,2");
    FAILED_WITH(2, "1,,2");
    RUN("logits", MODEL, "--ids", "1,2,3", "--ctx", "2");
    FAILED_WITH(1, "3", "2");
    int full = open("/dev/full", O_WRONLY);
    run_words("", 0, full, WORDS("logits", MODEL, "--ids", "1,2", FEW));
    FAILED_WITH(1, "standard output");
    close(full);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("score");
    add_case(s, "core", logits_are_near_the_float64_reference,
             nine_digits_give_the_float_back, perplexity_is_what_the_logits_say, NULL);
    add_case(s, "limits", a_long_text_is_scored_in_windows, what_cannot_be_scored_is_said,
             NULL);
    return s;
}
