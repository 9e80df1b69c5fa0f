// Synthetic files: opened by the readers of chapter 1, decoded value by value.
#include "synth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend_cpu.h"
#include "blocks.h"
#include "decoder.h"
#include "gguf_writer.h"
#include "main.h"
#include "tokenizer.h"

static const struct synth_shape small = {"small", 16, 256, 512, 2, 1, true};
static const struct synth_shape untied = {"untied", 1, 512, 256, 4, 2, false};
enum { VOCABULARY = 300 };

static struct error e;
static struct gguf file;
static char path[GW_PATH];

static void write_and_open(const struct synth_shape *shape, int layers, int vocabulary)
{
    gw_save_bytes(path, "", 0);
    ck_assert_msg(synth_write(path, shape, layers, vocabulary, &e), "%s", e.text);
    ck_assert_msg(gguf_open(&file, path, &e), "%s", e.text);
    unlink(path);
}

static const struct gguf_tensor *tensor(const char *format, int layer)
{
    char name[64];
    snprintf(name, sizeof name, format, layer);
    const struct gguf_tensor *t = gguf_find_tensor(&file, name);
    ck_assert_msg(t != NULL, "%s is missing", name);
    return t;
}

//: synth-test-shapes
// From the models' published configurations, written out once more.
START_TEST(the_published_shapes_are_known)
{
    const struct synth_shape *s = synth_find("qwen3-0.6b");
    ck_assert(s->layers == 28 && s->embedding == 1024 && s->feed_forward == 3072 &&
              s->tied);
    s = synth_find("qwen3-1.7b");
    ck_assert(s->layers == 28 && s->embedding == 2048 && s->feed_forward == 6144 &&
              s->tied);
    s = synth_find("qwen3-4b");
    ck_assert(s->layers == 36 && s->embedding == 2560 && s->feed_forward == 9728 &&
              s->tied);
    s = synth_find("qwen3-8b");
    ck_assert(s->layers == 36 && s->embedding == 4096 && s->feed_forward == 12288);
    ck_assert(s->heads == 32 && s->kv_heads == 8 && !s->tied);
    s = synth_find("qwen3-14b");
    ck_assert(s->layers == 40 && s->embedding == 5120 && s->feed_forward == 17408);
    ck_assert(s->heads == 40 && !s->tied);
    s = synth_find("qwen3-32b");
    ck_assert(s->layers == 64 && s->embedding == 5120 && s->feed_forward == 25600);
    ck_assert(s->heads == 64 && s->kv_heads == 8 && !s->tied);
    ck_assert_ptr_null(synth_find("qwen3-7b"));
}
END_TEST

START_TEST(a_file_of_every_shape_opens_as_a_model)
{
    for (const struct synth_shape *s = synth_shapes; s->embedding > 0; s++) {
        struct model m;
        if (s->embedding > 2048)
            continue; // these are hundreds of megabytes even with one layer
        write_and_open(s, 1, 512);
        ck_assert_msg(model_open(&m, &file, &e), "%s", e.text);
        ck_assert_int_eq(m.shape.layers, 1);
        ck_assert_int_eq(m.shape.embedding, s->embedding);
        ck_assert_int_eq(m.shape.feed_forward, s->feed_forward);
        ck_assert_int_eq(m.shape.head_dim, 128);
        ck_assert_int_eq(m.shape.heads, s->heads);
        ck_assert_int_eq(m.shape.kv_heads, s->kv_heads);
        ck_assert_int_eq(m.shape.vocabulary, 512);
        ck_assert_int_eq(m.output == m.embedding, s->tied);
        ck_assert_msg(model_check_values(&m, &file, &e), "%s", e.text);
        model_close(&m);
        gguf_close(&file);
    }
}
END_TEST

//: synth-test-types
// Of 16 layers the first two and the last two, and of those between every third.
START_TEST(types_are_those_of_a_q4_k_m_file)
{
    const char *const six = "66..6..6..6..666";
    write_and_open(&small, 0, VOCABULARY);
    ck_assert_int_eq(tensor("token_embd.weight", 0)->type, TENSOR_Q6_K);
    ck_assert_ptr_null(gguf_find_tensor(&file, "output.weight"));
    for (int i = 0; i < 16; i++) {
        enum tensor_type mixed = six[i] == '6' ? TENSOR_Q6_K : TENSOR_Q4_K;
        ck_assert_int_eq(tensor("blk.%d.attn_v.weight", i)->type, mixed);
        ck_assert_int_eq(tensor("blk.%d.ffn_down.weight", i)->type, mixed);
        ck_assert_int_eq(tensor("blk.%d.attn_q.weight", i)->type, TENSOR_Q4_K);
        ck_assert_int_eq(tensor("blk.%d.ffn_up.weight", i)->type, TENSOR_Q4_K);
        ck_assert_int_eq(tensor("blk.%d.ffn_norm.weight", i)->type, TENSOR_F32);
    }
    gguf_close(&file);
    write_and_open(&untied, 0, VOCABULARY);
    ck_assert_int_eq(tensor("token_embd.weight", 0)->type, TENSOR_Q4_K);
    ck_assert_int_eq(tensor("output.weight", 0)->type, TENSOR_Q6_K);
    gguf_close(&file);
}
END_TEST

