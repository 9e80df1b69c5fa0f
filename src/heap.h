//: heap
// A priority queue of numbers, smallest first, in an array: entry i is not above entries
// 2i + 1 and 2i + 2.  The merges of the tokenizer and the sampler pack what they order by
// into one number.  Williams, 1964; making a heap in linear time: Floyd, 1964.
#ifndef LANEWISE_HEAP_H
#define LANEWISE_HEAP_H

#include <stddef.h>
#include <stdint.h>

void heap_make(uint64_t *heap, size_t count);                 // of any array; O(count)
void heap_push(uint64_t *heap, size_t count, uint64_t entry); // makes it count + 1 long
uint64_t heap_pop(uint64_t *heap, size_t count);              // leaves it count - 1 long

#endif
