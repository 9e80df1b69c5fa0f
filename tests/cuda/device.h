// Arrays in device memory for the tests of kernels: filled with NaN before a run, fenced by
// bytes that are checked afterwards.
#ifndef LANEWISE_TESTS_CUDA_DEVICE_H
#define LANEWISE_TESTS_CUDA_DEVICE_H

#include <cuda_runtime.h>

#include <string.h>

#include <vector>

#include "main.h"

#define CHECK_CUDA(call)                                                                   \
    do {                                                                                   \
        cudaError_t error_ = (call);                                                       \
        ck_assert_msg(error_ == cudaSuccess, "%s: %s", #call, cudaGetErrorString(error_)); \
    } while (0)

// count values on the device between two fences; freed with its owner.
template <class T> struct device_array {
    static constexpr size_t FENCE = 256;
    unsigned char *memory = nullptr;
    T *data = nullptr;
    size_t count = 0;

    explicit device_array(size_t n) : count(n) // poisoned: every float in it is NaN
    {
        CHECK_CUDA(cudaMalloc(&memory, bytes() + 2 * FENCE));
        CHECK_CUDA(cudaMemset(memory, 0xff, bytes() + 2 * FENCE));
        data = reinterpret_cast<T *>(memory + FENCE);
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size())
    {
        if (count > 0)
            CHECK_CUDA(cudaMemcpy(data, values.data(), bytes(), cudaMemcpyHostToDevice));
    }
    device_array(const device_array &) = delete;
    ~device_array()
    {
        cudaFree(memory);
    }
    size_t bytes() const
    {
        return count * sizeof(T);
    }

    // What the array holds once the device is done; both fences must be as they were.
    std::vector<T> read() const
    {
        std::vector<unsigned char> all(bytes() + 2 * FENCE);
        CHECK_CUDA(cudaGetLastError());
        CHECK_CUDA(cudaDeviceSynchronize());
        CHECK_CUDA(cudaMemcpy(all.data(), memory, all.size(), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < FENCE; i++) {
            ck_assert_msg(all[i] == 0xff, "byte %zu before the array was written",
                          FENCE - i);
            ck_assert_msg(all[FENCE + bytes() + i] == 0xff,
                          "byte %zu after the array was written", i);
        }
        std::vector<T> values(count);
        if (count > 0)
            memcpy(static_cast<void *>(values.data()), all.data() + FENCE, bytes());
        return values;
    }
};

#endif
