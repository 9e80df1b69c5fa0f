// Models in files: what is read from a good one, and the sentence for each thing that can
// be wrong with a bad one.
#include "model.h"

#include <math.h>
#include <string.h>

#include "main.h"
#include "small_model.h"

static struct gguf file;
static struct model model;
static struct error e;

static bool open_writer(struct gguf_writer *w)
{
    ck_assert_msg(gw_open(w, &file, &e), "%s", e.text);
    return model_open(&model, &file, &e);
}

static bool open_small(const struct small_model *s)
{
    struct gguf_writer w = small_model_writer(s);
    return open_writer(&w);
}

static void close_all(void)
{
    model_close(&model);
    gguf_close(&file);
}

// A failure must end in this sentence, after the file's name, and leave nothing behind.
static void check_refused(bool opened, const char *sentence)
{
    ck_assert_msg(!opened, "this was taken, but: %s", sentence);
    const char *said = strstr(e.text, ": ");
    ck_assert_msg(strncmp(e.text, "/tmp/", 5) == 0 && said != NULL, "%s", e.text);
    ck_assert_str_eq(said + 2, sentence);
    ck_assert_ptr_null(model.layers);
    close_all();
}

//: model-test-good
START_TEST(a_good_file_gives_its_shape)
{
    struct small_model s = small_model_new();
    ck_assert_msg(open_small(&s), "%s", e.text);
    const struct model_shape *m = &model.shape;
    ck_assert_int_eq(m->layers, 2);
    ck_assert_int_eq(m->embedding, 256);
    ck_assert_int_eq(m->feed_forward, 256);
    ck_assert_int_eq(m->heads, 2);
    ck_assert_int_eq(m->kv_heads, 1);
    ck_assert_int_eq(m->head_dim, 128);
    ck_assert_int_eq(m->vocabulary, 64);
    ck_assert_int_eq(m->context, 2048);
    ck_assert(m->epsilon == 1e-6f && m->theta == 1e6);
    ck_assert(!model.theta_is_default);
    ck_assert_ptr_eq(model.output, model.embedding); // tied
    ck_assert_int_eq((int)model.layers[1].tensors[FFN_DOWN]->type, TENSOR_Q6_K);
    ck_assert(model_check_values(&model, &file, &e));
    close_all();
}
END_TEST

//: model-test-bytes
// A layer here: 4 matrices of 256 rows and ffn_down, which is Q6_K, then 128 rows each of K
// and of V in Q6_K, all of one superblock a row; four norms in f32.
enum { LAYER_BYTES = 4 * 256 * 144 + 256 * 210 + 128 * 144 + 128 * 210 + 4 * (512 + 256) };

START_TEST(bytes_a_token_are_counted_by_hand)
{
    struct small_model s = small_model_new();
    ck_assert(open_small(&s));
    ck_assert_uint_eq(model_bytes_a_token(&model), 2 * LAYER_BYTES + 1024 + 64 * 210);
    close_all();
    s.tied = false; // of its own output matrix all, of the table one row
    ck_assert(open_small(&s));
    ck_assert_ptr_ne(model.output, model.embedding);
    ck_assert_uint_eq(model_bytes_a_token(&model), 2 * LAYER_BYTES + 1024 + 64 * 210 + 210);
    close_all();
}
END_TEST

//: model-test-defaults
START_TEST(absent_keys_mean_their_defaults)
{
    struct small_model s = small_model_new();
    s.kv_heads = 2;
    s.skip = "qwen3.attention.head_count_kv"; // as many as query heads
    ck_assert_msg(open_small(&s), "%s", e.text);
    ck_assert_int_eq(model.shape.kv_heads, 2);
    close_all();
    s.skip = "qwen3.attention.key_length"; // 256 / 2
    ck_assert_msg(open_small(&s), "%s", e.text);
    ck_assert_int_eq(model.shape.head_dim, 128);
    close_all();
    s.skip = "qwen3.attention.value_length"; // as the key length
    ck_assert_msg(open_small(&s), "%s", e.text);
    close_all();
    s.skip = "qwen3.rope.freq_base"; // 10000, worth a warning
    ck_assert_msg(open_small(&s), "%s", e.text);
    ck_assert(model.theta_is_default && model.shape.theta == 10000);
    close_all();
}
END_TEST

//: model-test-types
START_TEST(matrices_of_every_type_and_norms_of_f32_are_taken)
{
    const int types[] = {TENSOR_F32,  TENSOR_F16,  TENSOR_BF16, TENSOR_Q8_0,
                         TENSOR_Q4_K, TENSOR_Q5_K, TENSOR_Q6_K};
    for (int i = 0; i < 7; i++) {
        struct small_model s = small_model_new();
        s.layers = 1;
        s.type = types[i];
        ck_assert_msg(open_small(&s), "%s", e.text);
        ck_assert_msg(model_check_values(&model, &file, &e), "%s", e.text);
        close_all();
    }
}
END_TEST

