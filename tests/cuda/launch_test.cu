#include "device.h"

#include "cuda/launch.h"

namespace
{
//: launch-test-kernel
// A kernel of one line: each thread leaves its number in an element of its own.
__global__ void number_kernel(int *numbers, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        numbers[i] = i;
}

//: launch-test-wide-kernel
__global__ void wide_kernel(long long *left, const float *right, bool add)
{
    *left = add ? *left + static_cast<long long>(*right) : 0;
}
} // namespace

//: launch-test-numbers
START_TEST(every_thread_of_a_grid_runs_once)
{
    const int n = 1000, threads = 256;
    device_array<int> numbers(n);
    launch(nullptr, (n + threads - 1) / threads, threads, number_kernel, numbers.data, n);
    const std::vector<int> found = numbers.read();
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(found[static_cast<size_t>(i)], i);
}
END_TEST

//: launch-test-arguments
START_TEST(arguments_become_the_parameters_types)
{
    device_array<long long> left(std::vector<long long>{1});
    device_array<float> right(std::vector<float>{2});
    launch(nullptr, 1, 1, wide_kernel, left.data, right.data, 7); // 7 is true
    ck_assert(left.read()[0] == 3);
}
END_TEST

//: launch-test-stream
START_TEST(kernels_of_a_stream_run_in_the_order_they_were_queued)
{
    const int n = 64;
    device_array<int> numbers(n);
    std::vector<int> zeros(n), found(n);
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMemcpyAsync(numbers.data, zeros.data(), numbers.bytes(),
                               cudaMemcpyHostToDevice, stream));
    launch(stream, 2, 32, number_kernel, numbers.data, n);
    CHECK_CUDA(cudaMemcpyAsync(found.data(), numbers.data, numbers.bytes(),
                               cudaMemcpyDeviceToHost, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    ck_assert_int_eq(found[63], 63);
    CHECK_CUDA(cudaStreamDestroy(stream));
}
END_TEST

//: launch-test-capture
START_TEST(a_launch_goes_to_the_stream_it_names)
{
    device_array<int> numbers(32);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    launch(stream, 1, 32, number_kernel, numbers.data, 32); // recorded, not run
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaMemset(numbers.data, 0, numbers.bytes()));
    CHECK_CUDA(cudaGraphLaunch(exec, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    ck_assert_int_eq(numbers.read()[31], 31);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}
END_TEST

//: launch-test-errors
START_TEST(a_failed_launch_leaves_its_error)
{
    device_array<int> numbers(1);
    launch(nullptr, 1, 1025, number_kernel, numbers.data, 1); // 1,024 threads at most
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidValue);
    launch(nullptr, 0, 32, number_kernel, numbers.data, 1); // an empty grid
    ck_assert_int_ne(cudaGetLastError(), cudaSuccess);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("launch");
    add_case(s, "core", every_thread_of_a_grid_runs_once,
             arguments_become_the_parameters_types,
             kernels_of_a_stream_run_in_the_order_they_were_queued,
             a_launch_goes_to_the_stream_it_names, NULL);
    add_case(s, "limits", a_failed_launch_leaves_its_error, NULL);
    return s;
}
