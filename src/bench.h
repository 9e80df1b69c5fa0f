//: bench
// How fast a decoder decodes, at several depths of its cache, and what share of the
// machine's read bandwidth that is.
#ifndef LANEWISE_BENCH_H
#define LANEWISE_BENCH_H

#include <stdbool.h>

#include "backend.h"
#include "decoder.h"

struct bench_row {
    int depth;                  // positions filled before the run
    double median, least, most; // tokens a second, over the repeats
};

//: bench-depth-2
enum { BENCH_MOST_REPEATS = 1000 };

// Fills the cache to depth, then decodes count tokens greedily, repeat times; repeat is at
// most BENCH_MOST_REPEATS.  What successive calls find filled stays.  going, if not null,
// is asked now and then; false ends the run with "interrupted".
bool bench_depth(struct decoder *d, int depth, int count, int repeat, bool (*going)(void),
                 struct bench_row *row, struct error *e);

struct bench_machine {
    double weight_bytes;   // read for each token
    double read_bandwidth; // bytes a second, measured
};
// A line of a table for people, or with tsv for programs, ended; text has this much room.
enum { BENCH_LINE = 160 };
void bench_head(char text[BENCH_LINE], bool tsv);
void bench_line(char text[BENCH_LINE], bool tsv, const struct bench_row *row,
                const struct bench_machine *machine);

#endif
