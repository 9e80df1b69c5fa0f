// Kernels and host code with one deliberate fault each.  Every fault must be found, by the
// variants that can find it, with a message that names the kernel, the block, the thread
// and the line; a correct kernel must be let through.  Each runs in a process of its own.
#include <cuda_runtime.h>

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "main.h"

#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(T, name) extern __shared__ T name[]
#endif

//: fault-kernels
constexpr int N = 128; // threads in a block, and values in each array

namespace
{
__global__ void correct(const float *in, float *out)
{
    __shared__ float s[N];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[N - 1 - threadIdx.x] + in[threadIdx.x];
}

//: fault-missing-barrier
__global__ void missing_barrier(const float *in, float *out)
{
    __shared__ float s[N];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[N - 1 - threadIdx.x] + in[threadIdx.x]; // FAULT
}
__global__ void missing_barrier_in_sum(const float *in, float *out)
{
    __shared__ float partial[4];
    float v = in[threadIdx.x];
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    out[threadIdx.x] = partial[0] + partial[1] + partial[2] + partial[3]; // FAULT
}

//: fault-missing-second-barrier
__global__ void missing_second_barrier(const float *in, float *out)
{
    __shared__ float s[N];
    float sum = 0;
    for (int round = 0; round < 3; round++) {
        s[threadIdx.x] = in[threadIdx.x] + static_cast<float>(round);
        __syncthreads();
        sum += s[(threadIdx.x + 64) % N]; // FAULT: the next round overwrites it
    }
    out[threadIdx.x] = sum;
}
__global__ void last_reader_overwrites(const float *in, float *out)
{
    __shared__ float s[N];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[0];
    if (threadIdx.x == N - 1)
        s[0] = 0; // FAULT: others may not have read it yet
}
__global__ void missing_warp_barrier(const float *in, float *out)
{
    __shared__ float s[N];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[threadIdx.x ^ 1]; // FAULT: lanes need not run in step
}
__global__ void halves_read_across(const float *in, float *out)
{
    __shared__ float s[N];
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp(threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    out[threadIdx.x] = s[threadIdx.x ^ 16]; // FAULT: of the half that met apart
}
__global__ void shuffle_for_a_fence(const float *in, float *out)
{
    __shared__ float s[N];
    s[threadIdx.x] = in[threadIdx.x];
    const float v = __shfl_xor_sync(~0u, in[threadIdx.x], 1);
    out[threadIdx.x] = s[threadIdx.x ^ 1] + v; // FAULT: a shuffle orders no memory
}
__global__ void two_blocks_write(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x] + static_cast<float>(blockIdx.x); // FAULT
}

//: fault-meetings
__global__ void divergent_barrier(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 64)
        __syncthreads(); // FAULT
}
__global__ void two_barriers(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    else
        __syncthreads(); // FAULT
}
__global__ void lane_not_in_mask(const float *in, float *out)
{
    out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, in[threadIdx.x], 1); // FAULT
}
__global__ void lanes_do_not_come(const float *in, float *out)
{
    float v = in[threadIdx.x];
    if (threadIdx.x % 32 < 24)
        v += __shfl_down_sync(~0u, v, 8); // FAULT
    out[threadIdx.x] = v;
}
__global__ void reads_outside_mask(const float *in, float *out)
{
    float v = in[threadIdx.x];
    if (threadIdx.x % 32 < 16)
        v += __shfl_down_sync(0x0000ffffu, v, 8); // FAULT
    out[threadIdx.x] = v;
}
__global__ void full_mask_in_uneven_loop(const float *in, float *out)
{
    float v = in[threadIdx.x];
    for (unsigned t = threadIdx.x / 8; t < 19; t += 16)
        for (int step = 4; step > 0; step /= 2)
            v += __shfl_xor_sync(~0u, v, step, 8); // FAULT: not all groups come again
    out[threadIdx.x] = v;
}

