//: argmax
// The index of the largest value: greedy decoding's choice of a token among logits.
// NaN is ignored; of equal values, -0 and +0 among them, the lowest index wins; where every
// value is NaN the answer is -1.
#ifndef LANEWISE_ARGMAX_H
#define LANEWISE_ARGMAX_H

#include "stream.h"

// x: (n) f32.
int argmax_cpu(const float *x, int n);

struct argmax_pair { // a partial result: 1,024 values make one
    float value;
    int index;
};
// index: one int in device memory.  partials: room for argmax_partials(n) pairs there.
// n at least 1.
int argmax_partials(int n);
void argmax_cuda(int *index, struct argmax_pair *partials, const float *x, int n,
                 cudaStream_t stream);

#endif
