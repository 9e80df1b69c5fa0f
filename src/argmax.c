//: argmax-oracle
// Argmax on a CPU: the last step of greedy decoding, from logits to a token's id.
#include "argmax.h"

// A comparison with NaN is false, so a NaN never replaces what was found.  It must not be
// found first either: until there is a best, whatever equals itself is one.
int argmax_cpu(const float *x, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (best < 0 ? x[i] == x[i] : x[i] > x[best])
            best = i;
    return best;
}

int argmax_partials(int n)
{
    return (n + 1023) / 1024;
}
