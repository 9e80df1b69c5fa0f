//: bench-run
// Timing whole greedy runs; see bench.h.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

//: bench-go-on
static bool go_on(bool (*going)(void), struct error *e)
{
    return going == NULL || going() || failed(e, "interrupted");
}

// Tokens that spread over the vocabulary: what they are does not matter to the speed.
static bool fill_to(struct decoder *d, int depth, bool (*going)(void), struct error *e)
{
    if (decoder_position(d) > depth)
        decoder_rewind(d, depth);
    while (decoder_position(d) < depth) {
        int token = (int)((long)decoder_position(d) * 7919 % decoder_vocabulary(d));
        if (!go_on(going, e) || !decoder_fill(d, &token, 1, e))
            return false;
    }
    return true;
}

//: bench-time
// One run: the seconds that count tokens take, after one that is not counted, since it may
// pay for what is done once.  Negative on failure.
static double time_run(struct decoder *d, int count, bool (*going)(void), struct error *e)
{
    int token;
    bool good =
        decoder_greedy_start(d, 0, count + 1, e) && decoder_greedy_next(d, &token, e);
    double start = now();
    for (int i = 0; good && i < count; i++)
        good = go_on(going, e) && decoder_greedy_next(d, &token, e);
    double seconds = now() - start;
    decoder_greedy_stop(d);
    return good ? seconds : -1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

//: bench-depth
bool bench_depth(struct decoder *d, int depth, int count, int repeat, bool (*going)(void),
                 struct bench_row *row, struct error *e)
{
    double rates[BENCH_MOST_REPEATS];
    if (depth + count + 1 > decoder_context(d))
        return failed(e, "depth %d and %d tokens do not fit the context's %d", depth,
                      count + 1, decoder_context(d));
    for (int i = 0; i < repeat; i++) {
        if (!fill_to(d, depth, going, e))
            return false;
        double seconds = time_run(d, count, going, e);
        if (seconds < 0)
            return false;
        rates[i] = count / seconds;
    }
    qsort(rates, (size_t)repeat, sizeof *rates, ascending);
    row->depth = depth;
    row->least = rates[0];
    row->most = rates[repeat - 1];
    row->median = (rates[(repeat - 1) / 2] + rates[repeat / 2]) / 2;
    return true;
}

//: bench-print
void bench_head(char text[BENCH_LINE], bool tsv)
{
    if (tsv)
        snprintf(text, BENCH_LINE,
                 "depth\ttokens_s\tmin\tmax\tweight_bytes\tgb_s\tshare\n");
    else
        snprintf(text, BENCH_LINE, "%8s %10s %10s %10s %10s %8s %6s\n", "depth", "tokens/s",
                 "min", "max", "MB/token", "GB/s", "share");
}

void bench_line(char text[BENCH_LINE], bool tsv, const struct bench_row *row,
                const struct bench_machine *machine)
{
    double bytes = machine->weight_bytes, rate = bytes * row->median;
    double share = machine->read_bandwidth > 0 ? rate / machine->read_bandwidth : 0;
    if (tsv)
        snprintf(text, BENCH_LINE, "%d\t%.3f\t%.3f\t%.3f\t%.0f\t%.3f\t%.4f\n", row->depth,
                 row->median, row->least, row->most, bytes, rate * 1e-9, share);
    else
        snprintf(text, BENCH_LINE, "%8d %10.1f %10.1f %10.1f %10.1f %8.2f %5.1f%%\n",
                 row->depth, row->median, row->least, row->most, bytes * 1e-6, rate * 1e-9,
                 100 * share);
}
