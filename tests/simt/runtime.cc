//: simt-state
// CUDA's runtime on a CPU: memory, streams, events and graphs.  Work on a stream is put in
// the stream's queue and done when the host waits for it, as late as CUDA allows: a host
// that forgets to wait finds the old contents.  A graph is a queue that is kept.

#include "simt.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>

// One thing to do, and the pinned memory, if any, that it fills for the host.
struct work {
    std::function<void()> run;
    const void *fills;
    size_t size;
};

//: simt-streams-state
using moment = std::chrono::steady_clock::time_point;
struct CUgraph_st {
    std::vector<work> nodes;
    bool broken; // something was called that a capture cannot hold
};
struct CUgraphExec_st {
    std::vector<work> nodes;
};
struct CUstream_st {
    std::deque<work> queue;
    size_t issued, finished;
    bool blocking;       // the null stream waits for it, and it for the null stream
    CUgraph_st *capture; // where its work goes instead
};
struct CUevent_st { // has happened when its stream has finished as much as was issued
    CUstream_st *stream;
    size_t issued;
    CUgraph_st *capture;
    std::shared_ptr<moment> time;
};
static CUstream_st null_stream = {{}, 0, 0, true, nullptr};
static std::vector<CUstream_st *> streams = {&null_stream};
static cudaError_t last_error;

//: simt-errors
cudaError_t simt_fail(cudaError_t error)
{
    last_error = error;
    return error;
}
cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}
cudaError_t cudaGetLastError(void)
{
    return std::exchange(last_error, cudaSuccess);
}