//: fault-bounds
__global__ void global_read_past_end(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x + 1]; // FAULT
}
__global__ void global_write_before(const float *in, float *out)
{
    out[static_cast<int>(threadIdx.x) - 1] = in[threadIdx.x]; // FAULT
}
__global__ void shared_write_past_end(const float *in, float *out)
{
    __shared__ float s[N];
    float *p = s;
    p[threadIdx.x + 1] = in[threadIdx.x]; // FAULT
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
template <int LENGTH> __global__ void shared_in_template(const float *in, float *out)
{
    __shared__ float s[LENGTH];
    float *p = s;
    p[threadIdx.x + 1] = in[threadIdx.x]; // FAULT
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void shared_row_past_end(const float *in, float *out)
{
    __shared__ float s[2][N];
    s[0][threadIdx.x + 1] = in[threadIdx.x]; // FAULT: inside s, but not in s[0]
    __syncthreads();
    out[threadIdx.x] = s[0][threadIdx.x];
}
__global__ void dynamic_write_past_end(const float *in, float *out)
{
    DYNAMIC_SHARED(float, s);             // N floats
    s[threadIdx.x + 1] = in[threadIdx.x]; // FAULT
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 1];
}
__global__ void local_write_past_end(const float *in, float *out)
{
    float a[8];
    float *p = a;
    for (unsigned i = 0; i <= 8; i++)
        p[i] = in[threadIdx.x] + static_cast<float>(i); // FAULT
    out[threadIdx.x] = a[threadIdx.x % 8];
}

//: fault-values
__global__ void uninitialized_global(const float *in, float *out)
{
    out[threadIdx.x] += in[threadIdx.x]; // FAULT
}
__global__ void uninitialized_shared(const float *in, float *out)
{
    __shared__ float s[N + 1];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 1]; // FAULT
}
__global__ void misaligned_vector(const float *in, float *out)
{
    out[threadIdx.x] = 0;
    if (threadIdx.x < 31)
        out[threadIdx.x] = reinterpret_cast<const float4 *>(in + 1)[threadIdx.x].x; // FAULT
}
__global__ void shift_by_32(const float *in, float *out)
{
    out[threadIdx.x] =
        static_cast<float>(1u << (threadIdx.x & 63)) * in[threadIdx.x]; // FAULT
}
} // namespace

//: fault-stage
// What a faulty host has at hand.
struct stage {
    cudaStream_t stream;
    std::vector<float> host;
    float *in, *out, *pinned; // two arrays on the device, and where the result goes
};
using kernel = void (*)(const float *, float *);

static void start(const stage &s, kernel k, unsigned blocks, const float *in)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = N;
    config.dynamicSmemBytes = N * sizeof(float);
    config.stream = s.stream;
    cudaLaunchKernelEx(&config, k, in, s.out);
}
static void open_stage(stage *s)
{
    for (int i = 0; i < N; i++)
        s->host.push_back(static_cast<float>(i * i % 37 + 1));
    cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    cudaMalloc(&s->in, N * sizeof(float));
    cudaMalloc(&s->out, N * sizeof(float));
    cudaHostAlloc(&s->pinned, N * sizeof(float), cudaHostAllocDefault);
    cudaMemcpy(s->in, s->host.data(), N * sizeof(float), cudaMemcpyHostToDevice);
}
static void close_stage(stage *s)
{
    cudaStreamDestroy(s->stream);
    cudaFree(s->in);
    cudaFree(s->out);
    cudaFreeHost(s->pinned);
}
// Prints a hash of the result, and whether there are NaNs in it.
static void print_result(const float *result)
{
    unsigned hash = 2166136261u;
    int nans = 0;
    for (int i = 0; i < N; i++) {
        unsigned bits;
        memcpy(&bits, result + i, sizeof bits);
        hash = (hash ^ bits) * 16777619u;
        nans += result[i] != result[i];
    }
    printf("bits %08x%s\n", hash, nans > 0 ? " NaN" : "");
}
static void copy_back(const stage &s, bool wait)
{
    cudaMemcpyAsync(s.pinned, s.out, N * sizeof(float), cudaMemcpyDeviceToHost, s.stream);
    if (wait)
        cudaStreamSynchronize(s.stream);
    print_result(s.pinned); // FAULT, unless wait
}

