//: simt-api-types
// The functions of CUDA's runtime that we use; runtime.cc and device.cc have their bodies.
// Device memory is memory of the process, filled with NaNs.  Work on a stream waits in a
// queue until the host synchronizes, so that a forgotten synchronization shows.

#ifndef LANEWISE_SIMT_API_H
#define LANEWISE_SIMT_API_H

#include <cstddef>
#include <new>
#include <tuple>
#include <utility>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureImplicit = 906
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum { cudaHostAllocDefault = 0 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
using cudaStream_t = struct CUstream_st *;
using cudaEvent_t = struct CUevent_st *;
using cudaGraph_t = struct CUgraph_st *;
using cudaGraphExec_t = struct CUgraphExec_st *;

//: simt-api-device
// The emulated device is an RTX 4090 with as much memory as SIMT_MEMORY says, in bytes, and
// the compute capability that SIMT_CAPABILITY says, 8.9 by default; "none": no device.
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor,
        reservedSharedMemPerBlock;
    int major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock,
        maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, regsPerBlock,
        regsPerMultiprocessor, l2CacheSize, memoryBusWidth;
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13, // kHz
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMemoryClockRate = 36,      // kHz
    cudaDevAttrGlobalMemoryBusWidth = 37, // bits
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrReservedSharedMemoryPerBlock = 111
};
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

//: simt-api-memory
// SIMT_FAIL_MALLOC=N makes the Nth allocation fail, counted over both kinds of memory from
// the moment when the variable last changed.
cudaError_t simt_malloc(void **p, size_t size);
cudaError_t simt_host_alloc(void **p, size_t size);
template <class T> cudaError_t cudaMalloc(T **p, size_t size)
{
    return simt_malloc(reinterpret_cast<void **>(p), size);
}
template <class T> cudaError_t cudaHostAlloc(T **p, size_t size, unsigned)
{
    return simt_host_alloc(reinterpret_cast<void **>(p), size);
}
template <class T> cudaError_t cudaMallocHost(T **p, size_t size)
{
    return simt_host_alloc(reinterpret_cast<void **>(p), size);
}
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemsetAsync(void *p, int byte, size_t size, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *p, int byte, size_t size);

//: simt-api-streams
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

//: simt-api-functions
// Registers and shared memory as nvcc compiled the kernel for the real device: see
// device.cc.
struct cudaFuncAttributes {
    size_t sharedSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs;
};
cudaError_t simt_function_attributes(cudaFuncAttributes *attributes, const void *kernel);
cudaError_t simt_occupancy(int *blocks, const void *kernel, int threads, size_t shared);
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, F *kernel)
{
    return simt_function_attributes(attributes, reinterpret_cast<const void *>(kernel));
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *kernel,
                                                          int threads, size_t shared)
{
    return simt_occupancy(blocks, reinterpret_cast<const void *>(kernel), threads, shared);
}

//: simt-api-launch
// A launch carries a copy of the kernel's arguments, as in CUDA, and a function that knows
// their types and calls the kernel with them, once for each thread.
struct simt_launch {
    const void *kernel;
    void (*call)(const void *kernel, const void *arguments);
    dim3 grid, block;
    size_t shared; // bytes of dynamic shared memory
    alignas(16) unsigned char arguments[1024];
};
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
cudaError_t simt_issue_launch(const simt_launch *launch, cudaStream_t stream);

//: simt-api-call
template <class... P> void simt_call(const void *kernel, const void *arguments)
{
    std::apply(reinterpret_cast<void (*)(P...)>(const_cast<void *>(kernel)),
               *static_cast<const std::tuple<P...> *>(arguments));
}
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                               A &&...arguments)
{
    static_assert((std::is_trivially_copyable_v<P> && ...));
    simt_launch launch = {};
    static_assert(sizeof(std::tuple<P...>) <= sizeof launch.arguments);
    launch.kernel = reinterpret_cast<const void *>(kernel);
    launch.call = simt_call<P...>;
    launch.grid = config->gridDim;
    launch.block = config->blockDim;
    launch.shared = config->dynamicSmemBytes;
    new (launch.arguments) std::tuple<P...>(std::forward<A>(arguments)...);
    return simt_issue_launch(&launch, config->stream);
}

#endif
