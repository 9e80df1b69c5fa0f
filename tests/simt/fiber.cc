//: simt-switch
// Fibers: the threads of a block take turns on one processor.  Each has a stack, and a
// switch saves on it the registers that a call preserves in the C ABI, no more: some 5 ns,
// where swapcontext, which also asks the kernel for the signal mask, takes 200.

#include "simt.h"

#include <sys/mman.h>

// Saves the registers on the stack, stores its pointer in *save, and goes on where the
// fiber with stack pointer load once called this.
extern "C" void simt_switch(void **save, void *load);
#if defined(__x86_64__)
asm(R"(.text
.globl simt_switch
simt_switch:
    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
    ret
)");
constexpr int FRAME = 8, ENTRY = 6; // words on a new stack; the one that switch returns to

//: simt-switch-arm
#elif defined(__aarch64__)
asm(R"(.text
.globl simt_switch
simt_switch:
    stp x19, x20, [sp, #-160]!; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48];    stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96];      stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128];   stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x21, x22, [sp, #16];    ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64];    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96];      ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128];   ldp d14, d15, [sp, #144]
    ldp x19, x20, [sp], #160
    ret
)");
constexpr int FRAME = 20, ENTRY = 11;
#endif

//: simt-resume
struct simt_fiber {
    void *sp;          // where it stopped
    const void *stack; // its lowest address
    size_t size;
    void *fake; // the address sanitizer's own stack of it
};
static simt_fiber host, fibers[SIMT_MAX_THREADS];
static simt_fiber *previous;
simt_fiber *const simt_host = &host;
simt_fiber *simt_running = &host;
char *simt_stacks;

//: simt-fiber-sanitizer
// The address sanitizer must know which stack is in use.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
static void leaving(simt_fiber *next)
{
    __sanitizer_start_switch_fiber(&previous->fake, next->stack, next->size);
}
void simt_arrived(void)
{
    __sanitizer_finish_switch_fiber(simt_running->fake, &previous->stack, &previous->size);
}
#else
static void leaving(simt_fiber *) {}
void simt_arrived(void) {}
#endif

//: simt-resume-fiber
void simt_resume(simt_fiber *next)
{
    previous = simt_running;
    simt_running = next;
    leaving(next);
    simt_switch(&previous->sp, next->sp);
    simt_arrived();
}

//: simt-new-fiber
// The stacks lie one after another, the lowest page of each barred: an overflow stops
// there. Their tops are spread over the sets of the cache, which they would else share.
simt_fiber *simt_new_fiber(void (*run)(void))
{
    static size_t made;
    if (simt_stacks == nullptr) {
        void *all = mmap(nullptr, SIMT_MAX_THREADS * SIMT_STACK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED)
            simt_die("no memory for the stacks of a block");
        simt_stacks = static_cast<char *>(all);
    }
    char *stack = simt_stacks + made * SIMT_STACK;
    mprotect(stack, 4096, PROT_NONE);
    void **sp = reinterpret_cast<void **>(stack + SIMT_STACK - made % 32 * 128) - FRAME;
    sp[ENTRY] = reinterpret_cast<void *>(run);
    fibers[made] = {sp, stack, SIMT_STACK, nullptr};
    return &fibers[made++];
}
