//: main-table
// The program: reads the command line, runs one command, turns what went wrong into one
// line and an exit status.
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
// What a command came to: its failure or that of writing, one line; else the summary.
static int finish(struct session *s, bool done, const struct error *e)
{
    struct error unwritten;
    bool written = output_finish(&s->output, &unwritten);
    bool interrupted = session_interrupted();
    bool sums_up = s->options->command == GENERATE || s->options->command == CHAT;
    if (!written || (!done && !interrupted)) {
        fprintf(stderr, "lanewise: %s\n", done ? unwritten.text : e->text);
        return FAILED;
    }
    if (sums_up && s->decoder != NULL && s->output.state == OUTPUT_OPEN)
        session_summary(s);
    return interrupted ? INTERRUPTED : DONE;
}

//: main-finish-run
static int run(const struct options *o)
{
    struct error e = {.text = ""};
    struct session s = {.options = o};
    output_open(&s.output);
    file_map_guard();
    bool done = commands[o->command](&s, &e);
    int status = finish(&s, done, &e);
    session_close(&s);
    return status;
}

//: main
static int tell(const struct options *o)
{
    struct error e;
    struct output output;
    output_open(&output);
    if (o->version)
        printf("lanewise %s\n", VERSION);
    else
        options_help(o->command, stdout);
    if (output_finish(&output, &e))
        return DONE;
    fprintf(stderr, "lanewise: %s\n", e.text);
    return FAILED;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error e;
    if (!options_parse(&options, argc, argv, &e)) {
        fprintf(stderr, "lanewise: %s\n", e.text);
        return WRONG_USAGE;
    }
    return options.version || options.help ? tell(&options) : run(&options);
}