//: simt-error-texts
static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ERROR(name, text) \
    {                     \
        name, #name, text \
    }
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorStreamCaptureUnsupported,
          "operation not permitted when stream is capturing"),
    ERROR(cudaErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during capture"),
    ERROR(cudaErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
#undef ERROR
};
const char *cudaGetErrorName(cudaError_t error)
{
    for (const auto &e : errors)
        if (e.error == error)
            return e.name;
    return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t error)
{
    for (const auto &e : errors)
        if (e.error == error)
            return e.text;
    return "unrecognized error code";
}

//: simt-hiding
struct allocation {
    size_t size;
    bool device;
};
static std::map<uintptr_t, allocation> allocations;

// The address sanitizer then reports the host's code when it touches these bytes.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
static void hide(const void *p, size_t size, bool hidden)
{
    if (hidden)
        __asan_poison_memory_region(p, size);
    else
        __asan_unpoison_memory_region(p, size);
}
#else
static void hide(const void *, size_t, bool) {}
#endif

//: simt-notes
static void note(const void *p, size_t size, bool initialized)
{
    if (simt_race_memory != nullptr)
        simt_race_memory(p, size, initialized);
}
// The host's code may not touch device memory, nor pinned memory that a stream will fill.
static void hide_from_host(bool hidden)
{
    for (const auto &a : allocations)
        if (a.second.device || !hidden)
            hide(reinterpret_cast<void *>(a.first), a.second.size, hidden);
    if (!hidden)
        return;
    for (const CUstream_st *s : streams)
        for (const work &w : s->queue)
            hide(w.fills, w.size, true);
}

//: simt-queues
// Does what was issued to the stream, up to a number of things.
static void progress(CUstream_st *s, size_t until)
{
    static int depth; // an event that a stream waits for makes another stream progress
    if (s->finished >= until)
        return;
    if (depth++ == 0)
        hide_from_host(false);
    while (s->finished < until) {
        const work w = std::move(s->queue.front());
        s->queue.pop_front();
        w.run();
        s->finished++;
    }
    if (--depth == 0)
        hide_from_host(true);
}

//: simt-waiting
// What cannot be captured ends every capture that is going on.
static cudaError_t break_captures(cudaError_t error)
{
    for (CUstream_st *s : streams)
        if (s->capture != nullptr)
            s->capture->broken = true;
    return simt_fail(error);
}
static cudaError_t wait_for(CUstream_st *s)
{
    if (s->capture != nullptr)
        return break_captures(cudaErrorStreamCaptureUnsupported);
    progress(s, s->issued);
    return cudaSuccess;
}
static bool capturing(void)
{
    return std::any_of(streams.begin(), streams.end(),
                       [](const CUstream_st *s) { return s->capture != nullptr; });
}

//: simt-wait-for-all
static cudaError_t wait_for_all(void)
{
    if (capturing())
        return break_captures(cudaErrorStreamCaptureUnsupported);
    for (CUstream_st *s : streams)
        progress(s, s->issued);
    return cudaSuccess;
}

//: simt-issue
// Work on the null stream waits for the blocking streams, and is done at once.
static cudaError_t issue_to_null(const work &w)
{
    for (CUstream_st *s : streams)
        if (s->blocking && s->capture != nullptr)
            return break_captures(cudaErrorStreamCaptureImplicit);
    for (CUstream_st *s : streams)
        if (s->blocking)
            progress(s, s->issued);
    null_stream.queue.push_back(w);
    progress(&null_stream, ++null_stream.issued);
    return cudaSuccess;
}

//: simt-issue-stream
static cudaError_t issue(CUstream_st *s, const work &w)
{
    if (s == nullptr)
        return issue_to_null(w);
    if (s->capture != nullptr) {
        s->capture->nodes.push_back(w);
        return cudaSuccess;
    }
    hide(w.fills, w.size, true);
    s->queue.push_back(w);
    s->issued++;
    return cudaSuccess;
}

//: simt-launches
cudaError_t simt_issue_launch(const simt_launch *launch, CUstream_st *stream)
{
    const dim3 g = launch->grid, b = launch->block;
    const size_t threads = size_t(b.x) * b.y * b.z;
    // Too large a block is an invalid value to cudaLaunchKernelEx, as an H200 answers.
    if (threads > SIMT_MAX_THREADS || launch->shared > 48 << 10)
        return simt_fail(cudaErrorInvalidValue);
    if (threads == 0 || b.z > 64 || g.x == 0 || g.x >> 31 != 0 || g.y == 0 || g.y > 65535 ||
        g.z == 0 || g.z > 65535)
        return simt_fail(cudaErrorInvalidConfiguration);
    return issue(stream, {[l = *launch] { simt_run(&l); }, nullptr, 0});
}

//: simt-allocate
static size_t used; // bytes of device memory

static size_t device_memory(void)
{
    const char *text = getenv("SIMT_MEMORY");
    return text == nullptr ? size_t(24) << 30 : strtoull(text, nullptr, 10);
}
// Is this the allocation that SIMT_FAIL_MALLOC counts to?
static bool shall_fail(void)
{
    static std::string last;
    static long count;
    const char *text = getenv("SIMT_FAIL_MALLOC");
    if (text == nullptr)
        text = "";
    if (last != text) {
        last = text;
        count = 0;
    }
    return ++count == strtol(text, nullptr, 10);
}

//: simt-allocate-filled
// Aligned as cudaMalloc aligns, and filled with ones: NaN as a float and as a half, -1 as
// an integer.  The host may write pinned memory unseen, so it counts as initialized.
static cudaError_t allocate(void **p, size_t size, bool device)
{
    *p = nullptr;
    if (capturing())
        return break_captures(cudaErrorStreamCaptureUnsupported);
    if (shall_fail() || (device && size > device_memory() - used))
        return simt_fail(cudaErrorMemoryAllocation);
    if (size == 0)
        return cudaSuccess;
    if (posix_memalign(p, 256, size) != 0)
        return simt_fail(cudaErrorMemoryAllocation);
    memset(*p, 0xff, size);
    used += device ? size : 0;
    allocations[reinterpret_cast<uintptr_t>(*p)] = {size, device};
    note(*p, size, !device);
    if (device)
        hide(*p, size, true);
    return cudaSuccess;
}

//: simt-release
static cudaError_t release(void *p, bool device)
{
    if (p == nullptr)
        return cudaSuccess;
    if (const cudaError_t error = wait_for_all(); error != cudaSuccess)
        return error;
    const auto a = allocations.find(reinterpret_cast<uintptr_t>(p));
    if (a == allocations.end() || a->second.device != device)
        return simt_fail(cudaErrorInvalidValue);
    hide(p, a->second.size, false);
    used -= device ? a->second.size : 0;
    allocations.erase(a);
    free(p);
    return cudaSuccess;
}

//: simt-allocation
cudaError_t simt_malloc(void **p, size_t size)
{
    return allocate(p, size, true);
}
cudaError_t simt_host_alloc(void **p, size_t size)
{
    return allocate(p, size, false);
}
cudaError_t cudaFree(void *p)
{
    return release(p, true);
}
cudaError_t cudaFreeHost(void *p)
{
    return release(p, false);
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *total = device_memory();
    *free = *total - used;
    return cudaSuccess;
}
simt_place simt_where(const void *p, size_t size)
{
    auto a = allocations.upper_bound(reinterpret_cast<uintptr_t>(p));
    if (a == allocations.begin())
        return SIMT_PAGEABLE;
    --a;
    const size_t offset = reinterpret_cast<uintptr_t>(p) - a->first;
    if (offset >= a->second.size)
        return SIMT_PAGEABLE;
    if (size > a->second.size - offset)
        return SIMT_OUTSIDE;
    return a->second.device ? SIMT_DEVICE : SIMT_PINNED;
}

//: simt-copies
static bool may_copy(simt_place to, simt_place from, cudaMemcpyKind kind)
{
    if (to == SIMT_OUTSIDE || from == SIMT_OUTSIDE)
        return false;
    const bool to_device =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return kind == cudaMemcpyDefault ||
           (to_device == (to == SIMT_DEVICE) && from_device == (from == SIMT_DEVICE));
}

//: simt-copy
// Pageable memory is read before the call returns, or written; pinned memory is not.
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            CUstream_st *stream)
{
    if (size == 0)
        return cudaSuccess;
    const simt_place target = simt_where(to, size), source = simt_where(from, size);
    if (!may_copy(target, source, kind))
        return simt_fail(cudaErrorInvalidValue);
    const bool queued = stream != nullptr && stream->capture == nullptr;
    std::shared_ptr<char[]> staged;
    if (queued && source == SIMT_PAGEABLE) {
        staged.reset(new char[size]);
        from = memcpy(staged.get(), from, size);
    }
    const bool pinned = target == SIMT_PINNED;
    const auto copy = [to, from, size, staged] {
        memcpy(to, from, size);
        note(to, size, true);
    };
    const cudaError_t error =
        issue(stream, {copy, pinned ? to : nullptr, pinned ? size : 0});
    return queued && target == SIMT_PAGEABLE ? wait_for(stream) : error;
}

