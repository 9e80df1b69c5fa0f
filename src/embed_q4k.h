//: embed-q4k
// The embedding gather from a repacked Q4_K table; see q4k_repack.h for the layout.
#ifndef LANEWISE_EMBED_Q4K_H
#define LANEWISE_EMBED_Q4K_H

#include <stdint.h>

#include "stream.h"

// As embed_cuda of the table before it was repacked, to the bit.  packed: all
// rows * columns / 256 blocks.
void embed_q4k_cuda(float *x, const uint8_t *packed, const int *token, int rows,
                    int columns, cudaStream_t stream);

#endif
