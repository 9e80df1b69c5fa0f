//: model
// A dense Qwen3 model in a GGUF file: its hyperparameters and where each tensor lies, both
// checked against each other, so that nothing after this meets a shape that does not fit.
#ifndef LANEWISE_MODEL_H
#define LANEWISE_MODEL_H

#include <stdbool.h>

#include "error.h"
#include "gguf.h"

struct model_shape {
    int layers, embedding, feed_forward;
    int heads, kv_heads, head_dim;
    int vocabulary, context; // tokens
    float epsilon;           // of every RMSNorm
    double theta;            // RoPE's base
};

//: model-tensors
enum layer_tensor {
    ATTN_NORM,
    ATTN_Q,
    ATTN_K,
    ATTN_V,
    ATTN_Q_NORM,
    ATTN_K_NORM,
    ATTN_OUTPUT,
    FFN_NORM,
    FFN_GATE,
    FFN_UP,
    FFN_DOWN,
    LAYER_TENSORS,
};

struct model_layer { // views into the file
    const struct gguf_tensor *tensors[LAYER_TENSORS];
};

//: model-struct
struct model {
    struct model_shape shape;
    bool theta_is_default; // the file did not say; worth a warning
    const struct gguf_tensor *embedding, *output_norm;
    const struct gguf_tensor *output; // the embedding table itself where the two are tied
    struct model_layer *layers;
};

// Reads the description; g must stay open.  Then every tensor's shape and type is as the
// forward pass needs it.
bool model_open(struct model *m, const struct gguf *g, struct error *e);
void model_close(struct model *m);

// Looks at every scale (and every value of an unquantized tensor) for NaN and infinity,
// which would turn into silent text; reads all tensor data, in parallel.
bool model_check_values(const struct model *m, const struct gguf *g, struct error *e);

// Bytes of weights that decoding one token reads: all but the embedding table, of which it
// reads a row, unless the table is also the output matrix.
size_t model_bytes_a_token(const struct model *m);

#endif
