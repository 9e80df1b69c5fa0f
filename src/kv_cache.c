//: kv-cache-oracle
// The cache of keys and values on the CPU; see kv_cache.h for the layout.
#include "kv_cache.h"

#include <assert.h>
#include <stdint.h>

#include "half.h"

size_t kv_bytes(const struct kv_shape *shape)
{
    const int sizes[] = {shape->kv_heads, shape->max_context, shape->head_dim};
    size_t bytes = shape->type == KV_F16 ? sizeof(uint16_t) : sizeof(float);
    for (int i = 0; i < 3; i++) {
        if (sizes[i] < 1 || bytes > SIZE_MAX / (size_t)sizes[i])
            return 0;
        bytes *= (size_t)sizes[i];
    }
    return bytes;
}

//: kv-append-oracle
static void append(void *cache, const float *rows, int position,
                   const struct kv_shape *shape)
{
    const size_t dim = (size_t)shape->head_dim;
    for (size_t head = 0; head < (size_t)shape->kv_heads; head++) {
        const size_t first = (head * (size_t)shape->max_context + (size_t)position) * dim;
        for (size_t i = 0; i < dim; i++) {
            const float x = rows[head * dim + i];
            if (shape->type == KV_F16)
                ((uint16_t *)cache)[first + i] = half_from_float(x);
            else
                ((float *)cache)[first + i] = x;
        }
    }
}

void kv_append_cpu(void *keys, void *values, const float *k, const float *v, int position,
                   const struct kv_shape *shape)
{
    assert(position >= 0 && position < shape->max_context);
    append(keys, k, position, shape);
    append(values, v, position, shape);
}
