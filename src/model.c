//: model-names
// From metadata and tensor names to a checked model; see model.h.
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "quant_blocks.h"

// Bounds far above any published model, far below where an int product could overflow.
enum {
    MOST_LAYERS = 1 << 10,
    MOST_COLUMNS = 1 << 20,
    MOST_HEADS = 1 << 10,
    MOST_HEAD_DIM = 1 << 10,
    MOST_TOKENS = 1 << 24,
};

//: model-number
// A number of the architecture, 1..most.  absent: what a missing key means; 0: an error.
static bool number(const struct gguf *g, const char *key, int most, int absent, int *value,
                   struct error *e)
{
    char name[96];
    snprintf(name, sizeof name, "qwen3.%s", key);
    bool given = absent == 0 || gguf_find(g, name) != NULL;
    *value = absent;
    if (given && !gguf_get_int(g, name, value, e))
        return false;
    if (*value < 1 || *value > most)
        return failed(e, "%s: %s is %s%d, expected 1 to %d", file_path_shown(g->path), name,
                      given ? "" : "missing, which means ", *value, most);
    return true;
}

//: model-real
static bool real(const struct gguf *g, const char *name, double least, double most,
                 double *value, struct error *e)
{
    if (!gguf_get_float(g, name, value, e))
        return false;
    if (!(*value >= least && *value <= most)) // NaN fails too
        return failed(e, "%s: %s is %g, expected %g to %g", file_path_shown(g->path), name,
                      *value, least, most);
    return true;
}

//: model-architecture
static bool check_architecture(const struct gguf *g, struct error *e)
{
    struct gguf_string name, scaling;
    if (!gguf_get_string(g, "general.architecture", &name, e))
        return false;
    if (name.length != 5 || memcmp(name.bytes, "qwen3", 5) != 0)
        return failed(e, "%s: general.architecture is %.*s, expected qwen3 (dense)",
                      file_path_shown(g->path), name.length > 64 ? 64 : (int)name.length,
                      name.bytes);
    if (gguf_find(g, "qwen3.rope.scaling.type") == NULL)
        return true;
    if (!gguf_get_string(g, "qwen3.rope.scaling.type", &scaling, e))
        return false;
    if (scaling.length != 4 || memcmp(scaling.bytes, "none", 4) != 0)
        return failed(e, "%s: qwen3.rope.scaling.type is %.*s, expected none",
                      file_path_shown(g->path),
                      scaling.length > 64 ? 64 : (int)scaling.length, scaling.bytes);
    return true;
}

//: model-attention-shape
static bool read_attention(struct model_shape *s, const struct gguf *g, struct error *e)
{
    int value_length;
    if (!number(g, "attention.head_count", MOST_HEADS, 0, &s->heads, e) ||
        !number(g, "attention.head_count_kv", MOST_HEADS, s->heads, &s->kv_heads, e))
        return false;
    int per_head = s->embedding / s->heads > 0 ? s->embedding / s->heads : 1;
    if (!number(g, "attention.key_length", MOST_HEAD_DIM, per_head, &s->head_dim, e) ||
        !number(g, "attention.value_length", MOST_HEAD_DIM, s->head_dim, &value_length, e))
        return false;
    if (s->heads % s->kv_heads != 0)
        return failed(e, "%s: %d key-value heads do not divide %d query heads",
                      file_path_shown(g->path), s->kv_heads, s->heads);
    if (s->head_dim % 8 != 0)
        return failed(e, "%s: qwen3.attention.key_length is %d, expected a multiple of 8",
                      file_path_shown(g->path), s->head_dim);
    if (value_length != s->head_dim)
        return failed(e, "%s: qwen3.attention.value_length is %d, expected key_length, %d",
                      file_path_shown(g->path), value_length, s->head_dim);
    return true;
}

//: model-shape
static bool read_shape(struct model *m, const struct gguf *g, struct error *e)
{
    struct model_shape *s = &m->shape;
    double epsilon;
    if (!check_architecture(g, e) ||
        !number(g, "block_count", MOST_LAYERS, 0, &s->layers, e) ||
        !number(g, "embedding_length", MOST_COLUMNS, 0, &s->embedding, e) ||
        !number(g, "feed_forward_length", MOST_COLUMNS, 0, &s->feed_forward, e) ||
        !number(g, "context_length", MOST_TOKENS, 0, &s->context, e) ||
        !read_attention(s, g, e) ||
        !real(g, "qwen3.attention.layer_norm_rms_epsilon", 1e-12, 1, &epsilon, e))
        return false;
    s->epsilon = (float)epsilon;
    m->theta_is_default = gguf_find(g, "qwen3.rope.freq_base") == NULL;
    s->theta = 10000;
    return m->theta_is_default || real(g, "qwen3.rope.freq_base", 1, 1e12, &s->theta, e);
}

