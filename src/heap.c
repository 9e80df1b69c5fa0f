//: heap-sink
// A priority queue of numbers; see heap.h.
#include "heap.h"

// Finds entry's place at i or below: smaller entries move up until it fits.
static void sink(uint64_t *heap, size_t count, size_t i, uint64_t entry)
{
    for (size_t below; (below = 2 * i + 1) < count; i = below) {
        below += below + 1 < count && heap[below + 1] < heap[below];
        if (entry <= heap[below])
            break;
        heap[i] = heap[below];
    }
    heap[i] = entry;
}

void heap_make(uint64_t *heap, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(heap, count, i, heap[i]);
}

//: heap-push-pop
void heap_push(uint64_t *heap, size_t count, uint64_t entry)
{
    size_t i = count;
    for (; i > 0 && heap[(i - 1) / 2] > entry; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
}

uint64_t heap_pop(uint64_t *heap, size_t count)
{
    uint64_t first = heap[0];
    sink(heap, count - 1, 0, heap[count - 1]);
    return first;
}