//: model-test-missing
START_TEST(a_missing_key_is_named)
{
    const char *const keys[] = {"general.architecture",
                                "qwen3.block_count",
                                "qwen3.context_length",
                                "qwen3.embedding_length",
                                "qwen3.feed_forward_length",
                                "qwen3.attention.head_count",
                                "qwen3.attention.layer_norm_rms_epsilon"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct small_model s = small_model_new();
        char sentence[128];
        s.skip = keys[i];
        snprintf(sentence, sizeof sentence, "key \"%s\" is missing", keys[i]);
        check_refused(open_small(&s), sentence);
    }
}
END_TEST

//: model-test-missing-tensors
START_TEST(a_missing_tensor_is_named)
{
    const char *const layer[] = {"attn_norm",   "attn_q",      "attn_k",      "attn_v",
                                 "attn_q_norm", "attn_k_norm", "attn_output", "ffn_norm",
                                 "ffn_gate",    "ffn_up",      "ffn_down"};
    struct small_model s = small_model_new();
    char name[64], sentence[128];
    for (size_t i = 0; i < 13; i++) {
        if (i < 11)
            snprintf(name, sizeof name, "blk.1.%s.weight", layer[i]);
        else
            snprintf(name, sizeof name, "%s",
                     i == 11 ? "token_embd.weight" : "output_norm.weight");
        s.skip = name;
        snprintf(sentence, sizeof sentence, "tensor %s is missing", name);
        check_refused(open_small(&s), sentence);
    }
}
END_TEST

//: model-test-numbers
// The key goes in with this value instead of its own.
static bool open_with_int(const char *key, int value)
{
    struct small_model s = small_model_new();
    s.skip = key;
    struct gguf_writer w = small_model_writer(&s);
    gw_i32(&w, key, value);
    return open_writer(&w);
}

//: model-test-absurd
START_TEST(zero_negative_and_absurd_numbers_are_refused_with_the_limit)
{
    const struct {
        const char *key;
        int most;
    } keys[] = {
        {"qwen3.block_count", 1024},          {"qwen3.context_length", 1 << 24},
        {"qwen3.embedding_length", 1 << 20},  {"qwen3.feed_forward_length", 1 << 20},
        {"qwen3.attention.head_count", 1024}, {"qwen3.attention.head_count_kv", 1024},
        {"qwen3.attention.key_length", 1024}, {"qwen3.attention.value_length", 1024}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const int wrong[] = {0, -1, INT32_MIN, keys[i].most + 1, INT32_MAX};
        for (int j = 0; j < 5; j++) {
            char sentence[128];
            snprintf(sentence, sizeof sentence, "%s is %d, expected 1 to %d", keys[i].key,
                     wrong[j], keys[i].most);
            check_refused(open_with_int(keys[i].key, wrong[j]), sentence);
        }
    }
}
END_TEST

//: model-test-fit
START_TEST(numbers_that_do_not_fit_each_other_are_refused)
{
    struct small_model s = small_model_new();
    s.heads = 4;
    s.kv_heads = 3;
    check_refused(open_small(&s), "3 key-value heads do not divide 4 query heads");
    check_refused(open_with_int("qwen3.attention.key_length", 127),
                  "qwen3.attention.key_length is 127, expected a multiple of 8");
    check_refused(open_with_int("qwen3.attention.value_length", 64),
                  "qwen3.attention.value_length is 64, expected key_length, 128");
    check_refused(
        open_with_int("qwen3.embedding_length", 512),
        "tensor token_embd.weight has shape (64, 256), expected (vocabulary, 512)");
    check_refused(open_with_int("qwen3.feed_forward_length", 512),
                  "tensor blk.0.ffn_gate.weight has shape (256, 256), expected (512, 256)");
    check_refused(open_with_int("qwen3.attention.head_count", 4),
                  "tensor blk.0.attn_q.weight has shape (256, 256), expected (512, 256)");
    check_refused(open_with_int("qwen3.block_count", 3),
                  "tensor blk.2.attn_norm.weight is missing");
    check_refused(open_with_int("qwen3.block_count", 1),
                  "qwen3.block_count is 1, but there is a tensor blk.1.attn_norm.weight");
    s.heads = s.kv_heads = 1; // so that a missing key_length is the whole embedding
    s.head_dim = 256;
    s.embedding = 2048;
    s.skip = "qwen3.attention.key_length";
    check_refused(open_small(&s), "qwen3.attention.key_length is missing, which means "
                                  "2048, expected 1 to 1024");
}
END_TEST

