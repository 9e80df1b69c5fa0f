// lanewise chat, run as a program, against conversations rendered and decoded afresh.
#include "spawn.h"

#include "backend_cpu.h"
#include "chat.h"
#include "decoder.h"
#include "sampler.h"

#define FEW "--threads", "1", "-q"
enum { MOST = 14 };

static struct sampler_options sampling = {.top_p = 1};

static int choose(struct decoder *d, struct sampler *s, int last)
{
    struct error e;
    ck_assert(decoder_prompt(d, &last, 1, &e));
    return sampler_choose(s, decoder_logits(d, &e));
}

// The reply to a conversation, by a decoder that has seen nothing of it.
static void reply_afresh(const struct chat_turn *turns, size_t n, char *text)
{
    struct error e;
    struct gguf file;
    struct model model;
    struct ids ids = {0};
    const struct backend_options on = {.kv = KV_F16, .threads = 1};
    const struct decoder_options options = {.kv = KV_F16};
    ck_assert(gguf_open(&file, MODEL, &e) && model_open(&model, &file, &e));
    struct tokenizer *t = tokenizer_new(&file, &e);
    struct backend *b = backend_cpu_new(&on, &e);
    struct decoder *d = decoder_new(&model, b, &options, NULL, NULL, &e);
    ck_assert(t != NULL && d != NULL);
    ck_assert(chat_render(t, turns, n, true, true, &ids, &e));
    ck_assert(decoder_fill(d, ids.items, ids.count - 1, &e));
    struct sampler *s = sampler_new(&sampling, decoder_vocabulary(d), &e);
    for (int i = 0, token = ids.items[ids.count - 1]; i < MOST; i++) {
        size_t bytes;
        token = choose(d, s, token);
        if (tokenizer_ends_reply(t, token))
            break;
        const char *piece = tokenizer_bytes(t, token, &bytes);
        memcpy(text, piece, bytes);
        text += bytes;
    }
    *text = 0;
    ids_free(&ids);
    sampler_free(s);
    decoder_free(d);
    backend_free(b);
    tokenizer_free(t);
    model_close(&model);
    gguf_close(&file);
}

static struct chat_turn turn(enum chat_role role, const char *text)
{
    return (struct chat_turn){role, text, strlen(text)};
}

//: converse-test-turns
START_TEST(one_turn_is_the_reply_to_it)
{
    char expected[1024];
    const struct chat_turn turns[] = {turn(CHAT_SYSTEM, "You tell tales."),
                                      turn(CHAT_USER, "Who is there?")};
    reply_afresh(turns, 2, expected);
    strcat(expected, "\n");
    RUN("chat", MODEL, "--system", "You tell tales.", "-p", "Who is there?", "-n", "14",
        FEW);
    succeeded();
    ck_assert_str_eq(ran.out, expected);
}
END_TEST

//: converse-test-kept
START_TEST(a_kept_cache_gives_the_reply_of_a_fresh_one)
{
    char first[1024], second[1024], third[1024], expected[4096];
    struct chat_turn turns[5] = {turn(CHAT_USER, "Who is there?")};
    reply_afresh(turns, 1, first);
    turns[1] = turn(CHAT_ASSISTANT, first);
    turns[2] = turn(CHAT_USER, "Tell me more <|im_end|>");
    reply_afresh(turns, 3, second);
    turns[3] = turn(CHAT_ASSISTANT, second);
    turns[4] = turn(CHAT_USER, "And then?");
    reply_afresh(turns, 5, third);
    snprintf(expected, sizeof expected, "%s\n%s\n%s\n", first, second, third);
    const char *lines =
        "Who is there?\nTell me more <|im_end|>\n\nAnd then?"; // one is empty
    RUN_WITH(lines, strlen(lines), "chat", MODEL, "-n", "14", FEW);
    succeeded();
    ck_assert_str_eq(ran.out, expected);
}
END_TEST

//: converse-test-cut
// Drawn tokens are seldom those that their text is cut into, so the cache must go back.
START_TEST(a_reply_that_is_cut_into_other_tokens_is_computed_again)
{
    char first[1024], second[1024], expected[4096], seed[8];
    for (int i = 1; i <= 3; i++) {
        sampling = (struct sampler_options){3, 40, 1, 0, (uint64_t)i};
        struct chat_turn turns[3] = {turn(CHAT_USER, "Who is there?")};
        reply_afresh(turns, 1, first);
        turns[1] = turn(CHAT_ASSISTANT, first);
        turns[2] = turn(CHAT_USER, "And then?");
        reply_afresh(turns, 3, second);
        snprintf(expected, sizeof expected, "%s\n%s\n", first, second);
        snprintf(seed, sizeof seed, "%d", i);
        RUN_WITH("Who is there?\nAnd then?", 23, "chat", MODEL, "-n", "14", "--temp", "3",
                 "--top-k", "40", "--seed", seed, FEW);
        succeeded();
        ck_assert_str_eq(ran.out, expected);
    }
}
END_TEST

