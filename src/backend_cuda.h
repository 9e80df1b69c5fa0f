//: backend-cuda
// The backend that computes on an NVIDIA GPU of compute capability 8.9 or later: weights in
// its memory, Q4_K repacked, one kernel launched after another on one stream.
#ifndef LANEWISE_BACKEND_CUDA_H
#define LANEWISE_BACKEND_CUDA_H

#include "backend.h"

// Null where there is no such device, with the reason.
struct backend *backend_cuda_new(const struct backend_options *options, struct error *e);

// Whether this machine has a device that backend_cuda_new would take; if not, e says why.
bool backend_cuda_present(struct error *e);

#endif
