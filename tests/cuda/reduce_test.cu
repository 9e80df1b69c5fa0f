#include "cuda/reduce.h"

#include <math.h>

#include "device.h"
#include "cuda/launch.h"
#include "random.h"

//: reduce-test
namespace
{
__global__ void warp_kernel(float *sum, float *max, const float *x)
{
    sum[threadIdx.x] = warp_sum(x[threadIdx.x]);
    max[threadIdx.x] = warp_max(x[threadIdx.x]);
}

template <int THREADS> __global__ void block_kernel(float *sum, float *max, const float *x)
{
    __shared__ float shared[THREADS / 32];
    sum[threadIdx.x] = block_sum<THREADS>(x[threadIdx.x], shared);
    __syncthreads();
    max[threadIdx.x] = block_max<THREADS>(x[threadIdx.x], shared);
}

//: reduce-test-folded
// The sum with the upper half added onto the lower, again and again.
float folded(std::vector<float> x)
{
    for (size_t half = x.size() / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            x[i] += x[i + half];
    return x[0];
}

//: reduce-test-check
template <class Kernel> void check(Kernel *kernel, int threads, uint64_t seed)
{
    struct random r = {seed};
    std::vector<float> x(static_cast<size_t>(threads)), warps;
    random_floats(&r, x.data(), x.size());
    float max = -INFINITY;
    for (float value : x)
        max = fmaxf(max, value);
    for (size_t w = 0; w < x.size(); w += 32)
        warps.push_back(folded(std::vector<float>(x.begin() + static_cast<long>(w),
                                                  x.begin() + static_cast<long>(w) + 32)));
    device_array<float> in(x), sums(x.size()), maxima(x.size());
    launch(nullptr, 1, static_cast<unsigned>(threads), kernel, sums.data, maxima.data,
           static_cast<const float *>(in.data));
    const std::vector<float> s = sums.read(), m = maxima.read();
    for (size_t i = 0; i < x.size(); i++) {
        ck_assert(s[i] == folded(warps)); // the same bits in every thread
        ck_assert(m[i] == max);
    }
}
} // namespace

//: reduce-test-cases
START_TEST(every_lane_of_a_warp_gets_the_folded_sum_and_the_maximum)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        check(warp_kernel, 32, seed);
}
END_TEST

START_TEST(every_thread_of_a_block_gets_the_folded_sum_and_the_maximum)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        check(block_kernel<32>, 32, seed);
        check(block_kernel<128>, 128, seed);
        check(block_kernel<256>, 256, seed);
        check(block_kernel<1024>, 1024, seed);
    }
}
END_TEST

//: reduce-test-nan
START_TEST(a_nan_spoils_the_sum_and_is_no_maximum)
{
    for (size_t at = 0; at < 32; at++) {
        std::vector<float> x(32, 1.0f);
        x[at] = NAN;
        device_array<float> in(x), sums(32), maxima(32);
        launch(nullptr, 1, 32, warp_kernel, sums.data, maxima.data,
               static_cast<const float *>(in.data));
        const std::vector<float> s = sums.read(), m = maxima.read();
        for (size_t i = 0; i < 32; i++)
            ck_assert(isnan(s[i]) && m[i] == 1);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("reduce_cuda");
    add_case(s, "core", every_lane_of_a_warp_gets_the_folded_sum_and_the_maximum,
             every_thread_of_a_block_gets_the_folded_sum_and_the_maximum, NULL);
    add_case(s, "limits", a_nan_spoils_the_sum_and_is_no_maximum, NULL);
    return s;
}