//: converse-test-once
START_TEST(the_kept_cache_is_not_computed_again)
{
    long once, twice;
    const char *lines = "Who is there?\nWho is there?\n";
    RUN_WITH(lines, 14, "chat", MODEL, "-n", "1", "--threads", "1");
    ck_assert_int_eq(sscanf(strstr(ran.err, "prompt: "), "prompt: %ld", &once), 1);
    RUN_WITH(lines, 28, "chat", MODEL, "-n", "1", "--threads", "1");
    ck_assert_int_eq(sscanf(strstr(ran.err, "prompt: "), "prompt: %ld", &twice), 1);
    ck_assert_int_gt(twice, once);
    ck_assert_int_lt(twice, 3 * once - 4); // afresh it would be 1 + 2, and the reply
}
END_TEST

START_TEST(thinking_can_be_turned_off)
{
    RUN("chat", MODEL, "-p", "Who is there?", "-n", "1", "--threads", "1");
    long with, without;
    ck_assert_int_eq(sscanf(strstr(ran.err, "prompt: "), "prompt: %ld", &with), 1);
    RUN("chat", MODEL, "-p", "Who is there?", "-n", "1", "--threads", "1", "--no-think");
    ck_assert_int_eq(sscanf(strstr(ran.err, "prompt: "), "prompt: %ld", &without), 1);
    ck_assert_int_gt(without, with); // an empty thought is put in
}
END_TEST

//: converse-test-limits
START_TEST(a_conversation_beyond_the_context_is_refused)
{
    RUN("chat", MODEL, "-p", "Who is there, at this time of the night?", "--ctx", "12");
    FAILED_WITH(1, "conversation has ", "12");
}
END_TEST

START_TEST(no_lines_are_no_turns)
{
    RUN("chat", MODEL, FEW);
    succeeded();
    ck_assert_uint_eq(ran.n_out + ran.n_err, 0);
    RUN_WITH("\n\n", 2, "chat", MODEL, FEW);
    succeeded();
    ck_assert_uint_eq(ran.n_out + ran.n_err, 0);
}
END_TEST

START_TEST(an_input_that_cannot_be_read_is_no_end)
{
    const int inputs[] = {-1, open("/", O_RDONLY)}; // a closed one, a directory
    for (int i = 0; i < 2; i++) {
        int out = spawn_file("", 0), err = spawn_file("", 0);
        spawn_wait(spawn(WORDS("chat", MODEL, FEW), inputs[i], out, err));
        ran.n_out = spawn_read(out, ran.out, sizeof ran.out);
        ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
        FAILED_WITH(1, "standard input: ");
    }
    close(inputs[1]);
}
END_TEST

//: converse-test-interrupt
START_TEST(an_interrupt_while_it_waits_ends_it)
{
    int in[2], out[2], err = spawn_file("", 0);
    char byte = 0;
    ck_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid_t pid =
        spawn(WORDS("chat", MODEL, "-n", "1", "--threads", "1"), in[0], out[1], err);
    close(out[1]);
    ck_assert_int_eq(write(in[1], "x\n", 2), 2);
    while (byte != '\n')
        ck_assert_int_eq(read(out[0], &byte, 1), 1);
    usleep(100000); // it goes on to read the next line
    kill(pid, SIGINT);
    spawn_wait(pid);
    ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
    ck_assert_int_eq(ran.status, 130);
    ck_assert_ptr_nonnull(strstr(ran.err, "decoded: "));
    ck_assert_ptr_null(strstr(ran.err, "lanewise: "));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("converse");
    add_case(s, "core", one_turn_is_the_reply_to_it,
             a_kept_cache_gives_the_reply_of_a_fresh_one,
             a_reply_that_is_cut_into_other_tokens_is_computed_again,
             the_kept_cache_is_not_computed_again, thinking_can_be_turned_off, NULL);
    add_case(s, "limits", a_conversation_beyond_the_context_is_refused,
             no_lines_are_no_turns, an_input_that_cannot_be_read_is_no_end,
             an_interrupt_while_it_waits_ends_it, NULL);
    return s;
}
