// The index of the largest value.
//: argmax
#ifndef LANEWISE_ARGMAX_H
#define LANEWISE_ARGMAX_H

#include "stream.h"

// NaN is ignored; of equal values the lowest index wins.  -1 if every value is NaN.
int argmax_cpu(const float *x, int n);

struct argmax_pair { // a partial result: 1,024 values make one
    float value;
    int index;
};
// index: one int in device memory.  partials: room for argmax_partials(n) pairs there.
int argmax_partials(int n);
void argmax_cuda(int *index, struct argmax_pair *partials, const float *x, int n,
                 cudaStream_t stream);

#endif
