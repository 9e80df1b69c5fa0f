//: embed-oracle
// A token's row of the embedding table; see embed.h.
#include "embed.h"

#include <stddef.h>

#include "quant_blocks.h"

void embed_cpu(float *x, const void *table, enum tensor_type type, int token, int columns)
{
    struct block_layout layout = tensor_layout(type);
    size_t row_bytes = (size_t)(columns / layout.block_values) * (size_t)layout.block_bytes;
    const uint8_t *row = (const uint8_t *)table + row_bytes * (size_t)token;
    dequantize_row_cpu(x, row, type, columns);
}
