// The command line, word by word.
#include "options.h"

#include <string.h>

#include "main.h"

static struct options o;
static struct error e;

static bool parse(const char *const *words)
{
    char *argv[20] = {(char *)"lanewise"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1]; // getopt moves pointers, not letters
    e.text[0] = 0;
    return options_parse(&o, argc, argv, &e);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void refused(const char *with, const char *const *words)
{
    ck_assert(!parse(words));
    ck_assert_msg(strstr(e.text, with) != NULL, "no '%s' in: %s", with, e.text);
}
#define REFUSED(with, ...) refused(with, (const char *const[]){__VA_ARGS__, NULL})

//: options-test-defaults
START_TEST(defaults_are_the_documented_ones)
{
    ck_assert(PARSE("generate", "m.gguf"));
    ck_assert_int_eq(o.command, GENERATE);
    ck_assert_str_eq(o.model, "m.gguf");
    ck_assert_int_eq(o.tokens, 128);
    ck_assert_int_eq(o.repeat, 3);
    ck_assert_int_eq(o.kv, KV_F16);
    ck_assert_int_eq(o.context, 0);
    ck_assert(o.sampling.temperature == 0 && o.sampling.top_p == 1 &&
              o.sampling.min_p == 0);
    ck_assert(o.sampling.top_k == 0 && o.sampling.seed == 0);
    ck_assert_ptr_null(o.prompt);
    ck_assert(!o.quiet && !o.print_ids && !o.help);
}
END_TEST

START_TEST(options_may_stand_anywhere)
{
    ck_assert(PARSE("generate", "--temp", "0.7", "-n5", "m.gguf", "-q", "--seed=18"));
    ck_assert_str_eq(o.model, "m.gguf");
    ck_assert_int_eq(o.tokens, 5);
    ck_assert(o.sampling.temperature == 0.7 && o.sampling.seed == 18 && o.quiet);
    ck_assert(
        PARSE("generate", "m.gguf", "-p", "--temp")); // a text may look like an option
    ck_assert_str_eq(o.prompt, "--temp");
    ck_assert(PARSE("generate", "--", "-m"));
    ck_assert_str_eq(o.model, "-m");
}
END_TEST

START_TEST(one_word_means_two_things_in_two_commands)
{
    ck_assert(PARSE("generate", "m", "--ids"));
    ck_assert(o.print_ids && o.ids == NULL);
    ck_assert(PARSE("logits", "m", "--ids", "1,2"));
    ck_assert(!o.print_ids);
    ck_assert_str_eq(o.ids, "1,2");
}
END_TEST

START_TEST(every_command_takes_the_common_options)
{
    const char *const commands[] = {"info", "tokenize", "chat", "bench"};
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(PARSE(commands[i], "m", "--backend", "cpu", "--kv", "f32", "--ctx",
                            "9", "--threads", "2", "-q", "-v", "--no-graph", "-n", "3"),
                      "%s", e.text);
        ck_assert(o.kv == KV_F32 && o.context == 9 && o.threads == 2 && o.no_graph);
    }
}
END_TEST

//: options-test-values
START_TEST(numbers_have_limits_that_are_told)
{
    REFUSED("from 0 to 1", "generate", "m", "--top-p", "1.5");
    REFUSED("'nan'", "generate", "m", "--temp", "nan");
    REFUSED("'-1'", "generate", "m", "--temp", "-1");
    REFUSED("from 1 to", "generate", "m", "--ctx", "0");
    REFUSED("whole number", "generate", "m", "-n", "1.5");
    REFUSED("'99999999999'", "generate", "m", "--threads", "99999999999");
    REFUSED("''", "generate", "m", "-n", "");
    REFUSED("'3x'", "bench", "m", "--repeat", "3x");
    ck_assert(PARSE("generate", "m", "--top-p", "1", "--min-p", "0", "--top-k", "0"));
}
END_TEST

START_TEST(seeds_have_64_bits)
{
    ck_assert(PARSE("generate", "m", "--seed", "18446744073709551615"));
    ck_assert(o.sampling.seed == 18446744073709551615u);
    REFUSED("2^64", "generate", "m", "--seed", "18446744073709551616");
    REFUSED("'-1'", "generate", "m", "--seed", "-1");
}
END_TEST

//: options-test-lists
START_TEST(lists_are_numbers_and_commas)
{
    ck_assert(PARSE("bench", "m", "--depth", "0,2048"));
    ck_assert(PARSE("logits", "m", "--ids", ""));
    ck_assert(PARSE("detokenize", "m", "7"));
    ck_assert_str_eq(o.operand, "7");
    REFUSED("',1'", "logits", "m", "--ids", ",1");
    REFUSED("'1,'", "logits", "m", "--ids", "1,");
    REFUSED("'1,,2'", "bench", "m", "--depth", "1,,2");
    REFUSED("'1 2'", "detokenize", "m", "1 2");
}
END_TEST

//: options-test-words
START_TEST(what_is_wrong_is_named_as_it_was_written)
{
    REFUSED("-x ", "generate", "m", "-qx");
    REFUSED("-x ", "generate", "m", "-xq");
    REFUSED("--loud ", "generate", "m", "--loud");
    REFUSED("--quiet takes no argument", "generate", "m", "--quiet=1");
    REFUSED("--temp needs an argument", "generate", "m", "--temp");
    REFUSED("-n needs an argument", "generate", "m", "-n");
    REFUSED("--special ", "generate", "m", "--special"); // of another command
    REFUSED("found 0", "generate");
    REFUSED("found 3", "detokenize", "m", "1", "2");
    REFUSED("--backend", "generate", "m", "--backend", "gpu");
    REFUSED("--kv", "generate", "m", "--kv", "f64");
    REFUSED("'Generate'", "Generate", "m");
}
END_TEST

START_TEST(a_long_value_leaves_room_for_what_was_expected)
{
    char text[3000];
    memset(text, '9', sizeof text - 1);
    text[sizeof text - 1] = 0;
    REFUSED("expected a number from 0 to 1000", "generate", "m", "--temp", text);
    REFUSED("expected a whole number below 2^64", "generate", "m", "--seed", text);
    REFUSED("expected f16 or f32", "generate", "m", "--kv", text);
    REFUSED("expected cpu or cuda", "generate", "m", "--backend", text);
    REFUSED("expected qwen3-0.6b", "synth", "o", "--shape", text);
    REFUSED("is no command", text, "m");
}
END_TEST

START_TEST(help_needs_no_operands)
{
    ck_assert(PARSE("--help") && o.help && o.command == COMMANDS);
    ck_assert(PARSE("bench", "--help") && o.help && o.command == BENCH);
    ck_assert(PARSE("--version") && o.version);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("options");
    add_case(s, "core", defaults_are_the_documented_ones, options_may_stand_anywhere,
             one_word_means_two_things_in_two_commands,
             every_command_takes_the_common_options, help_needs_no_operands, NULL);
    add_case(s, "limits", numbers_have_limits_that_are_told, seeds_have_64_bits,
             lists_are_numbers_and_commas, what_is_wrong_is_named_as_it_was_written,
             a_long_value_leaves_room_for_what_was_expected, NULL);
    return s;
}
