//: main-table
// The program: reads the command line, runs one command, turns what went wrong into one
// line and an exit status.
#include <signal.h>
#include <stdio.h>

#include "commands.h"

#define VERSION "0.1.0"

enum { DONE = 0, FAILED = 1, WRONG_USAGE = 2, INTERRUPTED = 130 };

static bool (*const commands[COMMANDS])(struct session *, struct error *) = {
    [GENERATE] = command_generate,
    [CHAT] = command_chat,
    [INFO] = command_info,
    [TOKENIZE] = command_tokenize,
    [DETOKENIZE] = command_detokenize,
    [LOGITS] = command_logits,
    [PERPLEXITY] = command_perplexity,
    [BENCH] = command_bench,
    [SYNTH] = command_synth,
};

//: main-run
static int run(const struct options *o)
{
    struct error e = {.text = ""}, unwritten;
    struct session s = {.options = o};
    signal(SIGPIPE,
           SIG_IGN); // writing to a closed pipe fails instead of ending the program
    file_map_guard();
    bool done = commands[o->command](&s, &e);
    bool written = output_finish(&s.output, &unwritten);
    bool writes = o->command == GENERATE || o->command == CHAT;
    if (done && written && writes)
        session_summary(&s);
    session_close(&s);
    if (!written || !done)
        fprintf(stderr, "lanewise: %s\n", done ? unwritten.text : e.text);
    return !written || !done ? FAILED : session_interrupted() ? INTERRUPTED : DONE;
}

//: main
int main(int argc, char **argv)
{
    struct options options;
    struct error e;
    if (!options_parse(&options, argc, argv, &e)) {
        fprintf(stderr, "lanewise: %s\n", e.text);
        return WRONG_USAGE;
    }
    if (options.version)
        printf("lanewise %s\n", VERSION);
    if (options.help)
        options_help(options.command, stdout);
    return options.version || options.help ? DONE : run(&options);
}
