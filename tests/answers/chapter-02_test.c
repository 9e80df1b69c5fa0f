// The answers to the exercises of chapter 2, run.
#include <math.h>
#include <stdlib.h>

#include "gguf.h"
#include "half.h"
#include "main.h"
#include "quant_blocks.h"

//: answer-bits
START_TEST(bits_a_weight_and_bytes_a_matrix)
{
    const struct {
        enum tensor_type type;
        double bits, matrix; // of 4,096 x 4,096
    } answer[] = {{TENSOR_Q4_K, 4.5, 9437184},
                  {TENSOR_Q5_K, 5.5, 11534336},
                  {TENSOR_Q6_K, 6.5625, 13762560},
                  {TENSOR_Q8_0, 8.5, 17825792},
                  {TENSOR_F16, 16, 33554432}};
    for (int i = 0; i < 5; i++) {
        struct block_layout layout = tensor_layout(answer[i].type);
        double bits = 8.0 * layout.block_bytes / layout.block_values;
        ck_assert_double_eq(bits, answer[i].bits);
        ck_assert_double_eq(bits * 4096 * 4096 / 8, answer[i].matrix);
    }
}
END_TEST

//: answer-by-hand
START_TEST(value_70_by_hand)
{
    struct block_q4k block = {.d = 0x2c00, .dmin = 0x3000}; // 1/16 and 1/8
    float x[256];
    block.scales[2] = 0xca;     // scale[2] = 10
    block.scales[6] = 0x47;     // min[2] = 7
    block.codes[32 + 6] = 0xb4; // value 70 = 64 + 6: low nibble of byte 6 of group 1
    dequantize_row_cpu(x, &block, TENSOR_Q4_K, 256);
    ck_assert_float_eq(x[70], 10.0f / 16 * 4 - 7.0f / 8);
}
END_TEST

//: answer-quantize
// The largest value gets code 127 or -127; every code is the nearest.
static void quantize_q8_0(struct block_q8_0 *b, const float x[32])
{
    float largest = 0;
    for (int i = 0; i < 32; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    b->d = half_from_float(largest / 127);
    float d = half_to_float(b->d);
    for (int i = 0; i < 32; i++)
        b->codes[i] = (int8_t)(d > 0 ? lrintf(x[i] / d) : 0);
}

START_TEST(q8_0_there_and_back_is_off_by_half_a_step)
{
    float x[32], back[32];
    struct block_q8_0 block;
    for (int i = 0; i < 32; i++)
        x[i] = sinf((float)i) * 0.02f;
    quantize_q8_0(&block, x);
    dequantize_row_cpu(back, &block, TENSOR_Q8_0, 32);
    for (int i = 0; i < 32; i++)
        ck_assert(fabsf(back[i] - x[i]) <= 0.501f * half_to_float(block.d));
}
END_TEST

//: answer-real-row
// What another reader of the format finds in the row of token 42, "K".
START_TEST(the_tales_models_row_42)
{
    struct gguf g;
    struct error e;
    ck_assert_msg(gguf_open(&g, "data/tales-Q4_K_M.gguf", &e), "%s", e.text);
    const struct gguf_tensor *t = gguf_find_tensor(&g, "token_embd.weight");
    ck_assert(t != NULL && t->type == TENSOR_Q6_K && t->extent[0] == 256);
    float x[256], largest = 0;
    dequantize_row_cpu(x, (const struct block_q6k *)t->data + 42, t->type, 256);
    ck_assert(x[0] == 0x1.a702p-4f && x[1] == 0x1.fb9cp-7f && x[2] == 0x1.47d4cp-3f);
    for (int i = 0; i < 256; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    ck_assert_float_eq(largest, 0.19701385498046875f);
    gguf_close(&g);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("answers-02");
    add_case(s, "answers", bits_a_weight_and_bytes_a_matrix, value_70_by_hand,
             q8_0_there_and_back_is_off_by_half_a_step, the_tales_models_row_42, NULL);
    return s;
}
