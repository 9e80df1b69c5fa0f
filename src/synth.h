//: synth
// Writes a GGUF file of a published Qwen3 shape with random weights of a sensible scale,
// for measuring where nothing can be downloaded.  Types are those of a Q4_K_M file.
#ifndef LANEWISE_SYNTH_H
#define LANEWISE_SYNTH_H

#include <stdbool.h>

#include "error.h"

struct synth_shape {
    const char *name;
    int layers, embedding, feed_forward, heads, kv_heads;
    bool tied; // the embedding table is also the output matrix
};

// The published shapes, "qwen3-0.6b" to "qwen3-32b"; the last has a null name.
extern const struct synth_shape synth_shapes[];
const struct synth_shape *synth_find(const char *name); // null if unknown

// layers > 0 overrides the shape's.  vocabulary is 151,936 in every published model.
bool synth_write(const char *path, const struct synth_shape *shape, int layers,
                 int vocabulary, struct error *e);

#endif
