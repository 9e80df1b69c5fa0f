//: backend-cpu
// The backend that every machine has: the oracles, rows and heads in parallel with OpenMP.
// The results do not depend on the number of threads.
#ifndef LANEWISE_BACKEND_CPU_H
#define LANEWISE_BACKEND_CPU_H

#include "backend.h"

// Null on failure.
struct backend *backend_cpu_new(const struct backend_options *options, struct error *e);

#endif
