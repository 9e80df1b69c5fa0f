#include "heap.h"

#include <stdlib.h>

#include "main.h"
#include "random.h"

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Entries of few values, so that many are equal, and of all 64 bits.
static void fill(uint64_t *entries, size_t n, struct random *r)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = (uint64_t)random_bits(r) << 32 | random_bits(r);
        entries[i] = n % 2 ? bits : bits % 5;
    }
}

START_TEST(pops_come_in_ascending_order)
{
    struct random r = {1};
    for (size_t n = 1; n <= 100; n++)
        for (int made = 0; made < 2; made++) {
            uint64_t heap[100], sorted[100];
            fill(sorted, n, &r);
            for (size_t i = 0; i < n; i++)
                if (made)
                    heap[i] = sorted[i];
                else
                    heap_push(heap, i, sorted[i]);
            if (made)
                heap_make(heap, n);
            qsort(sorted, n, sizeof *sorted, ascending);
            for (size_t i = 0; i < n; i++)
                ck_assert_uint_eq(heap_pop(heap, n - i), sorted[i]);
        }
}
END_TEST

START_TEST(pushes_and_pops_may_alternate)
{
    uint64_t heap[8];
    heap_push(heap, 0, 5);
    heap_push(heap, 1, 3);
    heap_push(heap, 2, 9);
    ck_assert_uint_eq(heap_pop(heap, 3), 3);
    heap_push(heap, 2, 4);
    heap_push(heap, 3, 5);
    ck_assert_uint_eq(heap_pop(heap, 4), 4);
    ck_assert_uint_eq(heap_pop(heap, 3), 5);
    ck_assert_uint_eq(heap_pop(heap, 2), 5);
    ck_assert_uint_eq(heap_pop(heap, 1), 9);
}
END_TEST

START_TEST(an_empty_heap_is_made_of_nothing)
{
    uint64_t untouched = 7;
    heap_make(&untouched, 0);
    ck_assert_uint_eq(untouched, 7);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("heap");
    add_case(s, "core", pops_come_in_ascending_order, pushes_and_pops_may_alternate, NULL);
    add_case(s, "limits", an_empty_heap_is_made_of_nothing, NULL);
    return s;
}
