#include "gguf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "gguf_writer.h"

static struct gguf g;
static struct error e;

// ---- Help -------------------------------------------------------------------------------

static bool open_bytes(const void *bytes, size_t size)
{
    char path[GW_PATH];
    gw_save_bytes(path, bytes, size);
    bool opened = gguf_open(&g, path, &e);
    unlink(path);
    return opened;
}

// A refusal is one line, names the file and holds the text; nothing is left to close.
static void says(bool opened, const char *text)
{
    ck_assert_msg(!opened, "opened, expected \"%s\"", text);
    ck_assert_msg(strstr(e.text, text) != NULL, "\"%s\" has no \"%s\"", e.text, text);
    ck_assert(strncmp(e.text, "/tmp/lanewise-test-", 19) == 0);
    ck_assert_ptr_null(strchr(e.text, '\n'));
    ck_assert(g.map == NULL && g.values == NULL && g.tensors == NULL && g.path == NULL);
}

//: test-gguf-sample
// Three keys and three tensors: a vector of 5 floats, a matrix of 2 x 32 bytes with scales,
// and a row of one Q4_K block.
static struct gguf_writer sample(void)
{
    static const float vector[5] = {1, 2, 3, 4, 5};
    struct gguf_writer w = gw_new();
    gw_string(&w, "general.architecture", "qwen3");
    gw_strings(&w, "tokens", (const char *const[]){"a", "bc", ""}, 3);
    gw_u32(&w, "layers", 6);
    gw_vector(&w, "norm", vector, 5);
    gw_matrix(&w, "gate", TENSOR_Q8_0, 2, 32, NULL, 2 * 34);
    gw_matrix(&w, "up", TENSOR_Q4_K, 1, 256, NULL, 144);
    return w;
}

//: test-gguf-read
START_TEST(a_file_is_read_as_it_was_written)
{
    struct gguf_writer w = sample();
    ck_assert_msg(gw_open(&w, &g, &e), "%s", e.text);
    ck_assert_uint_eq(g.version, 3);
    ck_assert_uint_eq(g.n_values, 3);
    ck_assert_uint_eq(g.n_tensors, 3);
    const struct gguf_tensor *t = gguf_find_tensor(&g, "norm");
    ck_assert_ptr_nonnull(t);
    ck_assert(t->type == TENSOR_F32 && t->dimensions == 1);
    ck_assert(t->extent[0] == 5 && t->extent[1] == 1 && t->extent[3] == 1);
    ck_assert_uint_eq(t->bytes, 20);
    ck_assert(((const float *)t->data)[4] == 5);
    t = gguf_find_tensor(&g, "gate");
    ck_assert(t->type == TENSOR_Q8_0 && t->dimensions == 2);
    ck_assert(t->extent[0] == 32 && t->extent[1] == 2 && t->bytes == 68);
    ck_assert_ptr_eq(t->data, g.map + g.data_offset + 32);
    ck_assert_ptr_null(gguf_find_tensor(&g, "nor"));
    ck_assert_ptr_null(gguf_find_tensor(&g, "norms"));
    ck_assert_ptr_null(gguf_find(&g, "norm"));
    gguf_close(&g);
}
END_TEST

//: test-gguf-tales
// The model that comes with the book; what is expected was read off a hex dump.
START_TEST(the_tales_model_is_read)
{
    ck_assert_msg(gguf_open(&g, "data/tales-Q4_K_M.gguf", &e), "%s", e.text);
    ck_assert_uint_eq(g.size, 4465184);
    ck_assert_uint_eq(g.n_values, 25);
    ck_assert_uint_eq(g.n_tensors, 68);
    ck_assert_uint_eq(g.data_offset, 132640); // 132,632 bytes of header, rounded up to 32
    int layers;
    ck_assert(gguf_get_int(&g, "qwen3.block_count", &layers, &e) && layers == 6);
    const struct gguf_tensor *t = gguf_find_tensor(&g, "token_embd.weight");
    ck_assert(t->type == TENSOR_Q6_K && t->extent[0] == 256 && t->extent[1] == 4096);
    ck_assert_uint_eq(t->bytes, 4096 * 210);
    ck_assert_ptr_eq(t->data, g.map + 132640 + 1024);
    gguf_close(&g);
}
END_TEST

