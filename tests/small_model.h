// A whole model of a few kilobytes, written with tests/gguf_writer.h: random weights of the
// types of a Q4_K_M file, or of one type throughout.  The tests of wrong files change one
// thing of it at a time.
#ifndef LANEWISE_TESTS_SMALL_MODEL_H
#define LANEWISE_TESTS_SMALL_MODEL_H

#include "gguf_writer.h"
#include "random.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "half.h"
#include "model.h"
#ifdef __cplusplus
}
#endif

struct small_model {
    int layers, embedding, feed_forward, heads, kv_heads, head_dim, vocabulary, context;
    int type;           // of the matrices; -1: those of a Q4_K_M file
    bool tied;          // no output.weight
    const char *skip;   // the name of a key or tensor to leave out, or null
    const char *odd;    // the name of a tensor to be added with one row too many, or null
    const char *spoilt; // the name of a tensor whose last block gets this at a byte:
    size_t spoilt_at;   // of the block
    unsigned char spoilt_by[4];
    size_t spoilt_bytes;
};

static GW_UNUSED struct small_model small_model_new(void)
{
    struct small_model s;
    memset(&s, 0, sizeof s);
    s.layers = 2;
    s.embedding = s.feed_forward = 256;
    s.heads = 2;
    s.kv_heads = 1;
    s.head_dim = 128;
    s.vocabulary = 64;
    s.context = 2048;
    s.type = -1;
    s.tied = true;
    return s;
}

// ---- Tensors ----------------------------------------------------------------------------

// A block whose values are of the size of a trained model's, some hundredths.
static GW_UNUSED void small_model_block(struct random *r, unsigned char *block, int type)
{
    const uint16_t scale = half_from_float(0.004f), min = half_from_float(0.0016f);
    const uint16_t q6k = half_from_float(0.00004f), q8 = half_from_float(0.0005f);
    const float x = 0.05f * random_normal(r);
    const uint32_t bits = bits_from_float(x);
    const uint16_t f16 = half_from_float(x), bf16 = (uint16_t)(bits >> 16);
    random_bytes(r, block, (size_t)tensor_layout((enum tensor_type)type).block_bytes);
    if (type == TENSOR_F32)
        memcpy(block, &x, 4);
    if (type == TENSOR_F16 || type == TENSOR_BF16)
        memcpy(block, type == TENSOR_F16 ? &f16 : &bf16, 2);
    if (type == TENSOR_Q8_0)
        memcpy(block, &q8, 2);
    if (type == TENSOR_Q6_K)
        memcpy(block + 208, &q6k, 2);
    if (type == TENSOR_Q4_K || type == TENSOR_Q5_K) {
        memcpy(block, &scale, 2);
        memcpy(block + 2, &min, 2);
        for (int i = 4; i < 16; i++) // scales below 16, so that codes and minima balance
            block[i] = (unsigned char)(block[i] & 0x0f);
    }
}

static GW_UNUSED void small_model_tensor(struct gguf_writer *w, const struct small_model *s,
                                         const char *name, int type, int rows, int columns)
{
    const struct block_layout layout = tensor_layout((enum tensor_type)type);
    struct random r = {w->n_tensors + 1};
    if (s->skip != NULL && strcmp(name, s->skip) == 0)
        return;
    if (s->odd != NULL && strcmp(name, s->odd) == 0)
        rows++;
    const size_t size = (size_t)layout.block_bytes;
    const size_t blocks = (size_t)rows * (size_t)(columns / layout.block_values);
    unsigned char *data = (unsigned char *)calloc(blocks, size);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < blocks; i++)
        small_model_block(&r, data + i * size, type);
    if (s->spoilt != NULL && strcmp(name, s->spoilt) == 0)
        memcpy(data + (blocks - 1) * size + s->spoilt_at, s->spoilt_by, s->spoilt_bytes);
    gw_matrix(w, name, (uint32_t)type, (uint64_t)rows, (uint64_t)columns, data,
              blocks * size);
    free(data);
}

