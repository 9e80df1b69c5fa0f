//: bpe
// Byte-pair encoding: joins neighbouring tokens, lowest rank first, until none of them have
// a merge.  The tokenizer brings a piece of text, a word or so, as tokens of one byte each.
#ifndef LANEWISE_BPE_H
#define LANEWISE_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct bpe_merge { // the tokens left and right, side by side, become result
    int left, right;
    int rank; // the lower, the sooner; not negative
    int result;
};

struct bpe {                 // a hash table of the merges by their pairs, open addressing
    struct bpe_merge *slots; // left is -1 in an empty one
    uint64_t n_slots;        // a power of two, at least twice the number of merges
};

bool bpe_init(struct bpe *b, size_t n_merges, struct error *e);
void bpe_free(struct bpe *b);
// At most n_merges times.  Of two merges of one pair the first stays.
void bpe_add(struct bpe *b, struct bpe_merge merge);

//: bpe-piece-arrays
// The tokens of one piece while they are being joined; start from {0} and keep it for the
// next piece.
struct bpe_piece {
    int *ids;        // (room) token at each position; -1 where one was joined leftwards
    int *before;     // (room) the position of the token before; -1 at the first
    int *after;      // (room) the position of the token after; the count at the last
    uint64_t *queue; // (2 room) a heap of rank << 32 | position
    size_t room, queued;
};

bool bpe_piece_reserve(struct bpe_piece *p, size_t count, struct error *e);
void bpe_piece_free(struct bpe_piece *p);

// Joins ids[0 .. count), leaves what remains in ids[0 ..) and returns how many that is.
// Of merges of the lowest rank the leftmost is done first.  Takes O(count log count).
size_t bpe_apply(const struct bpe *b, struct bpe_piece *p, size_t count);

#endif