START_TEST(a_file_without_keys_or_tensors_is_read)
{
    struct gguf_writer w = gw_new();
    w.version = 2;
    ck_assert(gw_open(&w, &g, &e));
    ck_assert(g.n_values == 0 && g.n_tensors == 0 && g.version == 2);
    ck_assert_ptr_null(gguf_find(&g, "k"));
    ck_assert_ptr_null(gguf_find_tensor(&g, "t"));
    gguf_close(&g);
    gguf_close(&g); // does no harm
}
END_TEST

//: test-gguf-looks
START_TEST(a_file_that_is_no_model_is_said_to_be_what_it_looks_like)
{
    const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } cases[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:12\n", 56, "Git LFS"},
        {"<!DOCTYPE html><html>", 21, "an HTML page"},
        {"PK\x03\x04\x14\0\0\0", 8, "a zip archive"},
        {"\x1f\x8b\x08\0\0\0", 6, "a gzip archive"},
        {"tjgg\x03\0\0\0", 8, "older than GGUF"},
        {"\x40\0\0\0\0\0\0\0{\"__metadata__\":{", 24, "a safetensors file"},
        {"Once upon a time\n", 17, "a text file"},
        {"\x7f"
         "ELF\x02\x01",
         6, "7f 45 4c 46, expected 47 47 55 46"},
        {"\x7f"
         "ELF\x02\x01",
         6, "no format known here"},
        {"gguf\x03\0\0\0", 8, "67 67 75 66"},
        {"GGU", 3, "the magic \"GGUF\": needs 4 bytes at byte 0, where the file has 3"},
        {"GGUF", 4, "the version: needs 4 bytes at byte 4"},
        {"", 0, "an empty file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        says(open_bytes(cases[i].bytes, cases[i].size), cases[i].expected);
}
END_TEST

START_TEST(only_versions_2_and_3_are_read)
{
    const struct {
        uint32_t version;
        const char *expected;
    } cases[] = {
        {0, "version 0, expected 2 or 3"},
        {1, "version 1, expected"},
        {4, "version 4, expected"},
        {UINT32_MAX, "version 4294967295"},
        {0x03000000, "version bytes 00 00 00 03: big-endian"},
        {0x02000000, "big-endian"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gguf_writer w = sample();
        w.version = cases[i].version;
        says(gw_open(&w, &g, &e), cases[i].expected);
    }
}
END_TEST

//: test-gguf-counts
START_TEST(counts_that_the_file_cannot_hold_are_refused)
{
    const uint64_t counts[] = {1000, 1ull << 32, 1ull << 58, 1ull << 60, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct gguf_writer w = sample();
        w.n_keys = counts[i];
        says(gw_open(&w, &g, &e), "the number of keys is");
        w = sample();
        w.n_tensors = counts[i];
        says(gw_open(&w, &g, &e), "the number of tensors is");
    }
    struct gguf_writer w = sample();
    w.n_keys = 4; // possible, but the fourth is the first tensor
    ck_assert(!gw_open(&w, &g, &e));
    w = sample();
    w.n_tensors = 4;
    ck_assert(!gw_open(&w, &g, &e));
}
END_TEST

//: test-gguf-keys
START_TEST(wrong_keys_are_refused)
{
    struct gguf_writer w = sample();
    gw_u32(&w, "layers", 6);
    says(gw_open(&w, &g, &e), "key \"layers\" appears twice");
    w = sample();
    gw_u32(&w, "", 6);
    says(gw_open(&w, &g, &e), "key 4 of 4: a name of 0 bytes, expected 1 to 65535");
    w = sample();
    gw_key(&w, "odd", 13);
    says(gw_open(&w, &g, &e), "key \"odd\": type number 13, the highest is 12");
    w = sample();
    gw_array(&w, "nested", GGUF_ARRAY, 1);
    says(gw_open(&w, &g, &e), "key \"nested\": an array of arrays");
    w = sample();
    gw_array(&w, "many", GGUF_U64, (1ull << 61) + 1);
    says(gw_open(&w, &g, &e), "key \"many\": 2305843009213693953 values of type u64");
    w = sample();
    gw_key(&w, "long", GGUF_STRING);
    gw_put_u64(&w.keys, UINT64_MAX);
    says(gw_open(&w, &g, &e), "key \"long\": element 0 of 1: a string: needs 18446744");
    w = sample();
    gw_put_u64(&w.keys, 1ull << 40);
    w.n_keys++;
    says(gw_open(&w, &g, &e), "key 4 of 4: the name: a string: needs 1099511627776 bytes");
    w = sample();
    gw_u32(&w, "line\nfeed", 1), gw_u32(&w, "line\nfeed", 2);
    says(gw_open(&w, &g, &e), "key \"line?feed\" appears twice");
}
END_TEST

START_TEST(a_key_of_65535_bytes_is_read_and_one_more_is_not)
{
    char *key = calloc(65537, 1);
    ck_assert_ptr_nonnull(key);
    memset(key, 'k', 65535);
    struct gguf_writer w = gw_new();
    gw_u32(&w, key, 1);
    ck_assert(gw_open(&w, &g, &e));
    ck_assert_ptr_nonnull(gguf_find(&g, key));
    gguf_close(&g);
    key[65535] = 'k';
    gw_u32(&w, key, 1);
    says(gw_open(&w, &g, &e), "a name of 65536 bytes");
    free(key);
}
END_TEST

//: test-gguf-alignment
START_TEST(the_alignment_is_a_power_of_two_within_limits)
{
    const uint32_t wrong[] = {0, 1, 4, 24, 33, (1u << 30) + 1, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct gguf_writer w = sample();
        gw_u32(&w, "general.alignment", wrong[i]);
        says(gw_open(&w, &g, &e), "expected a power of two from 8 to 1073741824");
    }
    struct gguf_writer w = sample();
    gw_u64(&w, "general.alignment", 32);
    says(gw_open(&w, &g, &e), "is of type u64, expected u32");
    w = sample();
    gw_u32(&w, "general.alignment", 1u << 30); // the data would begin past the end
    says(gw_open(&w, &g, &e), "where the file has 0 bytes of data");
    w = gw_new();
    w.alignment = 8;
    gw_u32(&w, "general.alignment", 8);
    gw_vector(&w, "a", (const float[]){1}, 1), gw_vector(&w, "b", (const float[]){2}, 1);
    ck_assert_msg(gw_open(&w, &g, &e), "%s", e.text);
    ck_assert(*(const float *)gguf_find_tensor(&g, "b")->data == 2);
    gguf_close(&g);
}
END_TEST

//: test-gguf-tensors
#define SHAPE(...)     \
    (const uint64_t[]) \
    {                  \
        __VA_ARGS__    \
    }

START_TEST(wrong_tensors_are_refused)
{
    const struct {
        uint32_t type, dimensions;
        uint64_t extent[5];
        uint64_t offset;
        const char *expected;
    } cases[] = {
        {0, 0, {0}, 0, "tensor \"t\": 0 dimensions, expected 1 to 4"},
        {0, 5, {1, 1, 1, 1, 1}, 0, "5 dimensions, expected 1 to 4"},
        {0, UINT32_MAX, {1}, 0, "4294967295 dimensions"},
        {0, 2, {0, 4}, 0, "dimension 0 is 0, expected 1 to 2147483647"},
        {0, 2, {4, UINT64_MAX}, 0, "dimension 1 is 18446744073709551615"},
        {0, 1, {1ull << 31}, 0, "dimension 0 is 2147483648"},
        {0, 1, {INT32_MAX}, 0, "more than the file's"},
        {0, 2, {1ull << 30, 1ull << 30}, 0, "more than the file's"},
        {0, 3, {1ull << 30, 1ull << 30, 16}, 0, "more than the file's"}, // 2^66 bytes
        {0, 4, {1 << 16, 1 << 16, 1 << 16, 1 << 14}, 0, "more than the file's"}, // 2^64
        {12, 4, {256, 1 << 20, 1 << 20, 1 << 20}, 0, "more than the file's"},
        {2, 1, {32}, 0, "type Q4_0 (number 2) is not supported; supported are F32"},
        {39, 1, {32}, 0, "type MXFP4 (number 39) is not supported"},
        {4, 1, {32}, 0, "type number 4 is unknown"},
        {UINT32_MAX, 1, {32}, 0, "type number 4294967295 is unknown"},
        {12,
         2,
         {255, 1},
         0,
         "rows of 255 values, expected a multiple of 256, a block of Q4_K"},
        {14,
         2,
         {128, 2},
         0,
         "rows of 128 values, expected a multiple of 256, a block of Q6_K"},
        {8, 1, {33}, 0, "rows of 33 values, expected a multiple of 32, a block of Q8_0"},
        {0, 1, {4}, 288 + 4, "offset 292, expected a multiple of 32"},
        {0, 1, {4}, 288 + 64, "16 bytes at offset 352, where the file has 320 bytes"},
        {0, 1, {16}, 288, "64 bytes at offset 288, where the file has 320 bytes"},
        {0, 1, {4}, UINT64_MAX - 31, "16 bytes at offset 18446744073709551584"},
        {0, 1, {4}, 256, "tensor \"t\" begins 128 bytes after \"up\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gguf_writer w = sample();
        gw_info(&w, "t", cases[i].type, cases[i].dimensions < 6 ? cases[i].dimensions : 0,
                cases[i].extent, cases[i].offset);
        if (cases[i].dimensions > 5) // the count alone, in place of what was written
            memcpy(w.infos.bytes + w.infos.size - 16, &cases[i].dimensions, 4);
        gw_put(&w.data, NULL, 32);
        says(gw_open(&w, &g, &e), cases[i].expected);
    }
}
END_TEST

//: test-gguf-wrap
// Only in a file of 16 GiB can the step from 2^34 bytes, which fit, to 2^64 wrap to 0.  The
// file is a hole: it takes no room on the disk.
START_TEST(a_product_that_wraps_is_refused_in_a_large_file)
{
    struct gguf_writer w = gw_new();
    char path[GW_PATH];
    gw_info(&w, "t", TENSOR_F32, 3, SHAPE(1 << 30, 4, 1 << 30), 0);
    gw_save(&w, path);
    if (truncate(path, (1ll << 34) + 4096) == 0)
        says(gguf_open(&g, path, &e), "more than the file's 17179873280 bytes");
    unlink(path);
}
END_TEST

//: test-gguf-names
START_TEST(wrong_names_are_refused)
{
    char name[65] = {0};
    memset(name, 'n', 63);
    struct gguf_writer w = sample();
    gw_vector(&w, name, (const float[]){1}, 1);
    ck_assert_msg(gw_open(&w, &g, &e), "%s", e.text);
    ck_assert_ptr_nonnull(gguf_find_tensor(&g, name));
    gguf_close(&g);
    name[63] = 'n';
    w = sample();
    gw_vector(&w, name, (const float[]){1}, 1);
    says(gw_open(&w, &g, &e), "tensor 4 of 4: a name of 64 bytes, expected 1 to 63");
    w = sample();
    gw_vector(&w, "", (const float[]){1}, 1);
    says(gw_open(&w, &g, &e), "a name of 0 bytes");
    w = sample();
    gw_vector(&w, "gate", (const float[]){1}, 1);
    says(gw_open(&w, &g, &e), "tensor \"gate\" appears twice");
}
END_TEST

START_TEST(tensors_may_lie_in_any_order_but_not_over_each_other)
{
    struct gguf_writer w = gw_new();
    gw_put(&w.data, NULL, 96);
    gw_info(&w, "last", TENSOR_F32, 1, SHAPE(8), 64);
    gw_info(&w, "first", TENSOR_F32, 1, SHAPE(16), 0);
    ck_assert_msg(gw_open(&w, &g, &e), "%s", e.text);
    gguf_close(&g);
    gw_put(&w.data, NULL, 96);
    gw_info(&w, "last", TENSOR_F32, 1, SHAPE(8), 64);
    gw_info(&w, "first", TENSOR_F32, 1, SHAPE(17), 0);
    says(gw_open(&w, &g, &e), "tensor \"last\" begins 64 bytes after \"first\", 68 long");
    gw_put(&w.data, NULL, 96);
    gw_info(&w, "a", TENSOR_F32, 1, SHAPE(1), 32);
    gw_info(&w, "b", TENSOR_F32, 1, SHAPE(1), 32);
    says(gw_open(&w, &g, &e), "begins 0 bytes after");
}
END_TEST

//: test-gguf-truncated
START_TEST(a_file_cut_at_any_byte_is_refused)
{
    struct gguf_writer w = sample();
    size_t padding = 16; // after the last tensor, 144 bytes
    struct gw_bytes file = gw_file(&w);
    for (size_t size = 0; size < file.size - padding; size++) {
        char *cut = malloc(size > 0 ? size : 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, file.bytes, size);
        says(open_bytes(cut, size), "");
        free(cut);
    }
    ck_assert_msg(open_bytes(file.bytes, file.size - padding), "%s", e.text);
    gguf_close(&g);
    free(file.bytes);
    gw_free(&w);
}
END_TEST

//: test-gguf-fuzz
static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit) // Marsaglia's xorshift
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % limit;
}

//: test-gguf-fuzz-views
// What follows a file in its last page would be read without a fault.
static void lies_within(const void *bytes, size_t length)
{
    uintptr_t at = (uintptr_t)bytes, map = (uintptr_t)g.map;
    ck_assert(at >= map && at - map <= g.size && length <= g.size - (at - map));
}

static void check_views(void)
{
    char text[100];
    struct gguf_string *strings;
    size_t count;
    for (size_t i = 0; i < g.n_tensors; i++) {
        lies_within(g.tensors[i].name.bytes, g.tensors[i].name.length);
        lies_within(g.tensors[i].data, g.tensors[i].bytes);
    }
    for (size_t i = 0; i < g.n_values; i++) {
        lies_within(g.values[i].key.bytes, g.values[i].key.length);
        gguf_describe(&g, &g.values[i], text, sizeof text);
    }
    if (gguf_get_strings(&g, "tokens", &strings, &count, &e))
        for (size_t i = 0; i < count; i++)
            lies_within(strings[i].bytes, strings[i].length);
    free(strings);
}

//: test-gguf-fuzz-bytes
// One to three bytes become others; those of likely do the most damage.
static void flip_bytes(unsigned char *bytes, size_t size)
{
    static const unsigned char likely[] = {0, 1, 0x7f, 0x80, 0xff};
    for (uint64_t n = 1 + random_below(3); n > 0; n--)
        bytes[random_below(size)] = random_below(2) != 0
                                        ? likely[random_below(sizeof likely)]
                                        : (unsigned char)random_below(256);
}

//: test-gguf-fuzz-flips
START_TEST(a_file_with_flipped_bytes_opens_or_is_refused)
{
    enum { TRIALS = 5000 };
    struct gguf_writer w = sample();
    struct gw_bytes file = gw_file(&w), changed = gw_file(&w);
    int opened = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        memcpy(changed.bytes, file.bytes, file.size);
        flip_bytes(changed.bytes, file.size);
        size_t cut = random_below(2) * random_below(file.size); // half of them whole
        if (open_bytes(changed.bytes, file.size - cut)) {
            opened++;
            check_views();
            gguf_close(&g);
        } else
            says(false, "");
    }
    ck_assert(opened > TRIALS / 100 && opened < TRIALS);
    free(changed.bytes);
    free(file.bytes);
    gw_free(&w);
}
END_TEST

