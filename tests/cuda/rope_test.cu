#include "device.h"

#include <cmath>

extern "C" {
#include "rmsnorm.h"
#include "rope.h"
#include "random.h"
}

namespace
{
std::vector<float> random_vector(int n, int seed, float deviation)
{
    std::vector<float> x(static_cast<size_t>(n));
    random_fill(x.data(), n, seed, deviation);
    return x;
}

std::vector<float> turn(const std::vector<float> &x, int position, double theta, int heads)
{
    device_array<float> dx(x);
    device_array<int> at(std::vector<int>{position});
    rope_cuda(dx.data, at.data, theta, heads, static_cast<int>(x.size()) / heads, nullptr);
    return dx.read();
}

//: rope-kernel-bound
// Checks one turned pair: each output must be the exact value rounded to f32.  Where f64's
// own errors reach across the middle between two floats, either of them will do.  Returns
// how many outputs are not the exact value rounded.
int check_pair(float y0, float y1, float a, float b, long double angle, int position)
{
    const long double exact[] = {a * cosl(angle) - b * sinl(angle),
                                 a * sinl(angle) + b * cosl(angle)};
    const long double error =
        0x1p-51L * (position + 2) * (std::fabs(a) + std::fabs(b)); // see the chapter
    const float got[] = {y0, y1};
    int others = 0;
    for (int k = 0; k < 2; k++) {
        ck_assert(std::isfinite(got[k]));
        ck_assert(got[k] >= static_cast<float>(exact[k] - error));
        ck_assert(got[k] <= static_cast<float>(exact[k] + error));
        others += got[k] != static_cast<float>(exact[k]);
    }
    return others;
}

//: rope-kernel-heads
int check_heads(const std::vector<float> &y, const std::vector<float> &x, int position,
                long double theta, int head_dim)
{
    const size_t half = static_cast<size_t>(head_dim) / 2;
    int others = 0;
    for (size_t i = 0; i < x.size(); i += i % half == half - 1 ? half + 1 : 1) {
        const long double pair = static_cast<long double>(i % half);
        const long double angle = position * powl(theta, -2 * pair / head_dim);
        others += check_pair(y[i], y[i + half], x[i], x[i + half], angle, position);
    }
    return others;
}
} // namespace

//: rope-kernel-tests
START_TEST(kernel_is_the_exact_value_rounded_at_every_position)
{
    const int positions[] = {0, 1, 2, 77, 511, 4095, 8191, 40959, 131071, 1000000};
    int others = 0, all = 0;
    for (int position : positions) {
        const std::vector<float> x = random_vector(32 * 128, position, 4);
        others += check_heads(turn(x, position, 1e6, 32), x, position, 1e6, 128);
        all += 32 * 128;
    }
    ck_assert_int_le(others * 1000, all);
}
END_TEST

START_TEST(kernel_turns_any_even_head_dim)
{
    const int shapes[][2] = {{1, 2},  {3, 6},   {5, 30},  {2, 64},
                             {7, 66}, {3, 130}, {1, 1026}};
    for (const auto &[heads, head_dim] : shapes)
        for (int position : {1, 1234}) {
            const std::vector<float> x = random_vector(heads * head_dim, head_dim, 1);
            check_heads(turn(x, position, 1e4, heads), x, position, 1e4, head_dim);
        }
}
END_TEST

//: rope-kernel-joint
static void check_joint(const qk_shape &shape, int position)
{
    const int dim = shape.head_dim, q_size = shape.heads * dim,
              k_size = shape.kv_heads * dim;
    const std::vector<float> q = random_vector(q_size, 1, 3),
                             k = random_vector(k_size, 2, 0.2f);
    device_array<float> q1(q), q2(q), k1(k), k2(k);
    device_array<float> q_weight(random_vector(dim, 3, 1)),
        k_weight(random_vector(dim, 4, 1));
    device_array<int> at(std::vector<int>{position});
    rmsnorm_cuda(q1.data, q1.data, q_weight.data, shape.epsilon, shape.heads, dim, nullptr);
    rmsnorm_cuda(k1.data, k1.data, k_weight.data, shape.epsilon, shape.kv_heads, dim,
                 nullptr);
    rope_cuda(q1.data, at.data, shape.theta, shape.heads, dim, nullptr);
    rope_cuda(k1.data, at.data, shape.theta, shape.kv_heads, dim, nullptr);
    qk_norm_rope_cuda(q2.data, k2.data, q_weight.data, k_weight.data, at.data, &shape,
                      nullptr);
    ck_assert(q2.read() == q1.read());
    ck_assert(k2.read() == k1.read());
}

//: rope-kernel-joint-shapes
START_TEST(joint_kernel_equals_norm_then_rope_to_the_bit)
{
    check_joint({32, 8, 128, 1e-6f, 1e6}, 312);
    check_joint({4, 2, 128, 1e-6f, 1e4}, 40000);
    check_joint({1, 1, 2, 1e-6f, 1e4}, 20000);
    check_joint({3, 3, 30, 1e-5f, 1e4}, 1333);
    check_joint({5, 1, 130, 1e-6f, 1e6}, 307);
    check_joint({2, 1, 1026, 1e-6f, 1e6}, 38);
}
END_TEST

//: rope-kernel-close
START_TEST(joint_kernel_is_close_to_its_oracle)
{
    const qk_shape shape = {8, 2, 128, 1e-6f, 1e6};
    std::vector<float> q = random_vector(8 * 128, 5, 2), k = random_vector(2 * 128, 6, 2);
    const std::vector<float> q_weight = random_vector(128, 7, 1),
                             k_weight = random_vector(128, 8, 1);
    device_array<float> dq(q), dk(k), dqw(q_weight), dkw(k_weight);
    device_array<int> at(std::vector<int>{4321});
    qk_norm_rope_cuda(dq.data, dk.data, dqw.data, dkw.data, at.data, &shape, nullptr);
    qk_norm_rope_cpu(q.data(), k.data(), q_weight.data(), k_weight.data(), 4321, &shape);
    const std::vector<float> got_q = dq.read(), got_k = dk.read();
    // A turn mixes the two values of a pair, so both count towards an output's scale.
    for (size_t i = 0; i < q.size(); i++)
        ck_assert(std::fabs(got_q[i] - q[i]) <= 8 * 0x1p-24 * std::hypot(q[i], q[i ^ 64]));
    for (size_t i = 0; i < k.size(); i++)
        ck_assert(std::fabs(got_k[i] - k[i]) <= 8 * 0x1p-24 * std::hypot(k[i], k[i ^ 64]));
}
END_TEST

//: rope-kernel-suite
Suite *suite(void)
{
    Suite *s = suite_create("rope_cuda");
    add_case(s, "core", joint_kernel_equals_norm_then_rope_to_the_bit,
             joint_kernel_is_close_to_its_oracle, NULL);
    add_case(s, "limits", kernel_is_the_exact_value_rounded_at_every_position,
             kernel_turns_any_even_head_dim, NULL);
    return s;
}
