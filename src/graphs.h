//: graphs
// Steps of the CUDA backend as graphs: the launches of one step, captured at their first
// use for each kind of step and each context bucket, then replayed with a single call.
#ifndef LANEWISE_GRAPHS_H
#define LANEWISE_GRAPHS_H

#include "backend.h"

// From now on the backend, one of backend_cuda_new, captures and replays.  It then serves
// one decoder at a time: a graph holds the addresses of one.  False: no memory.
bool graphs_enable(struct backend *b, struct error *e);

#endif