//: simt-fill
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, size, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void *p, int byte, size_t size, CUstream_st *stream)
{
    if (size == 0)
        return cudaSuccess;
    if (simt_where(p, size) != SIMT_DEVICE)
        return simt_fail(cudaErrorInvalidValue);
    const auto set = [=] {
        memset(p, byte, size);
        note(p, size, true);
    };
    return issue(stream, {set, nullptr, 0});
}
cudaError_t cudaMemset(void *p, int byte, size_t size)
{
    return cudaMemsetAsync(p, byte, size, nullptr);
}

//: simt-streams
static CUstream_st *stream_of(CUstream_st *s)
{
    return s == nullptr ? &null_stream : s;
}
cudaError_t cudaDeviceSynchronize(void)
{
    return wait_for_all();
}
cudaError_t cudaStreamSynchronize(CUstream_st *s)
{
    return wait_for(stream_of(s));
}
cudaError_t cudaStreamQuery(CUstream_st *s)
{
    s = stream_of(s);
    return s->finished < s->issued ? cudaErrorNotReady : cudaSuccess;
}

//: simt-new-streams
cudaError_t cudaStreamCreateWithFlags(CUstream_st **s, unsigned flags)
{
    *s = new CUstream_st{{}, 0, 0, flags != cudaStreamNonBlocking, nullptr};
    streams.push_back(*s);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(CUstream_st **s)
{
    return cudaStreamCreateWithFlags(s, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(CUstream_st *s)
{
    const auto at = std::find(streams.begin() + 1, streams.end(), s);
    if (at == streams.end())
        return simt_fail(cudaErrorInvalidResourceHandle);
    if (const cudaError_t error = wait_for(s); error != cudaSuccess)
        return error;
    streams.erase(at);
    delete s;
    return cudaSuccess;
}

//: simt-events
cudaError_t cudaEventCreateWithFlags(CUevent_st **e, unsigned)
{
    *e = new CUevent_st{nullptr, 0, nullptr, nullptr};
    return cudaSuccess;
}
cudaError_t cudaEventCreate(CUevent_st **e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}
cudaError_t cudaEventDestroy(CUevent_st *e)
{
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(CUevent_st *e, CUstream_st *s)
{
    s = stream_of(s);
    *e = {nullptr, 0, s->capture, nullptr};
    if (s->capture != nullptr)
        return cudaSuccess;
    const auto time = std::make_shared<moment>();
    const auto record = [time] { *time = std::chrono::steady_clock::now(); };
    const cudaError_t error = issue(s == &null_stream ? nullptr : s, {record, nullptr, 0});
    *e = {s, s->issued, nullptr, time};
    return error;
}
cudaError_t cudaEventQuery(CUevent_st *e)
{
    const bool pending = e->stream != nullptr && e->stream->finished < e->issued;
    return pending ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventSynchronize(CUevent_st *e)
{
    if (e->capture != nullptr)
        return break_captures(cudaErrorStreamCaptureUnsupported);
    if (e->stream != nullptr)
        progress(e->stream, e->issued);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, CUevent_st *begin, CUevent_st *end)
{
    if (begin->time == nullptr || end->time == nullptr)
        return simt_fail(cudaErrorInvalidResourceHandle);
    if (cudaEventQuery(begin) != cudaSuccess || cudaEventQuery(end) != cudaSuccess)
        return simt_fail(cudaErrorNotReady);
    *milliseconds =
        std::chrono::duration<float, std::milli>(*end->time - *begin->time).count();
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(CUstream_st *s, CUevent_st *e, unsigned)
{
    if (e->capture != nullptr) {
        s->capture = e->capture; // s joins the capture
        return cudaSuccess;
    }
    if (e->stream == nullptr)
        return cudaSuccess;
    return issue(s, {[from = e->stream, n = e->issued] { progress(from, n); }, nullptr, 0});
}

//: simt-graphs
cudaError_t cudaStreamBeginCapture(CUstream_st *s, cudaStreamCaptureMode)
{
    if (s == nullptr || s->capture != nullptr)
        return simt_fail(cudaErrorStreamCaptureUnsupported);
    s->capture = new CUgraph_st{{}, false};
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(CUstream_st *s, CUgraph_st **graph)
{
    *graph = s == nullptr ? nullptr : s->capture;
    if (*graph == nullptr)
        return simt_fail(cudaErrorInvalidValue);
    for (CUstream_st *other : streams)
        if (other->capture == *graph)
            other->capture = nullptr;
    if (!(*graph)->broken)
        return cudaSuccess;
    delete std::exchange(*graph, nullptr);
    return simt_fail(cudaErrorStreamCaptureInvalidated);
}

//: simt-graph-launch
cudaError_t cudaGraphInstantiate(CUgraphExec_st **exec, CUgraph_st *graph,
                                 unsigned long long)
{
    *exec = new CUgraphExec_st{graph->nodes};
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(CUgraphExec_st *exec, CUstream_st *stream)
{
    for (const work &w : exec->nodes)
        if (const cudaError_t error = issue(stream, w); error != cudaSuccess)
            return error;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(CUgraph_st *graph)
{
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(CUgraphExec_st *exec)
{
    delete exec;
    return cudaSuccess;
}
