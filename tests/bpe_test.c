#include "bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "main.h"
#include "random.h"

// Letters are tokens: 'a' is 0, 'b' 1 and so on; results of merges count on from 26.
static size_t apply(const struct bpe *b, struct bpe_piece *p, const char *text)
{
    struct error e;
    size_t n = strlen(text);
    ck_assert(bpe_piece_reserve(p, n, &e));
    for (size_t i = 0; i < n; i++)
        p->ids[i] = text[i] - 'a';
    return bpe_apply(b, p, n);
}

static void gives(const struct bpe *b, const char *text, const int *expected, size_t n)
{
    struct bpe_piece p = {0};
    ck_assert_uint_eq(apply(b, &p, text), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(p.ids[i], expected[i]);
    bpe_piece_free(&p);
}

static struct bpe table(const struct bpe_merge *merges, size_t n)
{
    struct bpe b;
    struct error e;
    ck_assert(bpe_init(&b, n, &e));
    for (size_t i = 0; i < n; i++)
        bpe_add(&b, merges[i]);
    return b;
}

//: bpe-test-core
// low + er by hand: l o w e r s -> l o w er s -> lo w er s -> low er s
START_TEST(merges_go_by_rank_not_by_place)
{
    enum { E = 'e' - 'a', L = 'l' - 'a', O = 'o' - 'a', R = 'r' - 'a', S = 's' - 'a' };
    enum { W = 'w' - 'a', ER = 26, LO, LOW };
    const struct bpe_merge merges[] = {{E, R, 0, ER}, {L, O, 1, LO}, {LO, W, 2, LOW}};
    struct bpe b = table(merges, 3);
    gives(&b, "lowers", (int[]){LOW, ER, S}, 3);
    gives(&b, "owl", (int[]){O, W, L}, 3);
    gives(&b, "l", (int[]){L}, 1);
    gives(&b, "", NULL, 0);
    bpe_free(&b);
}
END_TEST

START_TEST(of_equal_ranks_the_leftmost_goes_first)
{
    const struct bpe_merge merges[] = {{0, 0, 0, 26}};
    struct bpe b = table(merges, 1);
    gives(&b, "aaaaa", (int[]){26, 26, 0}, 3);
    bpe_free(&b);
}
END_TEST

//: bpe-test-stale
// bc is queued with rank 1, then ab (rank 0) swallows its b: bc must not happen.
START_TEST(a_queued_pair_whose_token_is_gone_is_dropped)
{
    const struct bpe_merge merges[] = {{0, 1, 0, 26}, {1, 2, 1, 27}, {26, 2, 2, 28}};
    struct bpe b = table(merges, 2);
    gives(&b, "abc", (int[]){26, 2}, 2);
    gives(&b, "bcabc", (int[]){27, 26, 2}, 3);
    bpe_free(&b);
    b = table(merges, 3);
    gives(&b, "abc", (int[]){28}, 1);
    bpe_free(&b);
}
END_TEST

START_TEST(of_two_merges_of_a_pair_the_first_stays)
{
    const struct bpe_merge merges[] = {{0, 1, 0, 26}, {0, 1, 1, 27}};
    struct bpe b = table(merges, 2);
    gives(&b, "ab", (int[]){26}, 1);
    bpe_free(&b);
}
END_TEST

//: test-bpe-slowly
// The definition itself: look at all pairs, do the leftmost of the lowest rank, look again.
static size_t slowly(const struct bpe_merge *merges, int n_merges, int *ids, size_t n)
{
    for (;;) {
        int rank = n_merges;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            for (int m = 0; m < rank; m++)
                if (merges[m].left == ids[i] && merges[m].right == ids[i + 1])
                    rank = m, at = i;
        if (rank == n_merges)
            return n;
        ids[at] = merges[rank].result;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

//: test-bpe-queue
// Merges of any tokens in any order: a trained vocabulary is better behaved than this,
// where a join can make a pair of a lower rank than its own.
START_TEST(the_queue_does_what_the_definition_says)
{
    enum { MERGES = 40, LONGEST = 64 };
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct random r = {seed};
        struct bpe_merge merges[MERGES];
        for (int m = 0; m < MERGES; m++)
            merges[m] =
                (struct bpe_merge){(int)(random_bits(&r) % 8), (int)(random_bits(&r) % 8),
                                   m, (int)(random_bits(&r) % 8)};
        struct bpe b = table(merges, MERGES);
        struct bpe_piece p = {0};
        int expected[LONGEST];
        size_t n = random_bits(&r) % (LONGEST + 1);
        struct error e;
        ck_assert(bpe_piece_reserve(&p, LONGEST, &e));
        for (size_t i = 0; i < n; i++)
            p.ids[i] = expected[i] = (int)(random_bits(&r) % 4);
        size_t left = slowly(merges, MERGES, expected, n);
        ck_assert_uint_eq(bpe_apply(&b, &p, n), left);
        ck_assert_mem_eq(p.ids, expected, left * sizeof *expected);
        bpe_piece_free(&p);
        bpe_free(&b);
    }
}
END_TEST

//: bpe-test-time
static double seconds_of(const struct bpe *b, size_t n)
{
    struct bpe_piece p = {0};
    struct error e;
    struct timespec start, end;
    ck_assert(bpe_piece_reserve(&p, n, &e));
    memset(p.ids, 0, n * sizeof *p.ids);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    size_t left = bpe_apply(b, &p, n);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    ck_assert_uint_eq(left, n >> 10);
    bpe_piece_free(&p);
    return (double)(end.tv_sec - start.tv_sec) +
           1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

// One letter over and over, which ten merges double to 1,024 letters a token: every
// position is joined.  Looking at all pairs after each join would take hours.
START_TEST(a_word_of_a_mebibyte_takes_a_second_and_time_grows_with_its_length)
{
    struct bpe_merge merges[10];
    for (int m = 0; m < 10; m++)
        merges[m] = (struct bpe_merge){m, m, m, m + 1};
    struct bpe b = table(merges, 10);
    double quarter = seconds_of(&b, 1 << 18), whole = seconds_of(&b, 1 << 20);
    ck_assert_msg(whole < 2, "%.2f s", whole);
    ck_assert_msg(whole < 4 * 4 * quarter + 0.05, "%.3f s, a quarter %.3f s", whole,
                  quarter);
    bpe_free(&b);
}
END_TEST

START_TEST(a_word_too_long_for_its_positions_is_refused)
{
    struct bpe_piece p = {0};
    struct error e;
    ck_assert(!bpe_piece_reserve(&p, (size_t)1 << 31, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "2147483648 bytes"));
    bpe_piece_free(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("bpe");
    add_case(s, "core", merges_go_by_rank_not_by_place,
             of_equal_ranks_the_leftmost_goes_first,
             a_queued_pair_whose_token_is_gone_is_dropped,
             of_two_merges_of_a_pair_the_first_stays, NULL);
    add_case(s, "limits", the_queue_does_what_the_definition_says,
             a_word_of_a_mebibyte_takes_a_second_and_time_grows_with_its_length,
             a_word_too_long_for_its_positions_is_refused, NULL);
    return s;
}
