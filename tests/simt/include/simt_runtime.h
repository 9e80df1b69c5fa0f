// simt_runtime.h -- the CUDA runtime API on a CPU. Device memory is malloc'ed and filled with
// NaNs. Work on a stream waits in a queue until the host synchronises, so that a forgotten
// synchronisation shows; a captured graph is such a queue, kept.
#pragma once
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

enum cudaError_t {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9, cudaErrorInvalidDevice = 101,
  cudaErrorStreamCaptureUnsupported = 900
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                      cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                             cudaStreamCaptureModeRelaxed };
enum { cudaHostAllocDefault = 0, cudaStreamDefault = 0, cudaStreamNonBlocking = 1,
       cudaEventDefault = 0, cudaEventDisableTiming = 2 };
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int major, minor, multiProcessorCount, maxThreadsPerBlock, maxThreadsPerMultiProcessor, warpSize,
      l2CacheSize;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs;
};

struct CUstream_st;  // the runtime's own name for a stream, so that C headers can declare it
namespace simt {
using Stream = ::CUstream_st;
using Work = std::function<void()>;
struct Graph { std::vector<Work> nodes; };
}  // namespace simt
struct CUstream_st {
  std::deque<simt::Work> queue;
  size_t issued = 0, finished = 0;
  simt::Graph* capture = nullptr;
};
namespace simt {
struct Event {  // has happened when its stream has finished as much as was issued
  Stream* stream = nullptr;
  size_t issued = 0;
  Graph* capture = nullptr;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
};
struct Memory { size_t size; bool device; };
inline std::map<uintptr_t, Memory> memory;  // what cudaMalloc and cudaHostAlloc gave out
inline std::set<Stream*> streams;
inline Stream null_stream;
inline cudaError_t last_error = cudaSuccess;

// In simt.cc: run a grid now; hide device memory from the host's code, if ASan is there; and tell
// the checker, if it is linked in, about memory.
struct Launch {
  const void* kernel;
  void (*call)(const void* kernel, const void* args);
  std::shared_ptr<void> args;
  dim3 grid, block;
  size_t shared;
};
void run(const Launch&);
void hide(const void*, size_t, bool hidden);
void note(const void*, size_t, bool initialised);

inline cudaError_t fail(cudaError_t e) { return last_error = e; }
inline void hide_all(bool hidden) {
  for (auto& [p, m] : memory) if (m.device) hide((void*)p, m.size, hidden);
}
inline void progress(Stream* s, size_t until) {
  static int depth = 0;  // waiting for an event nests
  if (depth++ == 0) hide_all(false);
  while (s->finished < until) {
    const Work work = std::move(s->queue.front());
    s->queue.pop_front();
    work();
    s->finished++;
  }
  if (--depth == 0) hide_all(true);
}
inline cudaError_t wait(Stream* s) {
  if (s->capture) return fail(cudaErrorStreamCaptureUnsupported);
  progress(s, s->issued);
  return cudaSuccess;
}
inline cudaError_t wait_for_all() {
  for (Stream* s : streams) if (cudaError_t e = wait(s)) return e;
  return wait(&null_stream);
}
inline cudaError_t issue(Stream* s, Work work) {
  if (s && s->capture) return s->capture->nodes.push_back(std::move(work)), cudaSuccess;
  if (!s) if (cudaError_t e = wait_for_all()) return e;
  Stream* to = s ? s : &null_stream;
  to->queue.push_back(std::move(work));
  to->issued++;
  return s ? cudaSuccess : wait(to);
}
inline cudaError_t allocate(void** p, size_t n, bool device) {
  *p = n ? std::malloc(n) : nullptr;
  if (!*p) return n ? fail(cudaErrorMemoryAllocation) : cudaSuccess;
  std::memset(*p, 0xff, n);  // NaN as float, as half; -1 as an integer
  memory[(uintptr_t)*p] = {n, device};
  note(*p, n, !device);  // the host may write pinned memory unseen
  if (device) hide(*p, n, true);
  return cudaSuccess;
}
inline cudaError_t release(void* p, bool device) {
  if (!p) return cudaSuccess;
  if (cudaError_t e = wait_for_all()) return e;
  auto m = memory.find((uintptr_t)p);
  if (m == memory.end() || m->second.device != device) return fail(cudaErrorInvalidValue);
  hide(p, m->second.size, false);
  memory.erase(m);
  std::free(p);
  return cudaSuccess;
}
enum Place { Pageable, Pinned, Device, Outside };
inline Place place(const void* p, size_t n) {
  auto m = memory.upper_bound((uintptr_t)p);
  if (m == memory.begin()) return Pageable;
  --m;
  const size_t size = m->second.size, offset = (uintptr_t)p - m->first;
  return offset >= size ? Pageable : n > size - offset ? Outside : m->second.device ? Device : Pinned;
}
// Calls a kernel with copies of its arguments, as CUDA does. The checker must not see it.
template <class... P, size_t... I>
__attribute__((no_sanitize("thread"))) void unpack(void (*kernel)(P...), const std::tuple<P...>& args,
                                                   std::index_sequence<I...>) {
  kernel(std::get<I>(args)...);
}
template <class... P>
__attribute__((no_sanitize("thread"))) void call(const void* kernel, const void* args) {
  unpack((void (*)(P...))kernel, *(const std::tuple<P...>*)args, std::index_sequence_for<P...>());
}
}  // namespace simt

