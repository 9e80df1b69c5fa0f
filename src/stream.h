//: stream
// The one CUDA type that the parts' headers mention, so that C can read them without CUDA.
// Work queued on a stream runs in the order in which it was queued.
#ifndef LANEWISE_STREAM_H
#define LANEWISE_STREAM_H

typedef struct CUstream_st *cudaStream_t; // the same declaration as the CUDA runtime's own

#endif
