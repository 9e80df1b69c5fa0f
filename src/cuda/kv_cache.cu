//: kv-append-kernel
// Appends one position's keys and values to the cache, a thread for each value.  The
// position is read from device memory, so that a captured graph can be replayed for each.
#include "launch.h"
extern "C" {
#include "kv_cache.h"
}

namespace
{
__device__ void store(float *to, float x)
{
    *to = x;
}

__device__ void store(__half *to, float x)
{
    *to = __float2half_rn(x);
}

//: kv-append-kernel-body
template <class T>
__global__ void kv_append_kernel(T *keys, T *values, const float *k, const float *v,
                                 const int *position, kv_shape shape)
{
    const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
    if (i >= shape.kv_heads * shape.head_dim)
        return;
    const int head = i / shape.head_dim, dim = i % shape.head_dim;
    const size_t row = static_cast<size_t>(head) * shape.max_context + *position;
    store(keys + row * shape.head_dim + dim, k[i]);
    store(values + row * shape.head_dim + dim, v[i]);
}
} // namespace

void kv_append_cuda(void *keys, void *values, const float *k, const float *v,
                    const int *position, const struct kv_shape *shape, cudaStream_t stream)
{
    const int blocks = (shape->kv_heads * shape->head_dim + 255) / 256;
    if (shape->type == KV_F16)
        launch(stream, blocks, 256, kv_append_kernel<__half>, static_cast<__half *>(keys),
               static_cast<__half *>(values), k, v, position, *shape);
    else
        launch(stream, blocks, 256, kv_append_kernel<float>, static_cast<float *>(keys),
               static_cast<float *>(values), k, v, position, *shape);
}