using cudaStream_t = CUstream_st*;
using cudaEvent_t = simt::Event*;
using cudaGraph_t = simt::Graph*;
using cudaGraphExec_t = simt::Graph*;
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*kernel)(P...), A&&... args) {
  const dim3 g = c->gridDim, b = c->blockDim;
  const size_t threads = size_t(b.x) * b.y * b.z;
  if (!threads || threads > 1024 || b.z > 64 || !g.x || g.x >> 31 || !g.y || g.y > 65535 || !g.z ||
      g.z > 65535)
    return simt::fail(cudaErrorInvalidConfiguration);
  if (c->dynamicSmemBytes > 48 << 10) return simt::fail(cudaErrorInvalidValue);
  auto copies = std::make_shared<std::tuple<P...>>(std::forward<A>(args)...);
  const simt::Launch launch = {(void*)kernel, simt::call<P...>, copies, g, b, c->dynamicSmemBytes};
  return simt::issue(c->stream, [launch] { simt::run(launch); });
}

// ---- Errors and the device
inline cudaError_t cudaPeekAtLastError() { return simt::last_error; }
inline cudaError_t cudaGetLastError() { return std::exchange(simt::last_error, cudaSuccess); }
inline const char* cudaGetErrorString(cudaError_t e) {
  return e == cudaSuccess ? "no error" : e == cudaErrorInvalidValue ? "invalid argument"
       : e == cudaErrorMemoryAllocation ? "out of memory"
       : e == cudaErrorInvalidConfiguration ? "invalid configuration argument"
       : e == cudaErrorInvalidDevice ? "invalid device ordinal"
       : "operation not permitted when stream is capturing";
}
inline cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
inline cudaError_t cudaSetDevice(int d) { return d ? simt::fail(cudaErrorInvalidDevice) : cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int d) {
  *p = {"CPU (simt)", size_t(8) << 30, 48 << 10, 8, 9, 2, 1024, 1536, 32, 1 << 20};
  return cudaSetDevice(d);
}
template <class F> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, F*) {
  return *a = {0, 0, 0, 1024, 32}, cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, F*, int block, size_t) {
  return *n = std::min(24, 1536 / block), cudaSuccess;
}

// ---- Memory
template <class T> cudaError_t cudaMalloc(T** p, size_t n) { return simt::allocate((void**)p, n, true); }
template <class T> cudaError_t cudaHostAlloc(T** p, size_t n, unsigned) { return simt::allocate((void**)p, n, false); }
inline cudaError_t cudaFree(void* p) { return simt::release(p, true); }
inline cudaError_t cudaFreeHost(void* p) { return simt::release(p, false); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind,
                                   cudaStream_t s = nullptr) {
  const simt::Place t = simt::place(to, n), f = simt::place(from, n);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool matches = to_device == (t == simt::Device) && from_device == (f == simt::Device);
  if (t == simt::Outside || f == simt::Outside || (kind != cudaMemcpyDefault && !matches))
    return simt::fail(cudaErrorInvalidValue);
  const bool now = s && !s->capture;
  std::shared_ptr<char[]> staged;  // CUDA has read pageable memory before it returns
  if (now && f == simt::Pageable) staged.reset(new char[n]), from = std::memcpy(staged.get(), from, n);
  const cudaError_t e = simt::issue(s, [to, from, n, staged] {
    std::memcpy(to, from, n);
    simt::note(to, n, true);
  });
  return now && t == simt::Pageable ? simt::wait(s) : e;  // and has written it
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, n, kind);
}
inline cudaError_t cudaMemsetAsync(void* p, int byte, size_t n, cudaStream_t s = nullptr) {
  if (simt::place(p, n) != simt::Device) return simt::fail(cudaErrorInvalidValue);
  return simt::issue(s, [=] { std::memset(p, byte, n); simt::note(p, n, true); });
}
inline cudaError_t cudaMemset(void* p, int byte, size_t n) { return cudaMemsetAsync(p, byte, n); }

// ---- Streams and events
inline cudaError_t cudaDeviceSynchronize() { return simt::wait_for_all(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t s) { return s ? simt::wait(s) : simt::wait_for_all(); }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  return simt::streams.insert(*s = new simt::Stream), cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithFlags(s, 0); }
inline cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (cudaError_t e = simt::wait(s)) return e;
  simt::streams.erase(s);
  return delete s, cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return *e = new simt::Event, cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
inline cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr) {
  if ((e->capture = s ? s->capture : nullptr)) return cudaSuccess;
  e->time = std::make_shared<std::chrono::steady_clock::time_point>();
  const cudaError_t error = simt::issue(s, [t = e->time] { *t = std::chrono::steady_clock::now(); });
  e->stream = s ? s : &simt::null_stream;
  e->issued = e->stream->issued;
  return error;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (e->stream) simt::progress(e->stream, e->issued);
  return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  return *ms = std::chrono::duration<float, std::milli>(*b->time - *a->time).count(), cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0) {
  if (e->capture) return s->capture = e->capture, cudaSuccess;  // s joins the capture
  if (!e->stream) return cudaSuccess;
  return simt::issue(s, [from = e->stream, n = e->issued] { simt::progress(from, n); });
}

// ---- Graphs
inline cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  if (!s || s->capture) return simt::fail(cudaErrorStreamCaptureUnsupported);
  return s->capture = new simt::Graph, cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  if (!(*g = s->capture)) return simt::fail(cudaErrorInvalidValue);
  for (simt::Stream* t : simt::streams) if (t->capture == *g) t->capture = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* x, cudaGraph_t g, unsigned long long = 0) {
  return *x = new simt::Graph(*g), cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s) {
  for (const simt::Work& work : x->nodes) if (cudaError_t e = simt::issue(s, work)) return e;
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t g) { return delete g, cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x) { return delete x, cudaSuccess; }
