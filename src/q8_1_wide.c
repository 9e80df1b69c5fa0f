//: q8-1-widen
// Unpacks activations for the CPU's GEMVs; see q8_1_wide.h.
#include "q8_1_wide.h"

#include "half.h"

void q8_1_widen(struct q8_1_wide *wide, const struct block_q8_1 *blocks)
{
    for (int j = 0; j < 8; j++) {
        int sum = 0;
        for (int i = 0; i < 32; i++) {
            wide->codes[32 * j + i] = blocks[j].codes[i];
            sum += blocks[j].codes[i];
        }
        wide->sums[j] = sum;
        wide->d[j] = half_to_float(blocks[j].d);
    }
}
