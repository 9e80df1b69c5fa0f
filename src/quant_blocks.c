//: scale-min
// From each block format back to floats; see quant_blocks.h for the layouts.
#include "quant_blocks.h"

#include <string.h>

#include "half.h"

void q4k_scale_min(const uint8_t packed[12], int j, int *scale, int *min)
{
    if (j < 4) {
        *scale = packed[j] & 63;
        *min = packed[j + 4] & 63;
    } else { // 4 low bits in bytes 8..11, 2 high bits on top of the first four's bytes
        *scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
        *min = packed[j + 4] >> 4 | (packed[j] >> 6) << 4;
    }
}

//: dequantize-q4k
static void dequantize_q4k(float out[256], const struct block_q4k *b)
{
    float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (int j = 0; j < 8; j++) {
        const uint8_t *codes = b->codes + 32 * (j / 2);
        int scale, min, shift = 4 * (j % 2);
        q4k_scale_min(b->scales, j, &scale, &min);
        float step = d * (float)scale, offset = dmin * (float)min;
        for (int l = 0; l < 32; l++)
            out[32 * j + l] = step * (float)(codes[l] >> shift & 15) - offset;
    }
}

//: dequantize-q5k
static void dequantize_q5k(float out[256], const struct block_q5k *b)
{
    float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (int j = 0; j < 8; j++) {
        const uint8_t *codes = b->codes + 32 * (j / 2);
        int scale, min, shift = 4 * (j % 2);
        q4k_scale_min(b->scales, j, &scale, &min);
        float step = d * (float)scale, offset = dmin * (float)min;
        for (int l = 0; l < 32; l++) {
            int code = (codes[l] >> shift & 15) | (b->high[l] >> j & 1) << 4;
            out[32 * j + l] = step * (float)code - offset;
        }
    }
}

//: dequantize-q6k
// Sub-block s holds values 16 * s to 16 * s + 15: of half s / 8, in that half of quarter
// s / 2 % 4, in that quarter of part s % 2.
static void dequantize_q6k(float out[256], const struct block_q6k *b)
{
    float d = half_to_float(b->d);
    for (int s = 0; s < 16; s++) {
        int half = s / 8, quarter = s / 2 % 4, first = 16 * (s % 2);
        const uint8_t *low = b->low + 64 * half + 32 * (quarter % 2) + first;
        const uint8_t *high = b->high + 32 * half + first;
        int low_shift = 4 * (quarter / 2), high_shift = 2 * quarter;
        float step = d * (float)b->scales[s];
        for (int l = 0; l < 16; l++) {
            int code = (low[l] >> low_shift & 15) | (high[l] >> high_shift & 3) << 4;
            out[16 * s + l] = step * (float)(code - 32);
        }
    }
}

//: dequantize-plain
static void dequantize_q8_0(float out[32], const struct block_q8_0 *b)
{
    float d = half_to_float(b->d);
    for (int l = 0; l < 32; l++)
        out[l] = d * (float)b->codes[l];
}

static void convert_f16(float *out, const uint16_t *row, int columns)
{
    for (int i = 0; i < columns; i++)
        out[i] = half_to_float(row[i]);
}

static void convert_bf16(float *out, const uint16_t *row, int columns)
{
    for (int i = 0; i < columns; i++)
        out[i] = bf16_to_float(row[i]);
}

//: dequantize-row
static void dequantize_block(float *out, const void *block, enum tensor_type type)
{
    switch (type) {
    case TENSOR_Q4_K:
        dequantize_q4k(out, block);
        break;
    case TENSOR_Q5_K:
        dequantize_q5k(out, block);
        break;
    case TENSOR_Q6_K:
        dequantize_q6k(out, block);
        break;
    case TENSOR_Q8_0:
        dequantize_q8_0(out, block);
        break;
    default:
        assert(!"a type with blocks");
    }
}

//: dequantize-types
void dequantize_row_cpu(float *out, const void *row, enum tensor_type type, int columns)
{
    struct block_layout layout = tensor_layout(type);
    const uint8_t *block = row;
    if (type == TENSOR_F32)
        memcpy(out, row, (size_t)columns * sizeof *out);
    else if (type == TENSOR_F16)
        convert_f16(out, row, columns);
    else if (type == TENSOR_BF16)
        convert_bf16(out, row, columns);
    else
        for (int i = 0; i < columns; i += layout.block_values, block += layout.block_bytes)
            dequantize_block(out + i, block, type);
}
