// Files, lists of ids and the opening of sessions.
#include "session.h"

#include <signal.h>

#include <stdlib.h>
#include <string.h>

#include "gguf_writer.h"
#include "main.h"

#define MODEL "data/tales-Q4_K_M.gguf"

static struct error e;

START_TEST(a_file_is_read_whole_whatever_its_size)
{
    const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000};
    for (int i = 0; i < 6; i++) {
        char path[GW_PATH], *bytes, *written = malloc(sizes[i] + 1);
        size_t count;
        for (size_t j = 0; j < sizes[i]; j++)
            written[j] = (char)(j * 31 % 251);
        gw_save_bytes(path, written, sizes[i]);
        ck_assert_msg(read_file(path, &bytes, &count, &e), "%s", e.text);
        ck_assert_uint_eq(count, sizes[i]);
        ck_assert_int_eq(memcmp(bytes, written, count), 0);
        free(bytes);
        free(written);
        unlink(path);
    }
}
END_TEST

START_TEST(a_text_without_end_is_refused)
{
    char *bytes;
    size_t count;
    ck_assert(!read_file("/dev/zero", &bytes, &count, &e));
    ck_assert_str_eq(e.text, "/dev/zero: more than 268435456 bytes of text");
    free(bytes);
    ck_assert(!read_file("/nowhere", &bytes, &count, &e));
    ck_assert_str_eq(e.text, "/nowhere: No such file or directory");
    free(bytes);
    char path[3000]; // of a long one, the end
    memset(path, '/', sizeof path - 1);
    strcpy(path + sizeof path - 9, "/nowhere");
    ck_assert(!read_file(path, &bytes, &count, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere: No such file or directory"));
    free(bytes);
}
END_TEST

START_TEST(lists_give_their_numbers)
{
    struct ids ids = {0};
    ck_assert(parse_ids("0,12,7", "list", 13, &ids, &e));
    ck_assert_uint_eq(ids.count, 3);
    ck_assert(ids.items[0] == 0 && ids.items[1] == 12 && ids.items[2] == 7);
    ck_assert(parse_ids("", "list", 13, &ids, &e));
    ck_assert_uint_eq(ids.count, 3); // they are added to
    ids_free(&ids);
}
END_TEST

START_TEST(numbers_beyond_the_limit_are_told_with_it)
{
    struct ids ids = {0};
    ck_assert(!parse_ids("1,13", "list", 13, &ids, &e));
    ck_assert_str_eq(e.text, "list: 13 is too large, the last is 12");
    ck_assert(!parse_ids("-1", "list", 13, &ids, &e));
    ck_assert(!parse_ids("1;2", "list", 13, &ids, &e));
    ids_free(&ids);
}
END_TEST

//: session-test-open
START_TEST(a_session_opens_and_its_cache_can_be_filled)
{
    const struct options o = {
        .model = MODEL, .backend = "cpu", .threads = 1, .quiet = true};
    struct session s = {.options = &o};
    int ids[40];
    for (int i = 0; i < 40; i++)
        ids[i] = i;
    ck_assert_msg(session_open(&s, &e), "%s", e.text);
    ck_assert_int_eq(decoder_context(s.decoder), 2048); // the model's: less than 8192
    ck_assert(session_prompt(&s, ids, 40, &e));
    ck_assert_int_eq(decoder_position(s.decoder), 40);
    ck_assert_int_eq(s.prompt_tokens, 40);
    ck_assert(s.prompt_seconds > 0 && s.load_seconds > 0);
    ck_assert(session_prompt(&s, ids, 0, &e));
    ck_assert_int_eq(decoder_position(s.decoder), 40);
    session_close(&s);
}
END_TEST

START_TEST(a_failed_open_leaves_nothing_that_close_cannot_take)
{
    const struct options cases[] = {
        {.model = "/nowhere"}, {.model = "/dev/null"}, {.model = MODEL, .context = 4096}};
    for (int i = 0; i < 3; i++) {
        struct session s = {.options = &cases[i]};
        ck_assert(!session_open(&s, &e));
        ck_assert_uint_gt(strlen(e.text), 0);
        session_close(&s);
    }
}
END_TEST

START_TEST(an_interrupt_stops_a_prompt_between_pieces)
{
    const struct options o = {
        .model = MODEL, .backend = "cpu", .threads = 1, .quiet = true};
    struct session s = {.options = &o};
    int ids[64] = {0};
    ck_assert(session_open(&s, &e));
    ck_assert(!session_interrupted());
    raise(SIGINT);
    ck_assert(session_interrupted());
    ck_assert(session_prompt(&s, ids, 64, &e));
    ck_assert_int_eq(decoder_position(s.decoder), 0);
    session_close(&s);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("session");
    add_case(s, "core", a_file_is_read_whole_whatever_its_size, lists_give_their_numbers,
             a_session_opens_and_its_cache_can_be_filled, NULL);
    add_case(s, "limits", a_text_without_end_is_refused,
             numbers_beyond_the_limit_are_told_with_it,
             a_failed_open_leaves_nothing_that_close_cannot_take,
             an_interrupt_stops_a_prompt_between_pieces, NULL);
    return s;
}
