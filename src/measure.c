//: measure-depths
// lanewise bench and synth: measuring, and something to measure with.
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "commands.h"
#include "synth.h"

#define DEFAULT_DEPTHS "0,2048,8000"

static bool going(void)
{
    return !session_interrupted();
}

//: measure-fits
// Depths the user named must fit; of the default ones those that do not are left out.
static bool fits(const struct session *s, int depth)
{
    return depth + s->options->tokens + 1 <= decoder_context(s->decoder);
}

static bool depths_fit(const struct session *s, const struct ids *depths, struct error *e)
{
    for (size_t i = 0; s->options->depths != NULL && i < depths->count; i++)
        if (!fits(s, depths->items[i]))
            return failed(e, "depth %d and %d tokens do not fit the context's %d",
                          depths->items[i], s->options->tokens + 1,
                          decoder_context(s->decoder));
    return true;
}

static bool wanted(const struct session *s, int depth)
{
    if (!fits(s, depth))
        fprintf(stderr, "depth %d is left out: the context is %d\n", depth,
                decoder_context(s->decoder));
    return fits(s, depth);
}

//: measure-table
static bool measure_depths(struct session *s, const struct ids *depths,
                           const struct bench_machine *machine, struct error *e)
{
    const struct options *o = s->options;
    char text[BENCH_LINE];
    bench_head(text, o->tsv);
    output_print(&s->output, "%s", text);
    for (size_t i = 0; i < depths->count && s->output.state == OUTPUT_OPEN; i++) {
        struct bench_row row;
        if (!wanted(s, depths->items[i]))
            continue;
        if (!bench_depth(s->decoder, depths->items[i], o->tokens, o->repeat, going, &row,
                         e))
            return false;
        bench_line(text, o->tsv, &row, machine);
        output_write(&s->output, text, strlen(text));
    }
    return true;
}

//: measure-commands
static bool measure(struct session *s, const struct ids *depths, struct error *e)
{
    struct bench_machine machine = {.weight_bytes = (double)model_bytes_a_token(&s->model)};
    if (!depths_fit(s, depths, e))
        return false;
    session_announce(s);
    machine.read_bandwidth = backend_read_bandwidth(s->backend, e);
    if (!(machine.read_bandwidth > 0))
        return false;
    if (!s->options->quiet)
        fprintf(stderr, "read bandwidth: %.1f GB/s\n", machine.read_bandwidth * 1e-9);
    return measure_depths(s, depths, &machine, e);
}

//: measure-command-bench
bool command_bench(struct session *s, struct error *e)
{
    struct ids depths = {0};
    const char *list = s->options->depths ? s->options->depths : DEFAULT_DEPTHS;
    bool good = parse_ids(list, "--depth", 1 << 24, &depths, e) && session_open(s, e) &&
                measure(s, &depths, e);
    ids_free(&depths);
    return good;
}

bool command_synth(struct session *s, struct error *e)
{
    const struct options *o = s->options;
    return synth_write(o->model, synth_find(o->shape), o->layers, 151936, e);
}
