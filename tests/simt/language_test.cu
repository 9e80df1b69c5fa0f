// The emulation's language: shuffles, ballots, intrinsics and halves against what the CUDA
// C++ guide says of them, recomputed here.  Compiled by nvcc and run on a GPU, the same
// tests say whether the GPU agrees.
#include <math.h>

#include "cuda/device.h"

#include <cuda_fp16.h>

static void launch_one(unsigned threads, void (*kernel)(unsigned *), unsigned *out)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = threads;
    cudaLaunchKernelEx(&config, kernel, out);
}

//: language-shuffles
namespace
{
constexpr int WAYS = 7;

// Seven ways to exchange a lane's number, for each lane of a warp.
__global__ void shuffle_kernel(unsigned *out)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned *row = out + WAYS * threadIdx.x;
    row[0] = __shfl_sync(~0u, lane, 5);
    row[1] = __shfl_sync(~0u, lane, 9, 8);
    row[2] = __shfl_up_sync(~0u, lane, 3);
    row[3] = __shfl_down_sync(~0u, lane, 3, 16);
    row[4] = __shfl_xor_sync(~0u, lane, 5);
    row[5] = __ballot_sync(~0u, lane % 3 == 0);
    row[6] = __any_sync(~0u, lane == 31) + 2 * __all_sync(~0u, lane < 32) +
             4 * __all_sync(~0u, lane < 31);
}
// Halves of a warp exchange among themselves, at different times.
__global__ void half_warp_kernel(unsigned *out)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned sum = lane;
    if (lane < 16)
        for (int step = 8; step > 0; step /= 2)
            sum += __shfl_xor_sync(0x0000ffffu, sum, step);
    else
        sum += __shfl_xor_sync(0xffff0000u, sum, 1);
    out[threadIdx.x] = sum;
}
// Threads of two dimensions: lanes run along x first.
__global__ void two_dimensions_kernel(unsigned *out)
{
    const unsigned i = threadIdx.x + blockDim.x * threadIdx.y;
    out[i] = __shfl_sync(~0u, threadIdx.x + 100 * threadIdx.y, 17);
}
} // namespace

START_TEST(shuffles_give_what_the_guide_says)
{
    device_array<unsigned> out(64 * WAYS);
    launch_one(64, shuffle_kernel, out.data);
    const std::vector<unsigned> got = out.read();
    for (unsigned t = 0; t < 64; t++) {
        const unsigned lane = t % 32, *row = &got[t * WAYS];
        ck_assert_uint_eq(row[0], 5);
        ck_assert_uint_eq(row[1], lane / 8 * 8 + 1);
        ck_assert_uint_eq(row[2], lane < 3 ? lane : lane - 3);
        ck_assert_uint_eq(row[3], lane % 16 + 3 < 16 ? lane + 3 : lane);
        ck_assert_uint_eq(row[4], lane ^ 5);
        ck_assert_uint_eq(row[5], 0x49249249u);
        ck_assert_uint_eq(row[6], 3);
    }
}
END_TEST

START_TEST(halves_of_a_warp_meet_apart)
{
    device_array<unsigned> out(32);
    launch_one(32, half_warp_kernel, out.data);
    const std::vector<unsigned> got = out.read();
    for (unsigned lane = 0; lane < 32; lane++)
        ck_assert_uint_eq(got[lane], lane < 16 ? 120 : lane + (lane ^ 1));
}
END_TEST

START_TEST(lanes_run_along_x_first)
{
    device_array<unsigned> out(64);
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = dim3(8, 8);
    cudaLaunchKernelEx(&config, two_dimensions_kernel, out.data);
    const std::vector<unsigned> got = out.read();
    for (unsigned i = 0; i < 64; i++)
        ck_assert_uint_eq(got[i], i < 32 ? 201 : 601);
}
END_TEST

//: language-bytes
namespace
{
constexpr int BYTE_WAYS = 5;

// Threads make their own numbers, in the way of a linear congruential generator.
__host__ __device__ unsigned number(unsigned i)
{
    unsigned x = i * 2654435761u + 12345u;
    x ^= x >> 15;
    return x * 2246822519u;
}
__global__ void bytes_kernel(unsigned *out)
{
    const unsigned a = number(threadIdx.x), b = number(threadIdx.x + 1000);
    unsigned *row = out + BYTE_WAYS * threadIdx.x;
    row[0] = static_cast<unsigned>(__dp4a(static_cast<int>(a), static_cast<int>(b), 7));
    row[1] = __dp4a(a, b, 7u);
    row[2] = __vsubss4(a, b);
    row[3] = __byte_perm(a, b, a & 0x7777);
    row[4] = static_cast<unsigned>(__popc(a) + 100 * __clz(static_cast<int>(b)) +
                                   10000 * __ffs(static_cast<int>(a)));
}
} // namespace

static int byte_of(unsigned word, unsigned i)
{
    const int byte = static_cast<int>(word >> 8 * i & 0xff);
    return byte < 128 ? byte : byte - 256;
}

