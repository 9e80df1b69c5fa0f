//: measure-depths
// lanewise bench and synth: measuring, and something to measure with.
#include <stdio.h>

#include "bench.h"
#include "commands.h"
#include "synth.h"

#define DEFAULT_DEPTHS "0,2048,8000"

static bool going(void)
{
    return !session_interrupted();
}

// Depths the user named must fit; of the default ones those that do not are left out.
static bool wanted(struct session *s, int depth)
{
    bool fits = depth + s->options->tokens + 1 <= decoder_context(s->decoder);
    if (!fits && s->options->depths == NULL)
        fprintf(stderr, "depth %d is left out: the context is %d\n", depth,
                decoder_context(s->decoder));
    return fits || s->options->depths != NULL;
}

static bool measure(struct session *s, const struct ids *depths, struct error *e)
{
    const struct options *o = s->options;
    struct bench_machine machine = {.weight_bytes = (double)model_bytes_a_token(&s->model)};
    machine.read_bandwidth = backend_read_bandwidth(s->backend, e);
    if (!(machine.read_bandwidth > 0))
        return false;
    if (!o->quiet)
        fprintf(stderr, "read bandwidth: %.1f GB/s\n", machine.read_bandwidth * 1e-9);
    bench_print_head(stdout, o->tsv);
    for (size_t i = 0; i < depths->count; i++) {
        struct bench_row row;
        if (!wanted(s, depths->items[i]))
            continue;
        if (!bench_depth(s->decoder, depths->items[i], o->tokens, o->repeat, going, &row,
                         e))
            return session_interrupted();
        bench_print_row(stdout, o->tsv, &row, &machine);
    }
    return true;
}

//: measure-commands
bool command_bench(struct session *s, struct error *e)
{
    struct ids depths = {0};
    const char *list = s->options->depths ? s->options->depths : DEFAULT_DEPTHS;
    bool good = s->options->tokens > 0 || failed(e, "bench needs -n 1 or more");
    good = good && parse_ids(list, "--depth", 1 << 24, &depths, e) &&
           session_open(s, s->options, e) && measure(s, &depths, e);
    ids_free(&depths);
    return good;
}

bool command_synth(struct session *s, struct error *e)
{
    const struct options *o = s->options;
    const struct synth_shape *shape = synth_find(o->shape);
    output_open(&s->output);
    if (shape == NULL)
        return failed(e,
                      "--shape is '%s', expected qwen3-0.6b, -1.7b, -4b, -8b, -14b or -32b",
                      o->shape);
    return synth_write(o->model, shape, o->layers, 151936, e);
}
