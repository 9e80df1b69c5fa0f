// Lets a test make one allocation fail, and count what is not freed.  It replaces the
// allocator of the whole test program, so it is left out under the address sanitizer,
// which brings its own: FAILING_MALLOC tells whether it is there.
#ifndef LANEWISE_TESTS_FAILING_MALLOC_H
#define LANEWISE_TESTS_FAILING_MALLOC_H

#include <stddef.h>
#include <stdlib.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define FAILING_MALLOC 0
#else
#define FAILING_MALLOC 1

void *__libc_malloc(size_t bytes); // glibc's own, under the names it keeps for this
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void __libc_free(void *p);

static struct {
    long before_failure; // allocations that still succeed before one fails; below 0: all
    long live;           // allocated and not freed
} allocations = {-1, 0};

static int allocation_fails(void)
{
    return allocations.before_failure >= 0 && allocations.before_failure-- == 0;
}

void *malloc(size_t bytes)
{
    void *p = allocation_fails() ? NULL : __libc_malloc(bytes);
    allocations.live += p != NULL;
    return p;
}

void *calloc(size_t count, size_t bytes)
{
    void *p = allocation_fails() ? NULL : __libc_calloc(count, bytes);
    allocations.live += p != NULL;
    return p;
}

void *realloc(void *old, size_t bytes)
{
    void *p = allocation_fails() ? NULL : __libc_realloc(old, bytes);
    allocations.live += p != NULL && old == NULL;
    return p;
}

void free(void *p)
{
    allocations.live -= p != NULL;
    __libc_free(p);
}
#endif

#endif