START_TEST(bytes_are_multiplied_cut_off_and_picked)
{
    device_array<unsigned> out(256 * BYTE_WAYS);
    launch_one(256, bytes_kernel, out.data);
    const std::vector<unsigned> got = out.read();
    for (unsigned t = 0; t < 256; t++) {
        const unsigned a = number(t), b = number(t + 1000), *row = &got[t * BYTE_WAYS];
        int dot = 7;
        unsigned plain = 7, difference = 0, picked = 0, ones = 0;
        for (unsigned i = 0; i < 4; i++) {
            dot += byte_of(a, i) * byte_of(b, i);
            plain += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
            int d = byte_of(a, i) - byte_of(b, i);
            d = d < -128 ? -128 : d > 127 ? 127 : d;
            difference |= (static_cast<unsigned>(d) & 0xff) << 8 * i;
            const unsigned from = a >> 4 * i & 7;
            picked |= ((from < 4 ? a >> 8 * from : b >> 8 * (from - 4)) & 0xff) << 8 * i;
        }
        unsigned leading = 0, first = 0;
        for (unsigned i = 0; i < 32; i++) {
            ones += a >> i & 1;
            leading = b >> i & 1 ? 31 - i : leading;
            first = first == 0 && (a >> i & 1) ? i + 1 : first;
        }
        ck_assert_int_eq(static_cast<int>(row[0]), dot);
        ck_assert_uint_eq(row[1], plain);
        ck_assert_uint_eq(row[2], difference);
        ck_assert_uint_eq(row[3], picked);
        ck_assert_uint_eq(row[4], ones + 100 * leading + 10000 * first);
    }
}
END_TEST

//: language-halves
namespace
{
__global__ void halves_kernel(unsigned *out) // of each of the 65,536 halves, its float
{
    for (unsigned i = threadIdx.x; i < 65536; i += blockDim.x) {
        const __half h = __ushort_as_half(static_cast<unsigned short>(i));
        out[i] = __float_as_uint(__half2float(h));
    }
}
constexpr unsigned FLOATS = 1 << 14;

// Floats around the places where rounding to half changes: halves, the middles between
// them, and the floats next to those; and any floats at all.
__host__ __device__ unsigned float_bits(unsigned i)
{
    const unsigned any = number(i);
    if (i % 4 == 3)
        return any;
    const unsigned exponent = 100 + any % 45, near = (i % 4 + 0xfffu) & 0x1fffu;
    return (any & 0x80000000u) | exponent << 23 | (any >> 8 & 0x3ff) << 13 | near;
}
__global__ void rounding_kernel(unsigned *out)
{
    for (unsigned i = threadIdx.x; i < FLOATS; i += blockDim.x)
        out[i] = __half_as_ushort(__float2half_rn(__uint_as_float(float_bits(i))));
}
} // namespace

// The value of a half, by the definition of the format.
static double value_of_half(unsigned h)
{
    const int exponent = static_cast<int>(h >> 10 & 31);
    const double mantissa = h & 0x3ff;
    const double size = exponent == 0    ? ldexp(mantissa, -24)
                        : exponent == 31 ? (mantissa > 0 ? NAN : INFINITY)
                                         : ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -size : size;
}
// The nearest half by search: of two equally near the one whose last bit is 0.
static unsigned nearest_half(float f)
{
    const unsigned sign = signbit(f) ? 0x8000 : 0;
    const double size = fabs(static_cast<double>(f));
    if (size >= 65520) // the middle between the largest half and what would follow
        return sign | 0x7c00;
    unsigned low = 0, high = 0x7bff; // value_of_half(low) <= size
    while (low < high) {
        const unsigned middle = (low + high + 1) / 2;
        if (value_of_half(middle) <= size)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == 0x7bff)
        return sign | low;
    const double below = size - value_of_half(low), above = value_of_half(low + 1) - size;
    return sign | (above < below || (above == below && low % 2 == 1) ? low + 1 : low);
}

START_TEST(every_half_becomes_its_float)
{
    device_array<unsigned> out(65536);
    launch_one(256, halves_kernel, out.data);
    const std::vector<unsigned> got = out.read(SAME_IN_EVERY_ORDER); // NaNs have many forms
    for (unsigned i = 0; i < 65536; i++) {
        float f;
        memcpy(&f, &got[i], sizeof f);
        const double expected = value_of_half(i);
        if (isnan(expected))
            ck_assert(isnan(f));
        else
            ck_assert(static_cast<double>(f) == expected &&
                      !signbit(f) == ((i & 0x8000) == 0));
    }
}
END_TEST

START_TEST(floats_are_rounded_to_the_nearest_half)
{
    device_array<unsigned> out(FLOATS);
    launch_one(256, rounding_kernel, out.data);
    const std::vector<unsigned> got = out.read();
    for (unsigned i = 0; i < FLOATS; i++) {
        const unsigned bits = float_bits(i);
        float f;
        memcpy(&f, &bits, sizeof f);
        const unsigned expected = isnan(f) ? 0x7fff : nearest_half(f);
        ck_assert_msg(got[i] == expected, "%a: %04x, expected %04x", static_cast<double>(f),
                      got[i], expected);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("simt_language");
    add_case(s, "core", shuffles_give_what_the_guide_says, halves_of_a_warp_meet_apart,
             lanes_run_along_x_first, bytes_are_multiplied_cut_off_and_picked, NULL);
    add_case(s, "halves", every_half_becomes_its_float,
             floats_are_rounded_to_the_nearest_half, NULL);
    return s;
}
