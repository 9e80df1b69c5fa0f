//: cuda-state
// What the CUDA backend's weights, vectors and cache are made of: pointers into device
// memory beside the shapes that every backend shows.
#ifndef LANEWISE_CUDA_STATE_H
#define LANEWISE_CUDA_STATE_H

#include <cuda_runtime.h>

extern "C" {
#include "attention.h"
#include "argmax.h"
#include "backend_cuda.h"
#include "q8_1.h"
}

// What a step reads and leaves on the device: captured launches hold these addresses, so
// the same launches serve every token and position.
struct step_state {
    int token, position;
};

enum { STEPS_REMEMBERED = 64, STAGING_BYTES = 8 << 20, STAGING_BUFFERS = 2 };

//: cuda-structs
struct cuda_weight {
    struct weight shape; // first: a struct weight * of this backend points to a cuda_weight
    uint8_t *data;       // Q4_K repacked, all else as the file has it
};

struct cuda_vector {
    struct vector shape;
    float *values;
    struct block_q8_1 *blocks; // null where n is not whole blocks
    bool quantized;            // blocks will hold the q8_1 form of values
    size_t bytes;              // of both
};

struct cuda_cache {
    struct cache shape;
    uint8_t *memory;           // each layer's keys, then its values
    size_t layer_bytes, bytes; // of a layer's keys alone; of all that is allocated
    struct attention_partials partials;
};

//: cuda-backend
struct cuda_backend {
    struct backend base;
    cudaStream_t stream;
    struct step_state *state;  // on the device
    struct argmax_pair *pairs; // argmax's partial results
    int pairs_room;
    size_t pairs_bytes;
    struct step_state *sent;                 // pinned: what set() sends, a ring
    cudaEvent_t sent_done[STEPS_REMEMBERED]; // when a place of it may be used again
    long sets;
    int *chosen;                     // pinned: tokens, by position modulo the ring
    int chosen_at[STEPS_REMEMBERED]; // a step's position, by step modulo the ring
    cudaEvent_t step_done[STEPS_REMEMBERED];
    long steps;                        // begun
    int position, bucket;              // of the step that is being begun
    uint8_t *staging[STAGING_BUFFERS]; // pinned: pieces of a file on their way
    uint8_t *unpacked;                 // device: a piece of Q4_K before its repacking
    cudaEvent_t staged[STAGING_BUFFERS];
    int wave[2];         // of the attention kernel, for each kv_type
    void *graphs;        // what graphs.cu adds; null without
    cudaError_t failure; // the first one
};

//: cuda-shared
// Keeps the first failure; true where there was none so far.
bool cuda_ok(struct cuda_backend *b, cudaError_t result);
bool cuda_failed(struct cuda_backend *b, const char *what, struct error *e);
// The end of every step, launched or replayed: counts it and marks when it is done.
void cuda_step_begun(struct cuda_backend *b);
// Copies a tensor of the file to the device, through pinned memory; see staging.cu.
bool cuda_upload(struct cuda_backend *b, uint8_t *to, const struct gguf_tensor *t);
// Moves on to the next position and leaves the chosen token where the host finds it.
void cuda_advance(struct cuda_backend *b);

#endif
