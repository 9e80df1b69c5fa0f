// How well the CPU's and the GPU's logits agree: feeds a made-up prompt to both and prints
// the NMSE at each position named, tab-separated.
//
//     make VARIANT=cuda build/cuda/tests/agree
//     build/cuda/tests/agree MODEL NAME POSITION...
//
// Positions ascend.  Both use an f16 cache; the GPU replays graphs.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
#include "backend_cpu.h"
#include "backend_cuda.h"
#include "decoder.h"
#include "graphs.h"
}

namespace
{
struct error e;

[[noreturn]] void give_up()
{
    std::fprintf(stderr, "agree: %s\n", e.text);
    std::exit(1);
}

struct decoder *decode_on(struct backend *b, const struct model *m, int context)
{
    const struct decoder_options options = {KV_F16, context};
    struct decoder *d = b ? decoder_new(m, b, &options, nullptr, nullptr, &e) : nullptr;
    return d ? d : (give_up(), nullptr);
}

double nmse(const float *a, const float *b, int n)
{
    double error = 0, power = 0;
    for (int i = 0; i < n; i++) {
        error += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
        power += double(a[i]) * a[i];
    }
    return error / power;
}
} // namespace

int main(int argc, char **argv)
{
    struct gguf file;
    struct model m;
    const struct backend_options options = {KV_F16, 0, true};
    if (argc < 4) {
        std::fprintf(stderr, "usage: agree MODEL NAME POSITION...\n");
        return 2;
    }
    const int last = std::atoi(argv[argc - 1]);
    if (!gguf_open(&file, argv[1], &e) || !model_open(&m, &file, &e))
        give_up();
    struct backend *host = backend_cpu_new(&options, &e);
    struct backend *device = backend_cuda_new(&options, &e);
    if (device == nullptr || !graphs_enable(device, &e))
        give_up();
    struct decoder *on[2] = {decode_on(host, &m, last + 1),
                             decode_on(device, &m, last + 1)};
    for (int i = 3, position = 0; i < argc; i++) {
        std::vector<int> ids;
        const int next = std::atoi(argv[i]);
        for (; position <= next; position++)
            ids.push_back(static_cast<int>(7919L * position % m.shape.vocabulary));
        for (struct decoder *d : on)
            if (!decoder_prompt(d, ids.data(), ids.size(), &e))
                give_up();
        const float *a = decoder_logits(on[0], &e), *b = decoder_logits(on[1], &e);
        if (a == nullptr || b == nullptr)
            give_up();
        std::printf("%s\t%d\t%.3g\n", argv[2], next, nmse(a, b, m.shape.vocabulary));
    }
    decoder_free(on[0]);
    decoder_free(on[1]);
    backend_free(host);
    backend_free(device);
    model_close(&m);
    gguf_close(&file);
    return 0;
}
