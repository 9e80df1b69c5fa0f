//: staging
// From the mapped file to device memory.  A copy from ordinary memory would be staged by
// the driver, one piece after another; here pieces go through two pinned buffers, so that
// the copy of one overlaps the reading of the next, and several threads read.
#include "cuda_state.h"

#include <string.h>

extern "C" {
#include "q4k_repack.h"
}

namespace
{
enum { READERS = 8 };

void read_piece(uint8_t *to, const uint8_t *from, size_t bytes)
{
    const size_t share = (bytes + READERS - 1) / READERS;
#pragma omp parallel for num_threads(READERS)
    for (int i = 0; i < READERS; i++) {
        const size_t begin = static_cast<size_t>(i) * share;
        if (begin < bytes)
            memcpy(to + begin, from + begin, bytes - begin < share ? bytes - begin : share);
    }
}

//: staging-send
// Sends one piece.  Q4_K blocks go to a scratch piece first, from where a kernel repacks
// them to their places; the stream's order keeps one piece from overtaking another.
void send(struct cuda_backend *b, uint8_t *to, const struct gguf_tensor *t, size_t offset,
          const uint8_t *from, size_t bytes)
{
    const size_t block = sizeof(struct block_q4k);
    const bool repacks = t->type == TENSOR_Q4_K;
    uint8_t *place = repacks ? b->unpacked : to + offset;
    cuda_ok(b, cudaMemcpyAsync(place, from, bytes, cudaMemcpyHostToDevice, b->stream));
    if (repacks)
        q4k_repack_cuda(to, reinterpret_cast<const struct block_q4k *>(place),
                        offset / block, bytes / block, t->bytes / block, b->stream);
    cuda_ok(b, cudaGetLastError());
}
} // namespace

//: staging-upload
bool cuda_upload(struct cuda_backend *b, uint8_t *to, const struct gguf_tensor *t)
{
    const uint8_t *from = static_cast<const uint8_t *>(t->data);
    const size_t piece = STAGING_BYTES / 144 * 144; // whole Q4_K blocks
    int buffer = 0;
    for (size_t offset = 0; offset < t->bytes; offset += piece) {
        const size_t bytes = t->bytes - offset < piece ? t->bytes - offset : piece;
        if (!cuda_ok(b, cudaEventSynchronize(b->staged[buffer])))
            return false;
        read_piece(b->staging[buffer], from + offset, bytes);
        send(b, to, t, offset, b->staging[buffer], bytes);
        cuda_ok(b, cudaEventRecord(b->staged[buffer], b->stream));
        buffer = (buffer + 1) % STAGING_BUFFERS;
    }
    return b->failure == cudaSuccess;
}