//: fault-hosts
static void host_reads_device_memory(const stage &s)
{
    volatile float f = s.in[3]; // FAULT
    (void)f;
}
static void kernel_reads_host_memory(const stage &s)
{
    start(s, correct, 1, s.host.data());
    copy_back(s, true);
}
static void forgotten_synchronization(const stage &s)
{
    start(s, correct, 1, s.in);
    copy_back(s, false);
}
static void null_stream_does_not_wait(const stage &s)
{
    start(s, correct, 1, s.in);
    std::vector<float> result(N);
    cudaMemcpy(result.data(), s.out, N * sizeof(float), cudaMemcpyDeviceToHost);
    print_result(result.data());
    cudaStreamSynchronize(s.stream);
}
static void use_after_free(const stage &s)
{
    float *gone;
    cudaMalloc(&gone, 64 * N * sizeof(float));
    cudaMemcpy(gone, s.in, N * sizeof(float), cudaMemcpyDeviceToDevice);
    cudaFree(gone);
    start(s, correct, 1, gone);
    copy_back(s, true);
}
static void forgotten_free(const stage &s)
{
    void *lost;
    cudaMalloc(&lost, 100); // FAULT
    print_result(s.host.data());
}
static void copy_past_end(const stage &s)
{
    puts(cudaGetErrorString(
        cudaMemcpy(s.out, s.in, N * sizeof(float) + 4, cudaMemcpyDeviceToDevice)));
}
static void copy_in_wrong_direction(const stage &s)
{
    std::vector<float> host(N);
    puts(cudaGetErrorString(
        cudaMemcpy(host.data(), s.in, N * sizeof(float), cudaMemcpyHostToDevice)));
}
static void allocation_in_capture(const stage &s)
{
    void *p;
    cudaGraph_t graph;
    cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeGlobal);
    puts(cudaGetErrorString(cudaMalloc(&p, 100)));
    puts(cudaGetErrorString(cudaStreamEndCapture(s.stream, &graph)));
}
static void too_many_threads(const stage &s)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 1025;
    puts(cudaGetErrorString(
        cudaLaunchKernelEx(&config, correct, static_cast<const float *>(s.in), s.out)));
}

//: fault-expectations
// What a variant says of a fault: nothing, or the orders of threads give other bits, or
// there are NaNs, or this text as an extended regular expression, in which WHERE is the
// kernel, block and thread, and LINE the name of this file and the line marked as FAULT.
#define NOTHING nullptr
#define ORDERS "ORDERS"
#define NANS "NaN"
#define WHERE "WHERE: "
#define ASAN(what) WHERE "(reads|writes) .*AddressSanitizer: " what ".*LINE"
#define UBSAN(what) WHERE "undefined behaviour.*LINE:[0-9]+: runtime error: " what

struct fault {
    const char *name;
    const char *plain, *asan, *race;
    kernel in_kernel;
    void (*in_host)(const stage &);
    unsigned blocks;
};
#define KERNEL(k, plain, asan, race)         \
    {                                        \
#k, plain, asan, race, k, nullptr, 1 \
    }
#define HOST(h, plain, asan, race)           \
    {                                        \
#h, plain, asan, race, nullptr, h, 1 \
    }

