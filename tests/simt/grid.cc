//: simt-order
// Runs a grid: one block after the other, and of a block one thread after the other, each
// on a fiber until it waits in a meeting or returns.  Nothing happens at the same time, so
// every run can be repeated.  SIMT_ORDER says who goes first: "ascending" (as if it were
// not set), "descending", or a number, the seed of a random order.  The results must not
// tell which.

#include "simt.h"

#include <algorithm>
#include <cstdlib>
#include <random>

__constant__ uint3 threadIdx, blockIdx;
__constant__ dim3 blockDim, gridDim;

std::vector<simt_thread> simt_threads;
simt_thread *simt_self;
bool simt_in_kernel;
const simt_launch *simt_grid;

static enum { ASCENDING, DESCENDING, RANDOM } order;
static std::minstd_rand chance;
static std::vector<simt_thread *> ready; // the last one runs next
static size_t finished;                  // so many threads of the block have returned

//: simt-choose-order
static void choose_order(void)
{
    const char *choice = getenv("SIMT_ORDER");
    order = choice == nullptr || *choice == 'a' ? ASCENDING
            : *choice == 'd'                    ? DESCENDING
                                                : RANDOM;
    if (order == RANDOM)
        chance.seed(unsigned(strtoul(choice, nullptr, 10)));
}
// Makes those of count threads ready whose bit in mask is set; bit 32 is bit 0 again.
static void make_ready(int first, int count, unsigned mask)
{
    for (int i = 0; i < count; i++) {
        const int t = order == DESCENDING ? i : count - 1 - i;
        if (mask >> t % 32 & 1)
            ready.push_back(&simt_threads[size_t(first + t)]);
    }
}

//: simt-deadlock
static bool wait_together(const simt_thread &a, const simt_thread &b)
{
    const simt_wait &v = a.wait, &w = b.wait;
    return a.finished == b.finished && v.what == w.what && v.file == w.file &&
           v.line == w.line && v.mask == w.mask;
}

//: simt-deadlock-found
// No thread is ready, but some have not returned: says which threads wait where.
[[noreturn]] static void deadlock(void)
{
    std::string who;
    for (size_t i = 0, end; i < simt_threads.size(); i = end) {
        const simt_thread &t = simt_threads[i];
        for (end = i; end < simt_threads.size() && wait_together(t, simt_threads[end]);
             end++) {
        }
        char text[400];
        int n = snprintf(text, sizeof text, "\n  threads %zu..%zu ", i, end - 1);
        if (t.finished)
            snprintf(text + n, sizeof text - size_t(n), "have returned");
        else
            snprintf(text + n, sizeof text - size_t(n), "wait in %s(mask %08x) at %s:%d",
                     t.wait.what, t.wait.mask, t.wait.file, t.wait.line);
        who += text;
    }
    simt_self = nullptr; // it is no one thread's fault
    simt_die("deadlock%s", who.c_str());
}

//: simt-scheduler
static std::vector<simt_fiber *> idle; // fibers with no thread

static void run_threads(void);

// The fiber for a thread that starts: the current one if it is no longer needed.
static simt_fiber *fiber_to_start(bool current_is_free)
{
    if (current_is_free && simt_running != simt_host)
        return simt_running;
    if (idle.empty())
        return simt_new_fiber(run_threads);
    simt_fiber *fiber = idle.back();
    idle.pop_back();
    return fiber;
}

//: simt-run-next
// Leaves the current thread, which waits or has returned, for the next ready one; when all
// have returned, for the host's code.
static void run_next(void)
{
    const bool current_is_free = simt_self == nullptr || simt_self->finished;
    if (ready.empty()) {
        if (finished < simt_threads.size())
            deadlock();
        idle.push_back(simt_running);
        return simt_resume(simt_host);
    }
    if (order == RANDOM)
        std::swap(ready.back(), ready[chance() % ready.size()]);
    simt_self = ready.back();
    ready.pop_back();
    threadIdx = simt_self->index;
    if (simt_self->fiber == nullptr)
        simt_self->fiber = fiber_to_start(current_is_free);
    else if (current_is_free)
        idle.push_back(simt_running);
    if (simt_self->fiber != simt_running)
        simt_resume(simt_self->fiber);
}

//: simt-run-threads
// What every fiber does: runs the thread that was given to it, then any that needs a fiber.
static void run_threads(void)
{
    for (simt_arrived();; run_next()) {
        simt_in_kernel = true;
        simt_grid->call(simt_grid->kernel, simt_grid->arguments);
        simt_in_kernel = false;
        simt_self->finished = true;
        finished++;
    }
}

//: simt-exchange
// Those who will meet: count threads from the first on, less the lanes that mask leaves
// out.
struct party {
    int first, count;
    unsigned mask;
};
// How many have come to a meeting, and the first of them.
struct meeting {
    int arrived, first;
};
static meeting block_meeting,
    warp_meetings[SIMT_MAX_THREADS]; // a warp's by its lowest lane

