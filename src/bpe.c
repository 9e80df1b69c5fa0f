//: bpe-table
// Byte-pair encoding; see bpe.h.
#include "bpe.h"

#include <limits.h>
#include <stdlib.h>

#include "heap.h"

// The slot that holds the pair, or the empty one where it would be.
static struct bpe_merge *slot_of(const struct bpe *b, int left, int right)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    uint64_t hash = pair * 0x9E3779B97F4A7C15u; // Knuth's multiplicative hashing
    for (uint64_t i = hash ^ hash >> 32;; i++) {
        struct bpe_merge *slot = &b->slots[i & (b->n_slots - 1)];
        if (slot->left < 0 || (slot->left == left && slot->right == right))
            return slot;
    }
}

//: bpe-init
bool bpe_init(struct bpe *b, size_t n_merges, struct error *e)
{
    *b = (struct bpe){.n_slots = 2};
    while (b->n_slots / 2 < n_merges)
        b->n_slots *= 2;
    if (b->n_slots <= SIZE_MAX / sizeof *b->slots)
        b->slots = malloc((size_t)b->n_slots * sizeof *b->slots);
    if (b->slots == NULL)
        return failed(e, "no memory for a table of %zu merges", n_merges);
    for (uint64_t i = 0; i < b->n_slots; i++)
        b->slots[i].left = -1;
    return true;
}

void bpe_add(struct bpe *b, struct bpe_merge merge)
{
    struct bpe_merge *slot = slot_of(b, merge.left, merge.right);
    if (slot->left < 0)
        *slot = merge;
}

//: bpe-free
void bpe_free(struct bpe *b)
{
    free(b->slots);
    *b = (struct bpe){0};
}

void bpe_piece_free(struct bpe_piece *p)
{
    free(p->ids);
    free(p->before);
    free(p->after);
    free(p->queue);
    *p = (struct bpe_piece){0};
}

//: bpe-piece
// Makes room for a piece of count tokens.  What the arrays held is lost.
bool bpe_piece_reserve(struct bpe_piece *p, size_t count, struct error *e)
{
    if (count <= p->room)
        return true;
    if (count > INT_MAX / 2)
        return failed(e, "a word of %zu bytes is longer than the %d a tokenizer takes",
                      count, INT_MAX / 2);
    bpe_piece_free(p);
    size_t room = 2 * count;
    p->ids = malloc(room * sizeof *p->ids);
    p->before = malloc(room * sizeof *p->before);
    p->after = malloc(room * sizeof *p->after);
    p->queue = malloc(2 * room * sizeof *p->queue);
    p->room = room;
    if (p->ids != NULL && p->before != NULL && p->after != NULL && p->queue != NULL)
        return true;
    bpe_piece_free(p);
    return failed(e, "no memory to tokenize a word of %zu bytes", count);
}

//: bpe-pairs
// The merge of the token at this position and the next one; null where there is none.
static const struct bpe_merge *merge_at(const struct bpe *b, const struct bpe_piece *p,
                                        size_t count, int at)
{
    if (at < 0 || p->ids[at] < 0 || (size_t)p->after[at] == count)
        return NULL;
    const struct bpe_merge *m = slot_of(b, p->ids[at], p->ids[p->after[at]]);
    return m->left < 0 ? NULL : m;
}

// The rank of a pair above the position of its left token: the smallest such number is the
// leftmost pair of the lowest rank.
static void queue_pair(const struct bpe *b, struct bpe_piece *p, size_t count, int at)
{
    const struct bpe_merge *m = merge_at(b, p, count, at);
    if (m != NULL)
        heap_push(p->queue, p->queued++, (uint64_t)m->rank << 32 | (uint32_t)at);
}

//: bpe-join
// The token at this position swallows the one after it.
static void join(struct bpe_piece *p, size_t count, int at, int result)
{
    int gone = p->after[at];
    p->ids[at] = result;
    p->ids[gone] = -1;
    p->after[at] = p->after[gone];
    if ((size_t)p->after[at] < count)
        p->before[p->after[at]] = at;
}

//: bpe-apply
size_t bpe_apply(const struct bpe *b, struct bpe_piece *p, size_t count)
{
    p->queued = 0;
    for (size_t i = 0; i < count; i++) {
        p->before[i] = (int)i - 1;
        p->after[i] = (int)i + 1;
    }
    for (size_t i = 0; i < count; i++)
        queue_pair(b, p, count, (int)i);
    while (p->queued > 0) {
        uint64_t first = heap_pop(p->queue, p->queued--);
        int at = (int)(first & UINT32_MAX);
        const struct bpe_merge *m = merge_at(b, p, count, at);
        if (m == NULL || (uint64_t)m->rank != first >> 32)
            continue; // a token of this pair has been joined to another since
        join(p, count, at, m->result);
        queue_pair(b, p, count, p->before[at]);
        queue_pair(b, p, count, at);
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i = (size_t)p->after[i])
        p->ids[left++] = p->ids[i];
    return left;
}
