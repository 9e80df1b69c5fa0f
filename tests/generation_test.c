// The loop that writes, with sinks that count.
#include "generation.h"

#include <string.h>

#include "main.h"

#define MODEL "data/tales-Q4_K_M.gguf"

static struct session s;
static struct options o;
static struct error e;

static void setup(void)
{
    o = (struct options){.model = MODEL,
                         .backend = "cpu",
                         .threads = 1,
                         .quiet = true,
                         .context = 24,
                         .sampling = {.top_p = 1}};
    s = (struct session){.options = &o};
    ck_assert_msg(session_open(&s, &e), "%s", e.text);
}

static void teardown(void)
{
    session_close(&s);
}

struct heard {
    int tokens[64], count, most;
};

static bool hear(void *user, int token)
{
    struct heard *h = user;
    h->tokens[h->count++] = token;
    return h->count < h->most;
}

static void run(struct heard *h, int most)
{
    decoder_rewind(s.decoder, 0);
    ck_assert(session_prompt(&s, (const int[]){25, 388}, 2, &e));
    h->count = 0;
    ck_assert_msg(generation_run(&s, 40, most, hear, h, &e), "%s", e.text);
}

//: generation-test-loop
START_TEST(greedy_and_sampled_at_a_hair_of_warmth_agree)
{
    setup();
    struct heard greedy = {.most = 64}, sampled = {.most = 64};
    run(&greedy, 8);
    ck_assert_int_eq(greedy.count, 8);
    o.sampling.temperature = 1e-4; // so cold that only the likeliest is drawn
    run(&sampled, 8);
    ck_assert_int_eq(memcmp(greedy.tokens, sampled.tokens, 8 * sizeof(int)), 0);
    teardown();
}
END_TEST

// Two of the prompt, the last of the prompt and two of three new tokens: the third is not
// in the cache.
START_TEST(the_cache_holds_all_but_the_newest_token)
{
    setup();
    struct heard h = {.most = 3};
    for (int warm = 0; warm < 2; warm++) {
        o.sampling.temperature = warm;
        run(&h, 10);
        ck_assert_int_eq(h.count, 3);
        ck_assert_int_eq(decoder_position(s.decoder), 5);
    }
    teardown();
}
END_TEST

START_TEST(it_stops_where_the_context_ends)
{
    setup();
    struct heard h = {.most = 64};
    for (int warm = 0; warm < 2; warm++) {
        o.sampling.temperature = warm;
        run(&h, 50);
        ck_assert_int_eq(h.count, 22); // 24 - 2, each step feeding one
        ck_assert_int_eq(decoder_position(s.decoder), 24);
    }
    teardown();
}
END_TEST

START_TEST(a_token_without_a_text_has_no_bytes)
{
    setup();
    size_t count = 9;
    generation_bytes(&s, 4096, &count); // beyond the tokens, as padded tables have them
    ck_assert_uint_eq(count, 0);
    teardown();
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("generation");
    add_case(suite, "core", greedy_and_sampled_at_a_hair_of_warmth_agree,
             the_cache_holds_all_but_the_newest_token, it_stops_where_the_context_ends,
             a_token_without_a_text_has_no_bytes, NULL);
    return suite;
}
