// Arrays in device memory for the tests of kernels: filled with NaN before a run, fenced by
// bytes that are checked afterwards.  Each array read back also leaves a hash of its bytes
// in the file that LANEWISE_BITS names, a line a read: the harness compares these lines
// between runs in other thread orders, and between the emulation and a GPU.
#ifndef LANEWISE_TESTS_CUDA_DEVICE_H
#define LANEWISE_TESTS_CUDA_DEVICE_H

#include <cuda_runtime.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "main.h"

#define CHECK_CUDA(call)                                                                   \
    do {                                                                                   \
        cudaError_t error_ = (call);                                                       \
        ck_assert_msg(error_ == cudaSuccess, "%s: %s", #call, cudaGetErrorString(error_)); \
    } while (0)

// Where an array must have the same bits: a kernel that calls expf or another function of
// the mathematical library is held to the emulation's bits in every order of threads, but
// not to the GPU's, whose library is another.
enum bits { SAME_EVERYWHERE, SAME_IN_EVERY_ORDER };

// A NaN is a NaN: which of its many bit patterns a machine gives is its own affair.
template <class T> static inline T one_nan(const T &value)
{
    return value;
}
static inline float one_nan(const float &value)
{
    return value != value ? __builtin_nanf("") : value;
}

// Leaves "HASH BYTES FILE:LINE everywhere" (or "orders") in the file of hashes.
static inline void note_bits(const void *data, size_t size, enum bits where,
                             const char *file, int line)
{
    const char *name = getenv("LANEWISE_BITS");
    FILE *notes = name == NULL ? NULL : fopen(name, "a");
    if (notes == NULL)
        return;
    const unsigned char *bytes = static_cast<const unsigned char *>(data);
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    fprintf(notes, "%016llx %zu %s:%d %s\n", static_cast<unsigned long long>(hash), size,
            file, line, where == SAME_EVERYWHERE ? "everywhere" : "orders");
    fclose(notes);
}

// Bytes before and after each array that nothing may write.  The sanitizer and the checker
// of races know where an allocation ends and which bytes of it were written: they need
// neither fences nor poison, which would hide from them what they look for.
#if defined SIMT_RACE || defined __SANITIZE_ADDRESS__
constexpr size_t FENCE = 0;
#else
constexpr size_t FENCE = 256;
#endif

// The bytes of the next array's fences.  A kernel that strays into them reads NaNs, as
// floats and as halves; and what it makes of them is written nowhere unseen, because an
// addition turns these signaling NaNs into quiet ones and no two arrays have the same.
static inline std::vector<unsigned char> new_fence(void)
{
    static unsigned serial;
    serial++;
    const unsigned word = 0x7f807d00u | (serial >> 8 & 0x3fu) << 16 | (serial & 0xffu);
    std::vector<unsigned char> fence(FENCE);
    for (size_t i = 0; i < fence.size(); i++)
        fence[i] = static_cast<unsigned char>(word >> i % 4 * 8);
    return fence;
}

// count values on the device between two fences; freed with its owner.
template <class T> struct device_array {
    unsigned char *memory = nullptr;
    std::vector<unsigned char> fence = new_fence();
    T *data = nullptr;
    size_t count = 0;

    explicit device_array(size_t n) : count(n) // poisoned: every float in it is NaN
    {
        CHECK_CUDA(cudaMalloc(&memory, bytes() + 2 * FENCE));
        data = reinterpret_cast<T *>(memory + FENCE);
        if (fence.empty())
            return; // the emulation's memory is poison already
        CHECK_CUDA(cudaMemcpy(memory, fence.data(), FENCE, cudaMemcpyHostToDevice));
        CHECK_CUDA(cudaMemset(data, 0xff, bytes()));
        CHECK_CUDA(cudaMemcpy(memory + FENCE + bytes(), fence.data(), FENCE,
                              cudaMemcpyHostToDevice));
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
    std::vector<T> read(enum bits where = SAME_EVERYWHERE,
                        const char *file = __builtin_FILE(),
                        int line = __builtin_LINE()) const
    {
        std::vector<unsigned char> all(bytes() + 2 * FENCE);
        CHECK_CUDA(cudaGetLastError());
        CHECK_CUDA(cudaDeviceSynchronize());
        CHECK_CUDA(cudaMemcpy(all.data(), memory, all.size(), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < fence.size(); i++) {
            ck_assert_msg(all[i] == fence[i],
                          "%s:%d: byte %zu before the array was written", file, line,
                          FENCE - i);
            ck_assert_msg(all[FENCE + bytes() + i] == fence[i],
                          "%s:%d: byte %zu after the array was written", file, line, i);
        }
        std::vector<T> values(count);
        if (count > 0)
            memcpy(static_cast<void *>(values.data()), all.data() + FENCE, bytes());
        std::vector<T> noted(values);
        for (T &value : noted)
            value = one_nan(value);
        note_bits(noted.data(), bytes(), where, file, line);
        return values;
    }
};

#endif
