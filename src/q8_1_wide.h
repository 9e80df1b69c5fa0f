//: q8-1-wide
// The activations of one superblock, unpacked once for many rows: sixteen-bit codes that a
// CPU multiplies without widening them again, and the sum that each minimum is multiplied
// by.
#ifndef LANEWISE_Q8_1_WIDE_H
#define LANEWISE_Q8_1_WIDE_H

#include "q8_1.h"

struct q8_1_wide { // eight q8_1 blocks
    int16_t codes[256];
    int sums[8]; // of each block's codes
    float d[8];
};

enum { ROWS_A_GROUP = 16 }; // rows that share one unpacking

// blocks: 8.
void q8_1_widen(struct q8_1_wide *wide, const struct block_q8_1 *blocks);

#endif