//: model-tensor
static const char *const layer_names[LAYER_TENSORS] = {
    [ATTN_NORM] = "attn_norm",     [ATTN_Q] = "attn_q",
    [ATTN_K] = "attn_k",           [ATTN_V] = "attn_v",
    [ATTN_Q_NORM] = "attn_q_norm", [ATTN_K_NORM] = "attn_k_norm",
    [ATTN_OUTPUT] = "attn_output", [FFN_NORM] = "ffn_norm",
    [FFN_GATE] = "ffn_gate",       [FFN_UP] = "ffn_up",
    [FFN_DOWN] = "ffn_down",
};

// The extents as code has them, a row's length last.
static void show_shape(char text[96], const struct gguf_tensor *t)
{
    int n = snprintf(text, 96, "(");
    for (int i = t->dimensions - 1; i >= 0; i--)
        n += snprintf(text + n, 96 - (size_t)n, i > 0 ? "%lld, " : "%lld)",
                      (long long)t->extent[i]);
}

//: model-matrix
// A tensor by name with the shape (rows, columns); rows 0 takes any number of rows.
static const struct gguf_tensor *matrix(const struct gguf *g, const char *name, int rows,
                                        int columns, struct error *e)
{
    const struct gguf_tensor *t = gguf_find_tensor(g, name);
    char shape[96], expected[32] = "vocabulary";
    if (t == NULL) {
        failed(e, "%s: tensor %s is missing", file_path_shown(g->path), name);
        return NULL;
    }
    bool flat = t->extent[2] == 1 && t->extent[3] == 1, any = rows == 0;
    if (flat && t->extent[0] == columns && t->extent[1] <= MOST_TOKENS &&
        (any || t->extent[1] == rows))
        return t;
    show_shape(shape, t);
    if (!any)
        snprintf(expected, sizeof expected, "%d", rows);
    failed(e, "%s: tensor %s has shape %s, expected (%s, %d)", file_path_shown(g->path),
           name, shape, expected, columns);
    return NULL;
}

//: model-norm
static const struct gguf_tensor *norm(const struct gguf *g, const char *name, int columns,
                                      struct error *e)
{
    const struct gguf_tensor *t = matrix(g, name, 1, columns, e);
    if (t == NULL || t->type == TENSOR_F32)
        return t;
    failed(e, "%s: tensor %s has type %s, expected F32", file_path_shown(g->path), name,
           tensor_layout(t->type).name);
    return NULL;
}

//: model-layer-shapes
struct matrix_shape {
    int rows, columns; // a norm has one row
};

static struct matrix_shape shape_of(const struct model_shape *s, int tensor)
{
    int query = s->heads * s->head_dim, key = s->kv_heads * s->head_dim;
    const struct matrix_shape shapes[LAYER_TENSORS] = {
        [ATTN_NORM] = {1, s->embedding},
        [ATTN_Q] = {query, s->embedding},
        [ATTN_K] = {key, s->embedding},
        [ATTN_V] = {key, s->embedding},
        [ATTN_Q_NORM] = {1, s->head_dim},
        [ATTN_K_NORM] = {1, s->head_dim},
        [ATTN_OUTPUT] = {s->embedding, query},
        [FFN_NORM] = {1, s->embedding},
        [FFN_GATE] = {s->feed_forward, s->embedding},
        [FFN_UP] = {s->feed_forward, s->embedding},
        [FFN_DOWN] = {s->embedding, s->feed_forward},
    };
    return shapes[tensor];
}

//: model-layer
static void name_of(char name[64], int layer, int tensor)
{
    snprintf(name, 64, "blk.%d.%s.weight", layer, layer_names[tensor]);
}

static bool open_layer(struct model *m, const struct gguf *g, int layer, struct error *e)
{
    for (int i = 0; i < LAYER_TENSORS; i++) {
        char name[64];
        const struct matrix_shape s = shape_of(&m->shape, i);
        bool is_norm = strstr(layer_names[i], "norm") != NULL;
        name_of(name, layer, i);
        m->layers[layer].tensors[i] =
            is_norm ? norm(g, name, s.columns, e) : matrix(g, name, s.rows, s.columns, e);
        if (m->layers[layer].tensors[i] == NULL)
            return false;
    }
    return true;
}