//: synth-test-values
// Mean and deviation of all values of a matrix, each by the definition of its format.
static void look_at(const struct gguf_tensor *t)
{
    size_t block = (size_t)tensor_layout(t->type).block_bytes, blocks = t->bytes / block;
    const uint8_t *data = t->data;
    double sum = 0, squares = 0, n = 256.0 * (double)blocks;
    for (size_t i = 0; i < blocks; i++)
        for (int j = 0; j < 256; j++) {
            double x = value_by_definition(data + i * block, t->type, j);
            sum += x;
            squares += x * x;
        }
    double expected = 1 / sqrt((double)t->extent[0]);
    double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
    ck_assert(isfinite(mean) && isfinite(deviation));
    ck_assert(fabs(mean) <= 0.01 * expected);
    ck_assert(fabs(deviation / expected - 1) <= 0.02);
}

//: synth-test-mean
START_TEST(weights_have_mean_0_and_keep_a_product_at_its_inputs_scale)
{
    write_and_open(&untied, 0, 512);
    look_at(tensor("blk.0.ffn_gate.weight", 0)); // Q4_K, 512 columns
    look_at(tensor("token_embd.weight", 0));
    look_at(tensor("output.weight", 0)); // Q6_K
    const float *norm = tensor("blk.0.ffn_norm.weight", 0)->data;
    ck_assert(norm[0] == 1 && norm[511] == 1);
    gguf_close(&file);
}
END_TEST

//: synth-test-same
START_TEST(two_files_of_one_shape_are_the_same)
{
    write_and_open(&untied, 0, VOCABULARY);
    struct gguf first = file;
    write_and_open(&untied, 0, VOCABULARY);
    ck_assert_uint_eq(first.size, file.size);
    ck_assert_int_eq(memcmp(first.map, file.map, file.size), 0);
    const struct gguf_tensor *up = tensor("blk.0.ffn_up.weight", 0);
    const struct gguf_tensor *gate = tensor("blk.0.ffn_gate.weight", 0);
    ck_assert_int_ne(memcmp(up->data, gate->data, up->bytes), 0); // but not its matrices
    gguf_close(&first);
    gguf_close(&file);
}
END_TEST

//: synth-test-decodes
START_TEST(it_decodes_to_numbers)
{
    struct model m;
    const struct backend_options on = {.kv = KV_F16, .threads = 1};
    const struct decoder_options options = {.kv = KV_F16, .context = 16};
    write_and_open(&small, 0, VOCABULARY);
    struct tokenizer *t = tokenizer_new(&file, &e);
    ck_assert_msg(t != NULL, "%s", e.text);
    ck_assert_int_eq(tokenizer_count(t), VOCABULARY);
    ck_assert(model_open(&m, &file, &e));
    struct backend *b = backend_cpu_new(&on, &e);
    struct decoder *d = decoder_new(&m, b, &options, NULL, NULL, &e);
    ck_assert_msg(d != NULL, "%s", e.text);
    ck_assert(decoder_prompt(d, (const int[]){1, 299, 65}, 3, &e));
    const float *logits = decoder_logits(d, &e);
    double squares = 0;
    for (int i = 0; i < VOCABULARY; i++)
        squares += (double)logits[i] * (double)logits[i];
    double size = sqrt(squares / VOCABULARY);
    ck_assert(isfinite(size) && size > 0.2 && size < 5); // a norm of 1 times weights
    decoder_free(d);
    backend_free(b);
    model_close(&m);
    tokenizer_free(t);
    gguf_close(&file);
}
END_TEST

START_TEST(what_cannot_be_written_is_said)
{
    ck_assert(!synth_write("/nowhere/file", &small, 1, VOCABULARY, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/file"));
    ck_assert(!synth_write("/dev/full", &small, 1, VOCABULARY, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "/dev/full"));
    ck_assert_ptr_nonnull(strstr(e.text, "No space"));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("synth");
    add_case(s, "core", the_published_shapes_are_known,
             a_file_of_every_shape_opens_as_a_model, types_are_those_of_a_q4_k_m_file,
             weights_have_mean_0_and_keep_a_product_at_its_inputs_scale,
             two_files_of_one_shape_are_the_same, it_decodes_to_numbers, NULL);
    add_case(s, "limits", what_cannot_be_written_is_said, NULL);
    return s;
}
