//: options
// The command line: one command, its options and its operands, checked.
#ifndef LANEWISE_OPTIONS_H
#define LANEWISE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "backend.h"
#include "sampler.h"

enum command {
    GENERATE,
    CHAT,
    INFO,
    TOKENIZE,
    DETOKENIZE,
    LOGITS,
    PERPLEXITY,
    BENCH,
    SYNTH,
    COMMANDS,
};

//: options-struct
struct options {
    enum command command;
    const char *model;   // the first operand; synth's OUT
    const char *operand; // detokenize's ids
    const char *prompt, *file, *system, *shape, *backend;
    const char *ids;    // logits' list
    const char *depths; // bench's list
    enum kv_type kv;
    int context; // 0: the program chooses
    int tokens;  // most new ones
    int threads; // 0: all
    int repeat, layers;
    struct sampler_options sampling;
    bool print_ids, special, no_think, ignore_eos, no_graph, quiet, verbose, tsv;
    bool help, version;
};

// False: e says what is wrong with the usage.  The strings are views of argv.
bool options_parse(struct options *o, int argc, char **argv, struct error *e);

// The help of one command, or of the program for COMMANDS.
void options_help(enum command command, FILE *out);

#endif