//: fault-barriers
static const fault barriers[] = {
    KERNEL(missing_barrier, ORDERS, NOTHING,
           WHERE "reads uninitialized shared memory at LINE"),
    KERNEL(missing_barrier_in_sum, ORDERS, NOTHING,
           WHERE "reads uninitialized shared memory at LINE"),
    KERNEL(missing_second_barrier, ORDERS, NOTHING,
           WHERE "race: reads at LINE what thread [0-9]+ wrote at faults_test.cu:[0-9]+"),
    KERNEL(last_reader_overwrites, ORDERS, NOTHING,
           WHERE "race: overwrites at LINE what thread 0 read at faults_test.cu:[0-9]+"),
    KERNEL(missing_warp_barrier, ORDERS, NOTHING,
           WHERE "reads uninitialized shared memory at LINE"),
    KERNEL(halves_read_across, ORDERS, NOTHING,
           WHERE "reads uninitialized shared memory at LINE"),
    KERNEL(shuffle_for_a_fence, NOTHING, NOTHING,
           WHERE "race: reads at LINE what thread [0-9]+ wrote at faults_test.cu:[0-9]+"),
    {"two_blocks_write", ORDERS, NOTHING,
     WHERE "race: overwrites at LINE what thread [0-9]+ of another block wrote at LINE",
     two_blocks_write, nullptr, 2},
};
#define EVERYWHERE(k, text) KERNEL(k, text, text, text)
static const fault meetings[] = {
    EVERYWHERE(divergent_barrier,
               "in divergent_barrier, block \\(0,0,0\\): deadlock.*threads 0..63 wait in "
               "__syncthreads\\(mask ffffffff\\) at .*LINE.*threads 64..127 have returned"),
    EVERYWHERE(two_barriers,
               WHERE "__syncthreads\\(mask ffffffff\\) at .*LINE, while thread "
                     "[0-9]+ waits in __syncthreads"),
    EVERYWHERE(lane_not_in_mask,
               WHERE "__shfl_xor_sync at .*LINE: lane 16 is not in its own mask 0000ffff"),
    EVERYWHERE(
        lanes_do_not_come,
        "in lanes_do_not_come, block \\(0,0,0\\): deadlock.*threads 0..23 wait in "
        "__shfl_down_sync\\(mask ffffffff\\) at .*LINE.*threads 24..31 have returned"),
    EVERYWHERE(reads_outside_mask,
               WHERE "__shfl_down_sync at .*LINE: lane 8 reads lane 16, "
                     "which is not in mask 0000ffff"),
    EVERYWHERE(
        full_mask_in_uneven_loop,
        "in full_mask_in_uneven_loop, block \\(0,0,0\\): deadlock.*threads 0..23 wait "
        "in __shfl_xor_sync\\(mask ffffffff\\) at .*LINE"),
};
static const fault bounds[] = {
    KERNEL(global_read_past_end, NOTHING, ASAN("heap-buffer-overflow"),
           WHERE "illegal address: reads 0x[0-9a-f]+ at LINE"),
    KERNEL(global_write_before, NOTHING, ASAN("heap-buffer-overflow"),
           WHERE "illegal address: writes 0x[0-9a-f]+ at LINE"),
    KERNEL(shared_write_past_end, NOTHING, UBSAN("store to address .* insufficient space"),
           NOTHING),
    {"shared_in_template", NOTHING, UBSAN("store to address .* insufficient space"),
     NOTHING, shared_in_template<N>, nullptr, 1},
    KERNEL(shared_row_past_end, NOTHING, UBSAN("index 128 out of bounds"), NOTHING),
    KERNEL(dynamic_write_past_end, NOTHING, ASAN("heap-buffer-overflow"),
           WHERE "illegal address: writes 0x[0-9a-f]+ at LINE"),
    KERNEL(local_write_past_end, NOTHING, UBSAN("store to address .* insufficient space"),
           NOTHING),
};
static const fault values[] = {
    KERNEL(uninitialized_global, NANS, NANS,
           WHERE "reads uninitialized global memory at LINE"),
    KERNEL(uninitialized_shared, NOTHING, NOTHING,
           WHERE "reads uninitialized shared memory at LINE"),
    KERNEL(misaligned_vector, NOTHING, UBSAN("member access within misaligned address"),
           NOTHING),
    KERNEL(shift_by_32, NOTHING, UBSAN("shift exponent 32 is too large"), NOTHING),
};
static const fault hosts[] = {
    HOST(host_reads_device_memory, NOTHING,
         "in the host's code: reads 0x[0-9a-f]+, in device memory.*use-after-poison.*LINE",
         NOTHING),
    HOST(kernel_reads_host_memory, NOTHING, NOTHING,
         "in correct, block \\(0,0,0\\), thread \\(0,0,0\\): illegal address: reads"),
    HOST(forgotten_synchronization, NANS,
         "in the host's code: reads 0x[0-9a-f]+, in memory that a stream has yet to fill"
         ".*use-after-poison.*in copy_back",
         NANS),
    HOST(null_stream_does_not_wait, NANS, NANS, NANS),
    HOST(use_after_free, NOTHING,
         "in correct, block \\(0,0,0\\), thread \\(0,0,0\\): reads .*heap-use-after-free",
         "in correct, block \\(0,0,0\\), thread \\(0,0,0\\): illegal address: reads"),
    HOST(forgotten_free, NOTHING, "LeakSanitizer: detected memory leaks.*LINE", NOTHING),
};
#define SAYS(h, text) HOST(h, text, text, text)
static const fault refused[] = {
    SAYS(copy_past_end, "invalid argument"),
    SAYS(copy_in_wrong_direction, "invalid argument"),
    SAYS(allocation_in_capture, "when stream is capturing.*previous error during capture"),
    SAYS(too_many_threads, "invalid argument"),
};

//: fault-process
// What the fault says in a process of its own, whose threads run in the order given.
static std::string outcome(const fault &f, const char *order)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        setenv("SIMT_ORDER", order, 1);
        stage s;
        open_stage(&s);
        if (f.in_host != nullptr) {
            f.in_host(s);
        } else {
            start(s, f.in_kernel, f.blocks, s.in);
            copy_back(s, true);
        }
        close_stage(&s);
        exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
        text.append(part, static_cast<size_t>(n));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return text;
}