//: model-test-value-types
START_TEST(a_value_of_another_type_is_named_with_its_type)
{
    struct small_model s = small_model_new();
    s.skip = "qwen3.block_count";
    struct gguf_writer w = small_model_writer(&s);
    gw_string(&w, s.skip, "two");
    check_refused(open_writer(&w),
                  "key \"qwen3.block_count\" is \"two\" (string), expected "
                  "an integer from -2147483648 to 2147483647");
    w = small_model_writer(&s);
    gw_f32(&w, s.skip, 2);
    check_refused(open_writer(&w), "key \"qwen3.block_count\" is 2 (f32), expected "
                                   "an integer from -2147483648 to 2147483647");
    w = small_model_writer(&s);
    gw_u64(&w, s.skip, 1ull << 32 | 2);
    check_refused(open_writer(&w),
                  "key \"qwen3.block_count\" is 4294967298 (u64), expected "
                  "an integer from -2147483648 to 2147483647");
    s.skip = "qwen3.attention.layer_norm_rms_epsilon";
    w = small_model_writer(&s);
    gw_u32(&w, s.skip, 0);
    check_refused(open_writer(&w), "key \"qwen3.attention.layer_norm_rms_epsilon\" is 0 "
                                   "(u32), expected an f32 or f64");
    s.skip = "general.architecture";
    w = small_model_writer(&s);
    gw_u32(&w, s.skip, 3);
    check_refused(open_writer(&w),
                  "key \"general.architecture\" is 3 (u32), expected a string");
}
END_TEST

//: model-test-architecture
START_TEST(another_architecture_is_named)
{
    struct small_model s = small_model_new();
    const char *const names[] = {"llama", "qwen3moe", "", "qwen"};
    s.skip = "general.architecture";
    for (int i = 0; i < 4; i++) {
        struct gguf_writer w = small_model_writer(&s);
        char sentence[128];
        gw_string(&w, s.skip, names[i]);
        snprintf(sentence, sizeof sentence,
                 "general.architecture is %s, expected qwen3 (dense)", names[i]);
        check_refused(open_writer(&w), sentence);
    }
}
END_TEST

START_TEST(scaled_rotations_are_refused_and_unscaled_ones_taken)
{
    struct small_model s = small_model_new();
    struct gguf_writer w = small_model_writer(&s);
    gw_string(&w, "qwen3.rope.scaling.type", "yarn");
    check_refused(open_writer(&w), "qwen3.rope.scaling.type is yarn, expected none");
    w = small_model_writer(&s);
    gw_string(&w, "qwen3.rope.scaling.type", "none");
    ck_assert(open_writer(&w));
    close_all();
}
END_TEST

//: model-test-reals
START_TEST(epsilon_and_theta_must_be_numbers_of_a_sensible_size)
{
    const struct {
        const char *key, *limits;
        double wrong[5];
    } keys[] = {{"qwen3.attention.layer_norm_rms_epsilon",
                 "1e-12 to 1",
                 {NAN, INFINITY, -1, 0, 1.5}},
                {"qwen3.rope.freq_base", "1 to 1e+12", {NAN, INFINITY, -1, 0, 1e13}}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 5; j++) {
            struct small_model s = small_model_new();
            char sentence[128];
            s.skip = keys[i].key;
            struct gguf_writer w = small_model_writer(&s);
            gw_f64(&w, s.skip, keys[i].wrong[j]);
            snprintf(sentence, sizeof sentence, "%s is %g, expected %s", s.skip,
                     keys[i].wrong[j], keys[i].limits);
            check_refused(open_writer(&w), sentence);
        }
}
END_TEST

//: model-test-tensors
START_TEST(a_tensor_of_another_shape_is_shown_with_both)
{
    const struct {
        const char *name, *sentence;
    } cases[] = {{"blk.0.attn_v.weight", "(129, 256), expected (128, 256)"},
                 {"blk.1.ffn_down.weight", "(257, 256), expected (256, 256)"},
                 {"output.weight", "(65, 256), expected (64, 256)"}};
    for (int i = 0; i < 3; i++) {
        struct small_model s = small_model_new();
        char sentence[128];
        s.tied = false;
        s.odd = cases[i].name;
        snprintf(sentence, sizeof sentence, "tensor %s has shape %s", s.odd,
                 cases[i].sentence);
        check_refused(open_small(&s), sentence);
    }
}
END_TEST

START_TEST(a_tensor_of_more_dimensions_or_a_norm_of_halves_is_refused)
{
    struct small_model s = small_model_new();
    s.skip = "blk.0.attn_k.weight";
    struct gguf_writer w = small_model_writer(&s);
    const uint64_t extent[] = {256, 128, 2};
    gw_tensor(&w, s.skip, TENSOR_Q4_K, 3, extent, NULL, 256 * 144);
    check_refused(open_writer(&w), "tensor blk.0.attn_k.weight has shape (2, 128, 256), "
                                   "expected (128, 256)");
    s.skip = "blk.1.ffn_norm.weight";
    w = small_model_writer(&s);
    gw_matrix(&w, s.skip, TENSOR_F16, 1, 256, NULL, 512);
    check_refused(open_writer(&w),
                  "tensor blk.1.ffn_norm.weight has type F16, expected F32");
}
END_TEST