//: test-gguf-large-header
// The vocabulary and merges of a large model, 20,000 more keys and 300 tensors.
static struct gguf_writer large(void)
{
    char text[32];
    struct gguf_writer w = gw_new();
    for (int list = 0; list < 2; list++) {
        gw_array(&w, list == 0 ? "tokens" : "merges", GGUF_STRING, 151936);
        for (int i = 0; i < 151936; i++) {
            snprintf(text, sizeof text, "token%d", i);
            gw_put_string(&w.keys, text);
        }
    }
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "key%u", i * 7919 % 20000);
        gw_u32(&w, text, i);
    }
    for (unsigned i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "blk.%u.weight", i);
        gw_vector(&w, text, (const float[]){1}, 1);
    }
    return w;
}

//: test-gguf-large
START_TEST(a_large_header_is_read_in_no_time)
{
    struct gguf_writer w = large();
    char path[GW_PATH];
    gw_save(&w, path);
    clock_t before = clock();
    bool opened = gguf_open(&g, path, &e);
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    unlink(path);
    ck_assert_msg(opened, "%s", e.text);
    ck_assert_ptr_nonnull(gguf_find(&g, "key19999"));
    ck_assert_ptr_nonnull(gguf_find_tensor(&g, "blk.299.weight"));
    gguf_close(&g);
    ck_assert_msg(seconds < 0.5, "%.3f s", seconds);
}
END_TEST

//: test-gguf-suite
Suite *suite(void)
{
    Suite *s = suite_create("gguf");
    add_case(s, "core", a_file_is_read_as_it_was_written, the_tales_model_is_read,
             a_file_without_keys_or_tensors_is_read, NULL);
    add_case(s, "wrong", a_file_that_is_no_model_is_said_to_be_what_it_looks_like,
             only_versions_2_and_3_are_read, counts_that_the_file_cannot_hold_are_refused,
             wrong_keys_are_refused, a_key_of_65535_bytes_is_read_and_one_more_is_not,
             the_alignment_is_a_power_of_two_within_limits, wrong_tensors_are_refused,
             a_product_that_wraps_is_refused_in_a_large_file, wrong_names_are_refused,
             tensors_may_lie_in_any_order_but_not_over_each_other, NULL);
    add_case(s, "limits", a_file_cut_at_any_byte_is_refused,
             a_file_with_flipped_bytes_opens_or_is_refused,
             a_large_header_is_read_in_no_time, NULL);
    return s;
}