static GW_UNUSED void small_model_norm(struct gguf_writer *w, const struct small_model *s,
                                       const char *name, int columns)
{
    float values[2048];
    struct random r = {w->n_tensors + 1};
    ck_assert_int_le(columns, 2048);
    for (int i = 0; i < columns; i++)
        values[i] = 1 + 0.2f * random_uniform(&r);
    if (s->spoilt != NULL && strcmp(name, s->spoilt) == 0)
        memcpy(&values[columns - 1], s->spoilt_by, 4);
    if (s->skip == NULL || strcmp(name, s->skip) != 0)
        gw_vector(w, name, values, (uint64_t)columns);
}

// ---- The file ---------------------------------------------------------------------------

static GW_UNUSED void small_model_int(struct gguf_writer *w, const struct small_model *s,
                                      const char *key, int value)
{
    if (s->skip == NULL || strcmp(key, s->skip) != 0)
        gw_u32(w, key, (uint32_t)value);
}

static GW_UNUSED void small_model_keys(struct gguf_writer *w, const struct small_model *s)
{
    if (s->skip == NULL || strcmp(s->skip, "general.architecture") != 0)
        gw_string(w, "general.architecture", "qwen3");
    small_model_int(w, s, "qwen3.block_count", s->layers);
    small_model_int(w, s, "qwen3.context_length", s->context);
    small_model_int(w, s, "qwen3.embedding_length", s->embedding);
    small_model_int(w, s, "qwen3.feed_forward_length", s->feed_forward);
    small_model_int(w, s, "qwen3.attention.head_count", s->heads);
    small_model_int(w, s, "qwen3.attention.head_count_kv", s->kv_heads);
    small_model_int(w, s, "qwen3.attention.key_length", s->head_dim);
    small_model_int(w, s, "qwen3.attention.value_length", s->head_dim);
    if (s->skip == NULL || strcmp(s->skip, "qwen3.attention.layer_norm_rms_epsilon") != 0)
        gw_f32(w, "qwen3.attention.layer_norm_rms_epsilon", 1e-6f);
    if (s->skip == NULL || strcmp(s->skip, "qwen3.rope.freq_base") != 0)
        gw_f32(w, "qwen3.rope.freq_base", 1e6f);
}

static GW_UNUSED void small_model_layer(struct gguf_writer *w, const struct small_model *s,
                                        int layer)
{
    const int query = s->heads * s->head_dim, key = s->kv_heads * s->head_dim;
    const int most = s->type < 0 ? TENSOR_Q4_K : s->type;
    const int some = s->type < 0 ? TENSOR_Q6_K : s->type; // attn_v and ffn_down
    const struct {
        const char *name;
        int type, rows, columns;
    } matrices[] = {
        {"attn_q", most, query, s->embedding},
        {"attn_k", most, key, s->embedding},
        {"attn_v", some, key, s->embedding},
        {"attn_output", most, s->embedding, query},
        {"ffn_gate", most, s->feed_forward, s->embedding},
        {"ffn_up", most, s->feed_forward, s->embedding},
        {"ffn_down", some, s->embedding, s->feed_forward},
    };
    const char *const norms[] = {"attn_norm", "ffn_norm", "attn_q_norm", "attn_k_norm"};
    char name[64];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, norms[i]);
        small_model_norm(w, s, name, i < 2 ? s->embedding : s->head_dim);
    }
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, matrices[i].name);
        small_model_tensor(w, s, name, matrices[i].type, matrices[i].rows,
                           matrices[i].columns);
    }
}

static GW_UNUSED void small_model_tensors(struct gguf_writer *w,
                                          const struct small_model *s)
{
    const int table = s->type < 0 ? TENSOR_Q6_K : s->type;
    small_model_tensor(w, s, "token_embd.weight", table, s->vocabulary, s->embedding);
    small_model_norm(w, s, "output_norm.weight", s->embedding);
    if (!s->tied)
        small_model_tensor(w, s, "output.weight", table, s->vocabulary, s->embedding);
    for (int i = 0; i < s->layers; i++)
        small_model_layer(w, s, i);
}

static GW_UNUSED struct gguf_writer small_model_writer(const struct small_model *s)
{
    struct gguf_writer w = gw_new();
    small_model_keys(&w, s);
    small_model_tensors(&w, s);
    return w;
}

#endif