START_TEST(a_tensor_that_is_there_twice_is_refused_by_the_container)
{
    struct small_model s = small_model_new();
    struct gguf_writer w = small_model_writer(&s);
    small_model_norm(&w, &s, "blk.0.attn_norm.weight", 256);
    ck_assert(!gw_open(&w, &file, &e));
    ck_assert_msg(strstr(e.text, "blk.0.attn_norm.weight") != NULL, "%s", e.text);
}
END_TEST

//: model-test-scales
// The last block of a tensor gets each kind of number that is none.
START_TEST(a_scale_that_is_no_number_is_found_in_every_type)
{
    const struct {
        int type;
        size_t at, bytes, blocks; // where a scale lies; blocks in 256 rows
        unsigned char wrong[4];
    } cases[] = {
        {TENSOR_F32, 0, 4, 65536, {0, 0, 0xc0, 0x7f}},  // NaN
        {TENSOR_F32, 0, 4, 65536, {0, 0, 0x80, 0xff}},  // -infinity
        {TENSOR_F16, 0, 2, 65536, {0, 0x7c, 0, 0}},     // infinity
        {TENSOR_BF16, 0, 2, 65536, {0x81, 0xff, 0, 0}}, // NaN
        {TENSOR_Q8_0, 0, 2, 2048, {1, 0x7c, 0, 0}},
        {TENSOR_Q4_K, 0, 2, 256, {0, 0xfc, 0, 0}},
        {TENSOR_Q4_K, 2, 2, 256, {0, 0x7e, 0, 0}},
        {TENSOR_Q5_K, 0, 2, 256, {0, 0x7c, 0, 0}},
        {TENSOR_Q5_K, 2, 2, 256, {0, 0x7e, 0, 0}},
        {TENSOR_Q6_K, 208, 2, 256, {0, 0x7e, 0, 0}},
    };
    //: model-test-spoil
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct small_model s = small_model_new();
        s.layers = 1;
        s.type = cases[i].type;
        s.spoilt = "blk.0.ffn_up.weight";
        s.spoilt_at = cases[i].at;
        s.spoilt_bytes = cases[i].bytes;
        memcpy(s.spoilt_by, cases[i].wrong, 4);
        ck_assert(open_small(&s));
        bool good = model_check_values(&model, &file, &e);
        model_close(&model);
        char sentence[128];
        snprintf(sentence, sizeof sentence,
                 "tensor %s: block %zu of %zu has a scale that is not finite", s.spoilt,
                 cases[i].blocks - 1, cases[i].blocks);
        check_refused(good, sentence);
    }
}
END_TEST

//: model-test-every
START_TEST(every_tensor_is_looked_at)
{
    const char *const names[] = {
        "token_embd.weight",      "output_norm.weight",       "output.weight",
        "blk.0.attn_norm.weight", "blk.1.attn_k_norm.weight", "blk.1.ffn_down.weight"};
    for (int i = 0; i < 6; i++) {
        struct small_model s = small_model_new();
        s.tied = false;
        s.type = TENSOR_F32;
        s.spoilt = names[i];
        s.spoilt_bytes = 4;
        memcpy(s.spoilt_by, &(float){NAN}, 4);
        ck_assert(open_small(&s));
        ck_assert(!model_check_values(&model, &file, &e));
        ck_assert_msg(strstr(e.text, names[i]) != NULL, "%s", e.text);
        close_all();
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("model");
    add_case(s, "core", a_good_file_gives_its_shape, bytes_a_token_are_counted_by_hand,
             absent_keys_mean_their_defaults,
             matrices_of_every_type_and_norms_of_f32_are_taken, NULL);
    add_case(s, "limits", a_missing_key_is_named, a_missing_tensor_is_named,
             zero_negative_and_absurd_numbers_are_refused_with_the_limit,
             numbers_that_do_not_fit_each_other_are_refused,
             a_value_of_another_type_is_named_with_its_type, another_architecture_is_named,
             scaled_rotations_are_refused_and_unscaled_ones_taken,
             epsilon_and_theta_must_be_numbers_of_a_sensible_size,
             a_tensor_of_another_shape_is_shown_with_both,
             a_tensor_of_more_dimensions_or_a_norm_of_halves_is_refused,
             a_tensor_that_is_there_twice_is_refused_by_the_container,
             a_scale_that_is_no_number_is_found_in_every_type, every_tensor_is_looked_at,
             NULL);
    return s;
}