//: simt-exchange-values
// Gives each lane of a warp what it asked for.
static void exchange(const party &p)
{
    uint64_t brought[32], ballot = 0;
    for (int i = 0; i < p.count; i++) {
        brought[i] = simt_threads[size_t(p.first + i)].value;
        if (p.mask >> i & 1 && brought[i] != 0)
            ballot |= uint64_t(1) << i;
    }
    for (int i = 0; i < p.count; i++) {
        simt_thread &t = simt_threads[size_t(p.first + i)];
        const simt_wait &w = t.wait;
        if (!(p.mask >> i & 1))
            continue;
        if (w.from >= 0 && !(p.mask >> w.from & 1))
            simt_die("%s at %s:%d: lane %d reads lane %d, which is not in mask %08x",
                     w.what, w.file, w.line, i, w.from, p.mask);
        t.value = w.from >= 0 ? brought[w.from] : ballot;
    }
}

//: simt-meeting
static party who_meets(const simt_wait &w, int thread, int threads)
{
    if (w.from == SIMT_BLOCK)
        return {0, threads, ~0u};
    const int lane = thread % 32, first = thread - lane,
              count = std::min(32, threads - first);
    if (!(w.mask >> lane & 1))
        simt_die("%s at %s:%d: lane %d is not in its own mask %08x", w.what, w.file, w.line,
                 lane, w.mask);
    return {first, count, count < 32 ? w.mask & ((1u << count) - 1) : w.mask};
}
static void expect_together(const simt_wait &w, int first)
{
    const simt_wait &v = simt_threads[size_t(first)].wait;
    if (!wait_together(*simt_self, simt_threads[size_t(first)]))
        simt_die("%s(mask %08x) at %s:%d, while thread %d waits in %s(mask %08x) at %s:%d",
                 w.what, w.mask, w.file, w.line, first, v.what, v.mask, v.file, v.line);
}

//: simt-open-meeting
// The last to come wakes the others.  Only __syncthreads and __syncwarp order memory; a
// shuffle or a ballot does not, says the programming guide.
static void open_meeting(const party &p, int from)
{
    if (from >= SIMT_BALLOT)
        exchange(p);
    else if (simt_race_met != nullptr)
        simt_race_met(p.first, p.count, p.mask);
    make_ready(p.first, p.count, p.mask);
}

//: simt-meet-body
uint64_t simt_meet(const char *what, unsigned mask, int from, uint64_t value,
                   const char *file, int line) noexcept
{
    simt_in_kernel = false;
    simt_thread *me = simt_self;
    const int thread = int(me - simt_threads.data()), threads = int(simt_threads.size());
    me->wait = {what, file, line, mask, from};
    me->value = value;
    const party p = who_meets(me->wait, thread, threads);
    meeting &m =
        from == SIMT_BLOCK ? block_meeting : warp_meetings[p.first + __builtin_ctz(mask)];
    if (m.arrived++ == 0)
        m.first = thread;
    expect_together(me->wait, m.first);
    if (m.arrived == (from == SIMT_BLOCK ? threads : __builtin_popcount(p.mask))) {
        m.arrived = 0;
        open_meeting(p, from);
    }
    run_next(); // comes back when all have come
    me->wait = {};
    simt_in_kernel = true;
    return me->value;
}

//: simt-block
static char *shared_memory;

void *simt_dynamic_shared(void)
{
    return shared_memory;
}
// The dynamic shared memory is allocated anew for each block, so that the address sanitizer
// knows where it ends.
static void run_block(bool first_of_launch, const std::vector<uint3> &inside)
{
    finished = 0;
    for (size_t i = 0; i < inside.size(); i++)
        simt_threads[i] = {inside[i], nullptr, false, {}, 0};
    shared_memory = static_cast<char *>(malloc(simt_grid->shared));
    if (simt_grid->shared > 0)
        memset(shared_memory, 0xff, simt_grid->shared);
    if (simt_race_block != nullptr)
        simt_race_block(first_of_launch, shared_memory, simt_grid->shared);
    make_ready(0, int(inside.size()), ~0u);
    run_next();
    simt_self = nullptr;
    free(shared_memory);
}

//: simt-grid
static std::vector<uint3> indices(dim3 n)
{
    std::vector<uint3> all;
    for (unsigned z = 0; z < n.z; z++)
        for (unsigned y = 0; y < n.y; y++)
            for (unsigned x = 0; x < n.x; x++)
                all.push_back({x, y, z});
    return all;
}

//: simt-run
void simt_run(const simt_launch *launch)
{
    simt_grid = launch;
    gridDim = launch->grid;
    blockDim = launch->block;
    choose_order();
    std::vector<uint3> blocks = indices(gridDim);
    const std::vector<uint3> inside = indices(blockDim);
    if (order == DESCENDING)
        std::reverse(blocks.begin(), blocks.end());
    if (order == RANDOM)
        std::shuffle(blocks.begin(), blocks.end(), chance);
    simt_threads.resize(inside.size());
    for (size_t i = 0; i < blocks.size(); i++) {
        blockIdx = blocks[i];
        run_block(i == 0, inside);
    }
    simt_grid = nullptr;
}
