//: synth-shapes
// A GGUF writer for synthetic models: metadata, tensor descriptions, then random blocks.
#include "synth.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf.h"
#include "half.h"
#include "quant_blocks.h"

//: synth-find
const struct synth_shape synth_shapes[] = {
    // layers, embedding, feed-forward, heads, key-value heads
    {"qwen3-0.6b", 28, 1024, 3072, 16, 8, true},
    {"qwen3-1.7b", 28, 2048, 6144, 16, 8, true},
    {"qwen3-4b", 36, 2560, 9728, 32, 8, true},
    {"qwen3-8b", 36, 4096, 12288, 32, 8, false},
    {"qwen3-14b", 40, 5120, 17408, 40, 8, false},
    {"qwen3-32b", 64, 5120, 25600, 64, 8, false},
    {NULL, 0, 0, 0, 0, 0, false},
};

enum { HEAD_DIM = 128, CONTEXT = 40960, ALIGNMENT = 32 };

const struct synth_shape *synth_find(const char *name)
{
    for (const struct synth_shape *s = synth_shapes; s->name != NULL; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

//: synth-writer
struct synth_tensor {
    char name[64];
    enum tensor_type type;
    int rows, columns;
};

struct writer {
    FILE *file;
    int number;     // errno of the first failure, from which on nothing is written
    size_t written; // bytes
    struct synth_tensor *tensors;
    size_t n_tensors;
};

//: synth-put
static void put(struct writer *w, const void *bytes, size_t count)
{
    if (w->number == 0 && fwrite(bytes, 1, count, w->file) != count)
        w->number = errno;
    w->written += count;
}

static void put_u32(struct writer *w, uint32_t value)
{
    put(w, &value, sizeof value); // this machine is little-endian, as the format is
}

static void put_u64(struct writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_string(struct writer *w, const char *text)
{
    put_u64(w, strlen(text));
    put(w, text, strlen(text));
}

//: synth-metadata
static void put_key(struct writer *w, const char *key, enum gguf_type type)
{
    put_string(w, key);
    put_u32(w, type);
}

static void put_key_u32(struct writer *w, const char *key, int value)
{
    put_key(w, key, GGUF_U32);
    put_u32(w, (uint32_t)value);
}

//: synth-put-key-f32
static void put_key_f32(struct writer *w, const char *key, float value)
{
    put_key(w, key, GGUF_F32);
    put(w, &value, sizeof value);
}

static void put_key_string(struct writer *w, const char *key, const char *value)
{
    put_key(w, key, GGUF_STRING);
    put_string(w, value);
}

static void put_key_array(struct writer *w, const char *key, enum gguf_type type, int count)
{
    put_key(w, key, GGUF_ARRAY);
    put_u32(w, type);
    put_u64(w, (uint64_t)count);
}

//: synth-tokens
// The printable form of a byte: itself, or the next free code point from U+0100 up.
static void put_byte_token(struct writer *w, int byte, int *next)
{
    bool printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    int point = printable ? byte : (*next)++;
    char text[3] = {(char)point, 0, 0};
    if (point >= 128) {
        text[0] = (char)(0xc0 | point >> 6);
        text[1] = (char)(0x80 | (point & 63));
    }
    put_string(w, text);
}

//: synth-put-tokenizer
// 256 byte tokens, then control tokens that no text contains; no merges.
static void put_tokenizer(struct writer *w, int vocabulary)
{
    int next = 256;
    put_key_string(w, "tokenizer.ggml.model", "gpt2");
    put_key_string(w, "tokenizer.ggml.pre", "qwen2");
    put_key_array(w, "tokenizer.ggml.tokens", GGUF_STRING, vocabulary);
    for (int i = 0; i < vocabulary; i++) {
        char name[32];
        snprintf(name, sizeof name, "<|synthetic_%d|>", i);
        if (i < 256)
            put_byte_token(w, i, &next);
        else
            put_string(w, i == 256 ? "<|im_start|>" : i == 257 ? "<|im_end|>" : name);
    }
    put_key_array(w, "tokenizer.ggml.token_type", GGUF_I32, vocabulary);
    for (int i = 0; i < vocabulary; i++)
        put_u32(w, i < 256 ? 1 : 3);
    put_key_array(w, "tokenizer.ggml.merges", GGUF_STRING, 0);
    put_key_u32(w, "tokenizer.ggml.eos_token_id", 257);
}

//: synth-header
enum { METADATA_KEYS = 19 }; // what is put here

static void put_metadata(struct writer *w, const struct synth_shape *s, int layers,
                         int vocabulary)
{
    put_key_string(w, "general.architecture", "qwen3");
    put_key_string(w, "general.name", s->name);
    put_key_string(w, "general.description", "random weights, for measuring");
    put_key_u32(w, "general.alignment", ALIGNMENT);
    put_key_u32(w, "qwen3.block_count", layers);
    put_key_u32(w, "qwen3.context_length", CONTEXT);
    put_key_u32(w, "qwen3.embedding_length", s->embedding);
    put_key_u32(w, "qwen3.feed_forward_length", s->feed_forward);
    put_key_u32(w, "qwen3.attention.head_count", s->heads);
    put_key_u32(w, "qwen3.attention.head_count_kv", s->kv_heads);
    put_key_u32(w, "qwen3.attention.key_length", HEAD_DIM);
    put_key_f32(w, "qwen3.attention.layer_norm_rms_epsilon", 1e-6f);
    put_key_f32(w, "qwen3.rope.freq_base", 1e6f);
    put_tokenizer(w, vocabulary); // six keys
}

//: synth-tensor-bytes
static size_t tensor_bytes(const struct synth_tensor *t)
{
    struct block_layout layout = tensor_layout(t->type);
    return (size_t)t->rows * (size_t)(t->columns / layout.block_values) *
           (size_t)layout.block_bytes;
}

//: synth-infos
static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_infos(struct writer *w)
{
    size_t offset = 0;
    for (size_t i = 0; i < w->n_tensors; i++) {
        const struct synth_tensor *t = &w->tensors[i];
        put_string(w, t->name);
        put_u32(w, t->rows == 1 ? 1 : 2);
        put_u64(w, (uint64_t)t->columns);
        if (t->rows > 1)
            put_u64(w, (uint64_t)t->rows);
        put_u32(w, t->type);
        put_u64(w, offset);
        offset += aligned(tensor_bytes(t));
    }
}

//: synth-add
static void add(struct writer *w, const char *name, enum tensor_type type, int rows,
                int columns)
{
    struct synth_tensor *t = &w->tensors[w->n_tensors++];
    snprintf(t->name, sizeof t->name, "%s.weight", name);
    t->type = type;
    t->rows = rows;
    t->columns = columns;
}

//: synth-layer
// Q4_K_M stores two matrices of some layers in Q6_K: the first and last eighth of the
// layers, and every third between.
static bool in_six_bits(int layer, int layers)
{
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

//: synth-add-layer
static void add_layer(struct writer *w, const struct synth_shape *s, int layer, int layers)
{
    enum tensor_type mixed = in_six_bits(layer, layers) ? TENSOR_Q6_K : TENSOR_Q4_K;
    int query = s->heads * HEAD_DIM, key = s->kv_heads * HEAD_DIM;
    const struct synth_tensor wanted[] = {
        {"attn_norm", TENSOR_F32, 1, s->embedding},
        {"attn_q", TENSOR_Q4_K, query, s->embedding},
        {"attn_k", TENSOR_Q4_K, key, s->embedding},
        {"attn_v", mixed, key, s->embedding},
        {"attn_q_norm", TENSOR_F32, 1, HEAD_DIM},
        {"attn_k_norm", TENSOR_F32, 1, HEAD_DIM},
        {"attn_output", TENSOR_Q4_K, s->embedding, query},
        {"ffn_norm", TENSOR_F32, 1, s->embedding},
        {"ffn_gate", TENSOR_Q4_K, s->feed_forward, s->embedding},
        {"ffn_up", TENSOR_Q4_K, s->feed_forward, s->embedding},
        {"ffn_down", mixed, s->embedding, s->feed_forward},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char name[32];
        snprintf(name, sizeof name, "blk.%d.%s", layer, wanted[i].name);
        add(w, name, wanted[i].type, wanted[i].rows, wanted[i].columns);
    }
}

//: synth-random
// SplitMix64 (Steele, Lea and Flood, 2014): any block can be drawn without those before it.
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void random_bytes(void *out, size_t count, uint64_t seed)
{
    unsigned char *bytes = out;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = mix(seed + i / 8);
        memcpy(bytes + i, &word, count - i < 8 ? count - i : 8);
    }
}

//: synth-blocks
// A weight is (code - 7.5) * scale * d: codes 0..15 have deviation 4.61, and scales 32..63
// a root mean square of 48.4.  Every minimum is its scale, and dmin = 7.5 d, so that the
// mean is 0.
static void random_q4k(struct block_q4k *b, double deviation, uint64_t seed)
{
    double d = deviation / (4.61 * 48.4);
    random_bytes(b->codes, sizeof b->codes, seed);
    random_bytes(b->scales, 4, seed + 16);
    for (int j = 0; j < 4; j++) { // scales 32..63 of sub-blocks j and j + 4
        unsigned low = 32u | (b->scales[j] & 31u), high = 32u | (b->scales[j] >> 3 & 31u);
        b->scales[j] = b->scales[j + 4] = (uint8_t)(low | high >> 4 << 6);
        b->scales[j + 8] = (uint8_t)((high & 15u) | (high & 15u) << 4);
    }
    b->d = half_from_float((float)d);
    b->dmin = half_from_float((float)(7.5 * d));
}

//: synth-random-q6k
// Codes -32..31 have a root mean square of 18.5, and scales 64..127 one of 97.3.  The mean
// code is -0.5, so half of the scales are negative.
static void random_q6k(struct block_q6k *b, double deviation, uint64_t seed)
{
    random_bytes(b->low, sizeof b->low, seed);
    random_bytes(b->high, sizeof b->high, seed + 16);
    random_bytes(b->scales, sizeof b->scales, seed + 24);
    for (int j = 0; j < 16; j++) {
        int scale = 64 | (b->scales[j] & 63);
        b->scales[j] = (int8_t)(b->scales[j] & 64 ? -scale : scale);
    }
    b->d = half_from_float((float)(deviation / (18.5 * 97.3)));
}

//: synth-data
static void random_block(void *at, enum tensor_type type, double deviation, uint64_t seed)
{
    if (type == TENSOR_Q4_K)
        random_q4k(at, deviation, seed);
    else
        random_q6k(at, deviation, seed);
}

//: synth-put-blocks
// Blocks are drawn in parallel, a piece of the tensor at a time, and written in order.
static bool put_blocks(struct writer *w, const struct synth_tensor *t, uint64_t seed)
{
    enum { PIECE = 1 << 14 };
    size_t block = (size_t)tensor_layout(t->type).block_bytes;
    long blocks = (long)(tensor_bytes(t) / block);
    double deviation = 1 / sqrt(t->columns); // keeps a product at its input's scale
    unsigned char *piece = malloc(PIECE * block);
    if (piece == NULL)
        return false;
    for (long first = 0; first < blocks && w->number == 0; first += PIECE) {
        long count = blocks - first < PIECE ? blocks - first : PIECE;
#pragma omp parallel for
        for (long i = 0; i < count; i++)
            random_block(piece + (size_t)i * block, t->type, deviation,
                         mix(seed) + (uint64_t)(first + i) * 32);
        put(w, piece, (size_t)count * block);
    }
    free(piece);
    return true;
}

//: synth-tensor-data
static bool put_data(struct writer *w)
{
    static const char zeros[ALIGNMENT];
    for (size_t i = 0; i < w->n_tensors; i++) {
        const struct synth_tensor *t = &w->tensors[i];
        size_t bytes = tensor_bytes(t);
        if (t->type != TENSOR_F32 && !put_blocks(w, t, i))
            return false;
        for (int j = 0; t->type == TENSOR_F32 && j < t->columns; j++)
            put(w, &(float){1.0f}, sizeof(float));
        put(w, zeros, aligned(bytes) - bytes);
    }
    return true;
}

//: synth-write-all
static bool write_all(struct writer *w, const struct synth_shape *s, int layers,
                      int vocabulary)
{
    static const char zeros[ALIGNMENT];
    enum tensor_type table = s->tied ? TENSOR_Q6_K : TENSOR_Q4_K;
    add(w, "token_embd", table, vocabulary, s->embedding);
    if (!s->tied)
        add(w, "output", TENSOR_Q6_K, vocabulary, s->embedding);
    add(w, "output_norm", TENSOR_F32, 1, s->embedding);
    for (int i = 0; i < layers; i++)
        add_layer(w, s, i, layers);
    put(w, "GGUF", 4);
    put_u32(w, 3);
    put_u64(w, w->n_tensors);
    put_u64(w, METADATA_KEYS);
    put_metadata(w, s, layers, vocabulary);
    put_infos(w);
    put(w, zeros, aligned(w->written) - w->written);
    return put_data(w);
}

//: synth-write
bool synth_write(const char *path, const struct synth_shape *shape, int layers,
                 int vocabulary, struct error *e)
{
    struct writer w = {.file = fopen(path, "wb")};
    if (w.file == NULL)
        return failed(e, "%s: cannot be written: %s", file_path_shown(path),
                      strerror(errno));
    if (layers <= 0)
        layers = shape->layers;
    w.tensors = calloc((size_t)layers * 11 + 3, sizeof *w.tensors);
    bool made = w.tensors != NULL && write_all(&w, shape, layers, vocabulary);
    free(w.tensors);
    if (fclose(w.file) != 0 && w.number == 0)
        w.number = errno;
    if (w.number != 0)
        return failed(e, "%s: not written whole: %s", file_path_shown(path),
                      strerror(w.number));
    return made || failed(e, "%s: out of memory", path);
}