//: model-no-more
// A file with more layers than it says would turn into silent text.
static bool no_more_layers(const struct model *m, const struct gguf *g, struct error *e)
{
    char name[64];
    name_of(name, m->shape.layers, ATTN_NORM);
    if (gguf_find_tensor(g, name) == NULL)
        return true;
    return failed(e, "%s: qwen3.block_count is %d, but there is a tensor %s",
                  file_path_shown(g->path), m->shape.layers, name);
}

//: model-tensors-open
static bool open_tensors(struct model *m, const struct gguf *g, struct error *e)
{
    struct model_shape *s = &m->shape;
    m->embedding = matrix(g, "token_embd.weight", 0, s->embedding, e);
    if (m->embedding == NULL)
        return false;
    s->vocabulary = (int)m->embedding->extent[1];
    m->output = m->embedding;
    if (gguf_find_tensor(g, "output.weight") != NULL)
        m->output = matrix(g, "output.weight", s->vocabulary, s->embedding, e);
    m->output_norm = norm(g, "output_norm.weight", s->embedding, e);
    if (m->output == NULL || m->output_norm == NULL)
        return false;
    for (int i = 0; i < s->layers; i++)
        if (!open_layer(m, g, i, e))
            return false;
    return no_more_layers(m, g, e);
}

//: model-open
bool model_open(struct model *m, const struct gguf *g, struct error *e)
{
    *m = (struct model){0};
    if (!read_shape(m, g, e))
        return false;
    m->layers = calloc((size_t)m->shape.layers, sizeof *m->layers);
    if (m->layers == NULL)
        return failed(e, "out of memory for %d layers", m->shape.layers);
    if (open_tensors(m, g, e))
        return true;
    model_close(m);
    return false;
}

//: model-close
void model_close(struct model *m)
{
    free(m->layers);
    *m = (struct model){0};
}

size_t model_bytes_a_token(const struct model *m)
{
    size_t bytes = m->output->bytes + m->output_norm->bytes;
    for (int i = 0; i < m->shape.layers; i++)
        for (int j = 0; j < LAYER_TENSORS; j++)
            bytes += m->layers[i].tensors[j]->bytes;
    if (m->output != m->embedding)
        bytes += m->embedding->bytes / (size_t)m->shape.vocabulary;
    return bytes;
}

// Is a half or a bfloat16 finite?  Its exponent bits are not all ones.
static bool finite_16(const unsigned char *p, unsigned exponent)
{
    unsigned bits = p[0] | (unsigned)p[1] << 8;
    return (bits & exponent) != exponent;
}

//: model-scales
// Whether what scales the block (or is its value) is finite.
static bool finite_block(const unsigned char *block, enum tensor_type type)
{
    float value;
    switch (type) {
    case TENSOR_Q4_K:
    case TENSOR_Q5_K: // d, then dmin
        return finite_16(block, 0x7c00) && finite_16(block + 2, 0x7c00);
    case TENSOR_Q6_K:
        return finite_16(block + offsetof(struct block_q6k, d), 0x7c00);
    case TENSOR_BF16:
        return finite_16(block, 0x7f80);
    case TENSOR_F32:
        memcpy(&value, block, sizeof value);
        return isfinite(value);
    case TENSOR_F16:
    case TENSOR_Q8_0:
        return finite_16(block, 0x7c00);
    }
    return false;
}

//: model-check
static bool check_tensor(const struct gguf_tensor *t, const struct gguf *g, struct error *e)
{
    size_t block = (size_t)tensor_layout(t->type).block_bytes, blocks = t->bytes / block;
    size_t bad = blocks; // the first block that is not finite
    const unsigned char *bytes = t->data;
#pragma omp parallel for reduction(min : bad) if (blocks > 1 << 16)
    for (size_t i = 0; i < blocks; i++)
        if (!finite_block(bytes + i * block, t->type) && i < bad)
            bad = i;
    if (bad == blocks)
        return true;
    return failed(e, "%s: tensor %.*s: block %zu of %zu has a scale that is not finite",
                  file_path_shown(g->path), (int)t->name.length, t->name.bytes, bad,
                  blocks);
}

//: model-check-all
bool model_check_values(const struct model *m, const struct gguf *g, struct error *e)
{
    bool tied = m->output == m->embedding;
    if (!check_tensor(m->embedding, g, e) || !check_tensor(m->output_norm, g, e) ||
        (!tied && !check_tensor(m->output, g, e)))
        return false;
    for (int i = 0; i < m->shape.layers; i++)
        for (int j = 0; j < LAYER_TENSORS; j++)
            if (!check_tensor(m->layers[i].tensors[j], g, e))
                return false;
    return true;
}
