// lanewise info, tokenize and detokenize, run as a program.
#include <sys/ioctl.h>

#include "random.h"
#include "spawn.h"

//: inspect-test-golden
static size_t from_hex(const char *hex, char *bytes)
{
    size_t n = 0;
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        bytes[n++] = (char)byte;
    return n;
}

// Argument lists have no nulls, so the text goes in through standard input.
START_TEST(every_golden_text_gives_its_ids_and_comes_back)
{
    static char line[1 << 16], text[1 << 14];
    FILE *f = fopen("tests/golden/tokenize.tsv", "r");
    int rows = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        if (line[0] == '#')
            continue;
        char *ids = strchr(line, '\t');
        *ids++ = 0;
        size_t n = line[0] == '-' ? 0 : from_hex(line, text);
        RUN_WITH(text, n, "tokenize", MODEL);
        succeeded();
        ck_assert_str_eq(ran.out, ids);
        ids[strcspn(ids, "\n")] = 0;
        RUN("detokenize", MODEL, ids);
        succeeded();
        ck_assert_uint_eq(ran.n_out, n);
        ck_assert_int_eq(memcmp(ran.out, text, n), 0);
        rows++;
    }
    fclose(f);
    ck_assert_int_ge(rows, 20);
}
END_TEST

//: inspect-test-round-trip
START_TEST(random_bytes_come_back)
{
    enum { BYTES = 20000 };
    static unsigned char bytes[BYTES];
    static char ids[SPAWN_ROOM];
    struct random r = {18};
    random_bytes(&r, bytes, BYTES);
    RUN_WITH(bytes, BYTES, "tokenize", MODEL);
    succeeded();
    memcpy(ids, ran.out, ran.n_out - 1); // without the line feed
    RUN("detokenize", MODEL, ids);
    succeeded();
    ck_assert_uint_eq(ran.n_out, BYTES);
    ck_assert_int_eq(memcmp(ran.out, bytes, BYTES), 0);
}
END_TEST

START_TEST(control_tokens_are_text_unless_special)
{
    RUN("tokenize", MODEL, "-p", "<|im_end|>", "--special");
    succeeded();
    ck_assert_str_eq(ran.out, "4095\n");
    RUN("tokenize", MODEL, "-p", "<|im_end|>");
    succeeded();
    ck_assert_ptr_nonnull(strchr(ran.out, ','));
    ck_assert_ptr_null(strstr(ran.out, "4095"));
}
END_TEST

START_TEST(a_million_of_one_character_take_no_time)
{
    enum { MILLION = 1000000 };
    static char text[MILLION];
    const char characters[] = "a \n";
    for (int i = 0; i < 3; i++) {
        memset(text, characters[i], MILLION);
        RUN_WITH(text, MILLION, "tokenize", MODEL);
        succeeded();
        ck_assert_uint_gt(ran.n_out, 1000);
#ifndef __SANITIZE_ADDRESS__
        ck_assert(ran.cpu_seconds < 2);
#endif
    }
}
END_TEST

START_TEST(ids_beyond_the_vocabulary_are_refused)
{
    RUN("detokenize", MODEL, "1,4096");
    FAILED_WITH(1, "4096", "4095");
    RUN("detokenize", MODEL, "99999999999999999999");
    FAILED_WITH(1, "99999999999999999999", "4095");
    RUN("detokenize", MODEL, "1,two");
    FAILED_WITH(2, "1,two");
    RUN("detokenize", MODEL, "-1");
    FAILED_WITH(2, "-1");
}
END_TEST

START_TEST(an_interrupt_while_it_waits_for_text_is_130)
{
    int in[2], out = spawn_file("", 0), err = spawn_file("", 0);
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    pid_t pid = spawn(WORDS("tokenize", MODEL), in[0], out, err);
    ck_assert_int_eq(write(in[1], "x", 1), 1);
    for (int waiting = 1; waiting > 0; usleep(10000)) // until it has read that
        ck_assert_int_eq(ioctl(in[0], FIONREAD, &waiting), 0);
    kill(pid, SIGINT);
    spawn_wait(pid);
    ran.n_out = spawn_read(out, ran.out, sizeof ran.out);
    ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
    ck_assert_int_eq(ran.status, 130);
    ck_assert_uint_eq(ran.n_out + ran.n_err, 0);
}
END_TEST

//: inspect-test-info
START_TEST(info_lists_keys_and_tensors)
{
    RUN("info", MODEL);
    succeeded();
    const char *const parts[] = {MODEL,
                                 "GGUF version 3, 4465184 bytes",
                                 "general.architecture: ",
                                 "qwen3.block_count: 6",
                                 "tokenizer.ggml.tokens: ",
                                 "token_embd.weight",
                                 "Q6_K",
                                 "(4096, 256) 860160 bytes",
                                 "blk.5.ffn_down.weight",
                                 "(256, 768)",
                                 "68 tensors"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(ran.out, parts[i]) != NULL, "no '%s'", parts[i]);
    ck_assert_uint_eq(ran.n_err, 0);
}
END_TEST

START_TEST(a_full_disk_is_told)
{
    int full = open("/dev/full", O_WRONLY);
    run_words("", 0, full, WORDS("info", MODEL));
    FAILED_WITH(1, "standard output");
    run_words("abc", 3, full, WORDS("tokenize", MODEL));
    FAILED_WITH(1, "standard output");
    run_words("", 0, full, WORDS("detokenize", MODEL, "72"));
    FAILED_WITH(1, "standard output");
    close(full);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("inspect");
    add_case(s, "core", every_golden_text_gives_its_ids_and_comes_back,
             random_bytes_come_back, control_tokens_are_text_unless_special,
             info_lists_keys_and_tensors, NULL);
    add_case(s, "limits", a_million_of_one_character_take_no_time,
             ids_beyond_the_vocabulary_are_refused, a_full_disk_is_told,
             an_interrupt_while_it_waits_for_text_is_130, NULL);
    return s;
}
