// A cache of random keys and values and the queries that look back over it, for the tests
// of attention and of its merge.
#ifndef LANEWISE_TESTS_CUDA_ATTENTION_CASE_H
#define LANEWISE_TESTS_CUDA_ATTENTION_CASE_H

#include <functional>

#include "device.h"
#include "random.h"

extern "C" {
#include "attention.h"
}

using floats = std::vector<float>;

struct attention_case {
    kv_shape shape;
    int heads, length;
    floats q;
    std::vector<unsigned char> keys, values; // NaN from position `length` on

    // change may replace a position's keys k and values v, each (kv_heads, head_dim).
    using changes = std::function<void(int position, floats &k, floats &v)>;
    attention_case(kv_shape s, int heads_, int length_, changes change = nullptr)
        : shape(s), heads(heads_), length(length_), q(count(heads_)),
          keys(kv_bytes(&s), 0xff), values(kv_bytes(&s), 0xff)
    {
        struct random r = {static_cast<uint64_t>(heads * 10007 + length)};
        random_floats(&r, q.data(), q.size());
        floats k(count(shape.kv_heads)), v(k.size());
        for (int t = 0; t < length; t++) {
            random_floats(&r, k.data(), k.size());
            random_floats(&r, v.data(), v.size());
            if (change)
                change(t, k, v);
            kv_append_cpu(keys.data(), values.data(), k.data(), v.data(), t, &shape);
        }
    }
    size_t count(int rows) const
    {
        return static_cast<size_t>(rows) * static_cast<size_t>(shape.head_dim);
    }
};

// Partial states on the host.
struct host_partials {
    floats maxima, sums, numerators;

    attention_partials view()
    {
        return {maxima.data(), sums.data(), numerators.data()};
    }
    // What one head's splits merge to in one dimension, in double.
    double merged(int head, int splits, int head_dim, int dim) const
    {
        double greatest = -INFINITY, numerator = 0, denominator = 0;
        for (int s = head * splits; s < (head + 1) * splits; s++)
            greatest = fmax(greatest, static_cast<double>(maxima[s]));
        for (int s = head * splits; s < (head + 1) * splits; s++) {
            const double weight = exp(static_cast<double>(maxima[s]) - greatest);
            denominator += weight * static_cast<double>(sums[s]);
            numerator += weight * static_cast<double>(numerators[s * head_dim + dim]);
        }
        return numerator / denominator;
    }
};

static inline host_partials attend_on_host(const attention_case &c, int splits)
{
    const size_t n = static_cast<size_t>(c.heads * splits);
    host_partials p = {floats(n), floats(n), floats(c.count(c.heads * splits))};
    attention_partials view = p.view();
    attention_cpu(&view, c.q.data(), c.keys.data(), c.values.data(), &c.shape, c.heads,
                  c.length, splits);
    return p;
}

static inline host_partials attend_on_device(const attention_case &c, int splits)
{
    const size_t n = static_cast<size_t>(c.heads * splits);
    device_array<float> q(c.q), maxima(n), sums(n), numerators(c.count(c.heads * splits));
    device_array<unsigned char> keys(c.keys), values(c.values);
    device_array<int> position(std::vector<int>{c.length - 1});
    attention_partials p = {maxima.data, sums.data, numerators.data};
    attention_cuda(&p, q.data, keys.data, values.data, &c.shape, c.heads, position.data,
                   splits, nullptr);
    ck_assert(keys.read() == c.keys && values.read() == c.values && q.read() == c.q);
    return {maxima.read(SAME_IN_EVERY_ORDER), sums.read(SAME_IN_EVERY_ORDER),
            numerators.read(SAME_IN_EVERY_ORDER)};
}

#endif