//: fault-matching
static void replace(std::string *text, const std::string &what, const std::string &by)
{
    for (size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size())
        text->replace(at, what.size(), by);
}
// The line marked as FAULT in the function of this name.
static std::string faulty_line(const std::string &name)
{
    FILE *source = fopen(__FILE__, "r");
    ck_assert_ptr_nonnull(source);
    char line[200];
    bool inside = false;
    for (int number = 1; fgets(line, sizeof line, source) != nullptr; number++) {
        inside = inside || strstr(line, ("void " + name + "(").c_str()) != nullptr;
        if (inside && strstr(line, "// FAULT") != nullptr) {
            fclose(source);
            return "faults_test.cu:" + std::to_string(number);
        }
    }
    fclose(source);
    return "no line marked as FAULT";
}
static bool matches(const std::string &text, const char *expected, const fault &f)
{
    std::string pattern = expected;
    const std::string name = f.name;
    replace(&pattern, "WHERE",
            "in " + name +
                "(<[0-9]+>)?, block \\([0-9],0,0\\), thread "
                "\\([0-9]+,0,0\\)");
    replace(&pattern, "LINE", faulty_line(name));
    regex_t expression;
    ck_assert_int_eq(regcomp(&expression, pattern.c_str(), REG_EXTENDED | REG_NOSUB), 0);
    const bool found = regexec(&expression, text.c_str(), 0, nullptr, 0) == 0;
    regfree(&expression);
    return found;
}

//: fault-tests
#if defined SIMT_RACE
#define EXPECTED(f) (f).race
#elif defined __SANITIZE_ADDRESS__
#define EXPECTED(f) (f).asan
#else
#define EXPECTED(f) (f).plain
#endif

static void expect_found(const fault &f)
{
    const char *expected = EXPECTED(f);
    const std::string text = outcome(f, "ascending");
    if (expected == NOTHING)
        return; // and nothing is expected: a fault may do anything
    if (strcmp(expected, ORDERS) == 0)
        ck_assert_msg(outcome(f, "descending") != text, "%s: the same bits in both orders",
                      f.name);
    else
        ck_assert_msg(matches(text, expected, f), "%s: expected %s at %s, found:\n%s",
                      f.name, expected, faulty_line(f.name).c_str(), text.c_str());
}
template <size_t COUNT> static void expect_all_found(const fault (&faults)[COUNT])
{
    for (const fault &f : faults)
        expect_found(f);
}

START_TEST(correct_kernel_passes_in_every_order)
{
    const fault none = {"correct", NOTHING, NOTHING, NOTHING, correct, nullptr, 1};
    const std::string text = outcome(none, "ascending");
    ck_assert_msg(text.find("bits ") == 0 && text.size() == strlen("bits 01234567\n"), "%s",
                  text.c_str());
    const char *orders[] = {"descending", "1", "2", "3"};
    for (const char *order : orders)
        ck_assert_msg(outcome(none, order) == text, "other bits in order %s", order);
}
END_TEST

START_TEST(missing_barriers_are_found)
{
    expect_all_found(barriers);
}
END_TEST

START_TEST(meetings_that_not_all_reach_are_found)
{
    expect_all_found(meetings);
}
END_TEST

START_TEST(accesses_out_of_bounds_are_found)
{
    expect_all_found(bounds);
}
END_TEST

START_TEST(uninitialized_and_undefined_values_are_found)
{
    expect_all_found(values);
}
END_TEST

START_TEST(faults_of_the_host_are_found)
{
    expect_all_found(hosts);
}
END_TEST

START_TEST(wrong_calls_are_refused)
{
    expect_all_found(refused);
}
END_TEST

// A fault that no variant finds would stand in the tables as if it were found.
START_TEST(each_fault_is_found_by_some_variant)
{
    const auto check = [](const fault &f) {
        ck_assert_msg(f.plain != NOTHING || f.asan != NOTHING || f.race != NOTHING, "%s",
                      f.name);
    };
    for (const fault &f : barriers)
        check(f);
    for (const fault &f : meetings)
        check(f);
    for (const fault &f : bounds)
        check(f);
    for (const fault &f : values)
        check(f);
    for (const fault &f : hosts)
        check(f);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("simt_faults");
    add_case(s, "core", correct_kernel_passes_in_every_order,
             each_fault_is_found_by_some_variant, NULL);
    add_case(s, "threads", missing_barriers_are_found,
             meetings_that_not_all_reach_are_found, NULL);
    add_case(s, "memory", accesses_out_of_bounds_are_found,
             uninitialized_and_undefined_values_are_found, faults_of_the_host_are_found,
             wrong_calls_are_refused, NULL);
    return s;
}
