// The emulation's runtime: what our backend relies on, and what CUDA promises of it.
// Compiled by nvcc and run on a GPU, the tests of "core" say whether CUDA keeps the same
// promises.
#include "cuda/device.h"

//: api-kernels
namespace
{
__global__ void add_kernel(float *x, float y)
{
    x[threadIdx.x] += y;
}
__global__ void multiply_kernel(float *x, float y)
{
    x[threadIdx.x] *= y;
}
} // namespace

static void start(cudaStream_t stream, void (*kernel)(float *, float), float *x, float y)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = stream;
    CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, x, y));
}
static cudaStream_t new_stream(void)
{
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
static const std::vector<float> ones(32, 1.0f);

//: api-core
START_TEST(work_on_a_stream_keeps_its_order)
{
    cudaStream_t stream = new_stream();
    device_array<float> x(ones);
    start(stream, add_kernel, x.data, 2);
    start(stream, multiply_kernel, x.data, 5);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    ck_assert(x.read() == std::vector<float>(32, 15.0f));
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(event_makes_another_stream_wait)
{
    cudaStream_t first = new_stream(), second = new_stream();
    cudaEvent_t done;
    CHECK_CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    device_array<float> x(ones);
    start(first, add_kernel, x.data, 2);
    CHECK_CUDA(cudaEventRecord(done, first));
    CHECK_CUDA(cudaStreamWaitEvent(second, done, 0));
    start(second, multiply_kernel, x.data, 5);
    CHECK_CUDA(cudaStreamSynchronize(second));
    CHECK_CUDA(cudaEventQuery(done));
    ck_assert(x.read() == std::vector<float>(32, 15.0f));
    CHECK_CUDA(cudaEventDestroy(done));
    CHECK_CUDA(cudaStreamDestroy(first));
    CHECK_CUDA(cudaStreamDestroy(second));
}
END_TEST

START_TEST(events_measure_time)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t begin, end;
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
    device_array<float> x(ones);
    float milliseconds = -1;
    ck_assert(cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess);
    CHECK_CUDA(cudaEventRecord(begin, stream));
    start(stream, add_kernel, x.data, 2);
    CHECK_CUDA(cudaEventRecord(end, stream));
    CHECK_CUDA(cudaEventSynchronize(end));
    cudaGetLastError(); // the failure above
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    ck_assert(milliseconds > 0 && milliseconds < 1e5f);
    CHECK_CUDA(cudaEventDestroy(begin));
    CHECK_CUDA(cudaEventDestroy(end));
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(graph_is_captured_without_running_and_can_be_replayed)
{
    cudaStream_t stream = new_stream();
    device_array<float> x(ones);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    start(stream, add_kernel, x.data, 2);
    start(stream, multiply_kernel, x.data, 5);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    ck_assert(x.read() == ones);
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaGraphLaunch(exec, stream));
    CHECK_CUDA(cudaGraphLaunch(exec, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    ck_assert(x.read() == std::vector<float>(32, 85.0f));
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(capture_broken_by_a_synchronization_says_so)
{
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ck_assert_int_eq(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph),
                     cudaErrorStreamCaptureInvalidated);
    ck_assert_ptr_null(graph);
    cudaGetLastError();
    CHECK_CUDA(cudaStreamSynchronize(stream)); // it is a stream again
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(copies_and_fills_reach_what_they_name)
{
    cudaStream_t stream = new_stream();
    float *pinned;
    CHECK_CUDA(cudaHostAlloc(&pinned, 32 * sizeof(float), cudaHostAllocDefault));
    for (int i = 0; i < 32; i++)
        pinned[i] = static_cast<float>(i);
    device_array<float> x(32), y(32);
    CHECK_CUDA(cudaMemcpyAsync(x.data, pinned, 32 * sizeof(float), cudaMemcpyHostToDevice,
                               stream));
    CHECK_CUDA(cudaMemsetAsync(x.data + 16, 0, 8 * sizeof(float), stream));
    CHECK_CUDA(cudaMemcpyAsync(y.data, x.data, 32 * sizeof(float), cudaMemcpyDeviceToDevice,
                               stream));
    CHECK_CUDA(cudaMemcpyAsync(pinned, y.data, 32 * sizeof(float), cudaMemcpyDeviceToHost,
                               stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < 32; i++)
        ck_assert(pinned[i] == (i >= 16 && i < 24 ? 0.0f : static_cast<float>(i)));
    CHECK_CUDA(cudaFreeHost(pinned));
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

#ifdef EMULATED
//: api-emulated
START_TEST(device_is_an_rtx_4090)
{
    cudaDeviceProp p;
    CHECK_CUDA(cudaGetDeviceProperties(&p, 0));
    ck_assert(p.major == 8 && p.minor == 9 && p.multiProcessorCount == 128);
    ck_assert(p.maxThreadsPerMultiProcessor == 1536 && p.regsPerMultiprocessor == 65536);
    ck_assert(p.maxBlocksPerMultiProcessor == 24 && p.sharedMemPerMultiprocessor == 102400);
    ck_assert_uint_eq(p.totalGlobalMem, size_t(24) << 30);
    int value;
    CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    ck_assert_int_eq(value, 128);
    ck_assert_int_eq(cudaGetDeviceProperties(&p, 1), cudaErrorInvalidDevice);
}
END_TEST

START_TEST(memory_runs_out_where_it_is_told_to)
{
    setenv("SIMT_MEMORY", "1000", 1);
    void *first, *second;
    size_t free, total;
    CHECK_CUDA(cudaMalloc(&first, 600));
    CHECK_CUDA(cudaMemGetInfo(&free, &total));
    ck_assert(free == 400 && total == 1000);
    ck_assert_int_eq(cudaMalloc(&second, 401), cudaErrorMemoryAllocation);
    ck_assert_ptr_null(second);
    CHECK_CUDA(cudaMalloc(&second, 400));
    CHECK_CUDA(cudaFree(first));
    CHECK_CUDA(cudaFree(second));
    CHECK_CUDA(cudaMemGetInfo(&free, &total));
    ck_assert_uint_eq(free, 1000);
}
END_TEST

START_TEST(chosen_allocation_fails_and_no_other)
{
    setenv("SIMT_FAIL_MALLOC", "2", 1);
    void *p[3];
    CHECK_CUDA(cudaMalloc(&p[0], 8));
    ck_assert_int_eq(cudaHostAlloc(&p[1], 8, cudaHostAllocDefault),
                     cudaErrorMemoryAllocation);
    CHECK_CUDA(cudaMalloc(&p[2], 8));
    CHECK_CUDA(cudaFree(p[0]));
    CHECK_CUDA(cudaFree(p[2]));
    setenv("SIMT_FAIL_MALLOC", "1", 1); // changed: counted anew
    ck_assert_int_eq(cudaMalloc(&p[0], 8), cudaErrorMemoryAllocation);
    CHECK_CUDA(cudaMalloc(&p[0], 8));
    CHECK_CUDA(cudaFree(p[0]));
}
END_TEST

START_TEST(unknown_kernel_has_no_attributes)
{
    cudaFuncAttributes a;
    ck_assert_int_eq(cudaFuncGetAttributes(&a, add_kernel), cudaErrorInvalidDeviceFunction);
}
END_TEST
#endif

Suite *suite(void)
{
    Suite *s = suite_create("simt_api");
    add_case(s, "core", work_on_a_stream_keeps_its_order, event_makes_another_stream_wait,
             events_measure_time, graph_is_captured_without_running_and_can_be_replayed,
             capture_broken_by_a_synchronization_says_so,
             copies_and_fills_reach_what_they_name, NULL);
#ifdef EMULATED
    add_case(s, "emulated", device_is_an_rtx_4090, memory_runs_out_where_it_is_told_to,
             chosen_allocation_fails_and_no_other, unknown_kernel_has_no_attributes, NULL);
#endif
    return s;
}
