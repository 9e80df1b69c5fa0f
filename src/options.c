//: options-commands
// The command line as two tables: what commands there are, and what options each takes.
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"

static const struct {
    const char *name, *operands, *does;
} commands[COMMANDS] = {
    [GENERATE] = {"generate", "MODEL", "continue a text"},
    [CHAT] = {"chat", "MODEL", "hold a conversation, a line a turn"},
    [INFO] = {"info", "MODEL", "show header, metadata and tensors"},
    [TOKENIZE] = {"tokenize", "MODEL", "turn a text into token ids"},
    [DETOKENIZE] = {"detokenize", "MODEL ID,ID,...", "turn token ids into their bytes"},
    [LOGITS] = {"logits", "MODEL --ids ID,ID,...", "print the logits after each id"},
    [PERPLEXITY] = {"perplexity", "MODEL -f FILE", "how well the model foresees a text"},
    [BENCH] = {"bench", "MODEL", "measure the speed of decoding"},
    [SYNTH] = {"synth", "--shape NAME OUT", "write a model of random weights"},
};

//: options-rows
enum kind { FLAG, TEXT, LIST, COUNT, REAL, SEED, CACHE };

enum { // sets of commands
    ON_GENERATE = 1 << GENERATE,
    ON_CHAT = 1 << CHAT,
    ON_BENCH = 1 << BENCH,
    ON_TOKENIZE = 1 << TOKENIZE,
    ON_LOGITS = 1 << LOGITS,
    ON_SYNTH = 1 << SYNTH,
    ON_PERPLEXITY = 1 << PERPLEXITY,
    WRITING = ON_GENERATE | ON_CHAT,
    RUNNING = WRITING | ON_LOGITS | ON_PERPLEXITY | ON_BENCH, // those that load the weights
    READING = ON_GENERATE | ON_TOKENIZE,                      // those that take a text
    // Taken by every command, so that a script may pass one set to all; shown by those it
    // means something to.
    COMMON = 1 << 30,
};

//: options-row
struct row {
    const char *name;
    char letter; // 0: no short form
    enum kind kind;
    unsigned on;        // the commands that take it
    size_t field;       // where in struct options it goes
    double least, most; // of a number
    const char *argument, *does;
};

//: options-table
#define FIELD(name) offsetof(struct options, name)

static const struct row rows[] = {
    {"prompt", 'p', TEXT, READING | ON_CHAT, FIELD(prompt), 0, 0, "TEXT",
     "the text; without -p and -f, standard input"},
    {"file", 'f', TEXT, READING | ON_PERPLEXITY, FIELD(file), 0, 0, "FILE",
     "the text, from a file"},
    {"system", 0, TEXT, ON_CHAT, FIELD(system), 0, 0, "TEXT", "a system message"},
    {"no-think", 0, FLAG, ON_CHAT, FIELD(no_think), 0, 0, NULL, "answer without thinking"},
    {"special", 0, FLAG, ON_TOKENIZE, FIELD(special), 0, 0, NULL,
     "also match control tokens"},
    {"ids", 0, FLAG, ON_GENERATE, FIELD(print_ids), 0, 0, NULL,
     "print ids, separated by commas, instead of text"},
    {"ids", 0, LIST, ON_LOGITS, FIELD(ids), 0, 0, "ID,ID,...", "the ids to feed"},
    {"tokens", 'n', COUNT, COMMON | WRITING | ON_BENCH, FIELD(tokens), 0, 1 << 24, "N",
     "the most new tokens (128)"},
    {"depth", 0, LIST, ON_BENCH, FIELD(depths), 0, 0, "N,N,...",
     "positions filled before measuring (0,2048,8000)"},
    {"repeat", 0, COUNT, ON_BENCH, FIELD(repeat), 1, 1000, "N", "runs at each depth (3)"},
    {"tsv", 0, FLAG, ON_BENCH, FIELD(tsv), 0, 0, NULL, "a table for programs"},
    {"shape", 0, TEXT, ON_SYNTH, FIELD(shape), 0, 0, "NAME",
     "qwen3-0.6b, -1.7b, -4b, -8b, -14b or -32b"},
    {"layers", 0, COUNT, ON_SYNTH, FIELD(layers), 1, 1000, "N",
     "so many layers instead of the shape's"},
    //: options-table-2
    {"temp", 0, REAL, COMMON | WRITING, FIELD(sampling.temperature), 0, 1000, "T",
     "temperature; 0 takes the most likely token (0)"},
    {"top-k", 0, COUNT, COMMON | WRITING, FIELD(sampling.top_k), 0, 1 << 24, "K",
     "draw from the K most likely tokens; 0: all (0)"},
    {"top-p", 0, REAL, COMMON | WRITING, FIELD(sampling.top_p), 0, 1, "P",
     "draw from the most likely that add up to P (1)"},
    {"min-p", 0, REAL, COMMON | WRITING, FIELD(sampling.min_p), 0, 1, "P",
     "draw from those at least P times the most likely (0)"},
    {"seed", 0, SEED, COMMON | WRITING, FIELD(sampling.seed), 0, 0, "N",
     "of the draws (0)"},
    {"ignore-eos", 0, FLAG, COMMON | WRITING, FIELD(ignore_eos), 0, 0, NULL,
     "go on after an end-of-text token"},
    //: options-table-3
    {"backend", 0, TEXT, COMMON | RUNNING, FIELD(backend), 0, 0, "cpu|cuda",
     "where to compute (cuda, where there is one)"},
    {"kv", 0, CACHE, COMMON | RUNNING, FIELD(kv), 0, 0, "f16|f32",
     "type of the cache (f16)"},
    {"ctx", 0, COUNT, COMMON | RUNNING, FIELD(context), 1, 1 << 24, "N",
     "positions in the cache (the model's, at most 8192)"},
    {"threads", 0, COUNT, COMMON | RUNNING, FIELD(threads), 1, 1024, "N",
     "CPU threads (all)"},
    {"no-graph", 0, FLAG, COMMON | RUNNING, FIELD(no_graph), 0, 0, NULL,
     "launch kernels one by one on CUDA"},
    {"quiet", 'q', FLAG, COMMON | RUNNING, FIELD(quiet), 0, 0, NULL,
     "no progress, no summary"},
    {"verbose", 'v', FLAG, COMMON | RUNNING, FIELD(verbose), 0, 0, NULL, "say more"},
    {"help", 'h', FLAG, ~0u, FIELD(help), 0, 0, NULL, "this help"},
};
enum { ROWS = sizeof rows / sizeof *rows };

//: options-values
static bool set_number(struct options *o, const struct row *r, const char *text,
                       struct error *e)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool whole = r->kind != COUNT || value == floor(value);
    if (end == text || *end != 0 || errno != 0 || !whole ||
        !(value >= r->least && value <= r->most))
        return failed(e, "--%s is '%.60s', expected %s from %g to %.0f", r->name, text,
                      r->kind == COUNT ? "a whole number" : "a number", r->least, r->most);
    void *field = (char *)o + r->field;
    if (r->kind == COUNT)
        *(int *)field = (int)value;
    else
        *(double *)field = value;
    return true;
}

//: options-set-seed
static bool set_seed(struct options *o, const char *text, struct error *e)
{
    char *end;
    errno = 0;
    o->sampling.seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || errno != 0)
        return failed(e, "--seed is '%.60s', expected a whole number below 2^64", text);
    return true;
}

//: options-is-list
// Numbers separated by commas; none at all is a list too.
static bool is_list(const char *text)
{
    bool digit = *text == 0;
    for (; *text != 0; text++) {
        bool comma = *text == ',' && digit;
        digit = *text >= '0' && *text <= '9';
        if (!digit && !comma)
            return false;
    }
    return digit;
}

//: options-set-list
static bool set_list(const char **list, const char *what, const char *text, struct error *e)
{
    *list = text;
    return is_list(text) || failed(e, "%s: '%.60s' is no list like 1,2,3", what, text);
}

static bool set_cache(struct options *o, const char *text, struct error *e)
{
    o->kv = strcmp(text, "f32") == 0 ? KV_F32 : KV_F16;
    if (strcmp(text, "f32") != 0 && strcmp(text, "f16") != 0)
        return failed(e, "--kv is '%.60s', expected f16 or f32", text);
    return true;
}

//: options-set-field
static bool set(struct options *o, const struct row *r, const char *text, struct error *e)
{
    void *field = (char *)o + r->field;
    switch (r->kind) {
    case FLAG:
        *(bool *)field = true;
        return true;
    case TEXT:
        *(const char **)field = text;
        return true;
    case LIST:
        return set_list(field, r->name, text, e);
    case COUNT:
    case REAL:
        return set_number(o, r, text, e);
    case SEED:
        return set_seed(o, text, e);
    case CACHE:
        return set_cache(o, text, e);
    }
    return false;
}

//: options-getopt
// What getopt_long wants to know, for the options of one command.  An option is known by
// its row's number plus 256, beyond every letter.
struct known {
    char letters[3 * ROWS + 2];
    struct option words[ROWS + 1];
};

static bool takes(enum command command, const struct row *r)
{
    return (r->on >> command & 1) != 0 || (r->on & COMMON) != 0;
}

//: options-know
static void know(struct known *k, enum command command)
{
    size_t n_letters = 0, n_words = 0;
    k->letters[n_letters++] = ':'; // tell a missing argument from an unknown option
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        if (!takes(command, r))
            continue;
        bool argument = r->argument != NULL;
        k->words[n_words++] = (struct option){r->name, argument, NULL, 256 + i};
        if (r->letter != 0)
            k->letters[n_letters++] = r->letter;
        if (r->letter != 0 && argument)
            k->letters[n_letters++] = ':';
    }
    k->letters[n_letters] = 0;
    k->words[n_words] = (struct option){0};
}

//: options-row-of
static const struct row *row_of(int found, enum command command)
{
    if (found >= 256)
        return &rows[found - 256];
    for (int i = 0; i < ROWS; i++)
        if (rows[i].letter == found && takes(command, &rows[i]))
            return &rows[i];
    return NULL;
}

//: options-operands
// What a command cannot do without, and what does not go together.
static bool is_complete(const struct options *o, struct error *e)
{
    if (o->command == LOGITS && o->ids == NULL)
        return failed(e, "logits needs --ids ID,ID,...");
    if (o->command == PERPLEXITY && o->file == NULL)
        return failed(e, "perplexity needs -f FILE");
    if (o->command == SYNTH && o->shape == NULL)
        return failed(e, "synth needs --shape NAME");
    if (o->command == BENCH && o->tokens == 0)
        return failed(e, "bench needs -n 1 or more");
    if (o->prompt != NULL && o->file != NULL)
        return failed(e, "%s takes -p or -f, not both", commands[o->command].name);
    if (o->backend != NULL && strcmp(o->backend, "cpu") != 0 &&
        strcmp(o->backend, "cuda") != 0)
        return failed(e, "--backend is '%.60s', expected cpu or cuda", o->backend);
    if (o->shape != NULL && synth_find(o->shape) == NULL)
        return failed(
            e, "--shape is '%.60s', expected qwen3-0.6b, -1.7b, -4b, -8b, -14b or -32b",
            o->shape);
    return true;
}

//: options-take-operands
static bool take_operands(struct options *o, int argc, char **argv, struct error *e)
{
    const char *name = commands[o->command].name;
    int wanted = o->command == DETOKENIZE ? 2 : 1, found = argc - optind;
    if (found != wanted)
        return failed(e, "%s takes %d operand%s, found %d; usage: lanewise %s %s", name,
                      wanted, wanted == 1 ? "" : "s", found, name,
                      commands[o->command].operands);
    o->model = argv[optind];
    if (wanted == 2 && !set_list(&o->operand, name, argv[optind + 1], e))
        return false;
    return is_complete(o, e);
}

//: options-parse-rest
// An option as the user wrote it: getopt leaves a letter, or the number of a word's row, in
// optopt, or 0 where it knows no such word.
static bool wrong_option(const char *written, const char *what, struct error *e)
{
    if (optopt >= 256)
        return failed(e, "--%s %s", rows[optopt - 256].name, what);
    if (optopt != 0)
        return failed(e, "-%c %s", optopt, what);
    return failed(e, "%.60s %s", written, what);
}

//: options-parse-words
static bool parse_rest(struct options *o, int argc, char **argv, struct error *e)
{
    struct known known;
    int found;
    know(&known, o->command);
    opterr = 0;
    optind = 0; // GNU: start over
    while ((found = getopt_long(argc, argv, known.letters, known.words, NULL)) != -1) {
        const struct row *r = row_of(found, o->command);
        if (found == ':')
            return wrong_option("", "needs an argument", e);
        if (found == '?' && optopt >= 256)
            return wrong_option("", "takes no argument", e);
        if (r == NULL)
            return wrong_option(argv[optind - 1], "is no option of this command", e);
        if (!set(o, r, optarg, e))
            return false;
    }
    return o->help || take_operands(o, argc, argv, e);
}

//: options-parse
static bool find_command(const char *name, enum command *command)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            *command = (enum command)i;
    return *command != COMMANDS;
}

bool options_parse(struct options *o, int argc, char **argv, struct error *e)
{
    *o = (struct options){.command = COMMANDS, .tokens = 128, .repeat = 3, .kv = KV_F16};
    o->sampling.top_p = 1;
    if (argc < 2)
        return failed(e, "a command is missing; see lanewise --help");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return o->help = true;
    if (strcmp(argv[1], "--version") == 0)
        return o->version = true;
    if (!find_command(argv[1], &o->command))
        return failed(e, "'%.60s' is no command; see lanewise --help", argv[1]);
    return parse_rest(o, argc - 1, argv + 1, e);
}

//: options-help
static void help_all(FILE *out)
{
    fprintf(out, "lanewise decodes quantized Qwen3 models in GGUF files.\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  lanewise %-10s %-22s %s\n", commands[i].name, commands[i].operands,
                commands[i].does);
    fprintf(out, "\n  lanewise COMMAND --help      the options of a command\n"
                 "  lanewise --version\n");
}

//: options-help-row
static void help_row(const struct row *r, FILE *out)
{
    char text[64];
    snprintf(text, sizeof text, "--%s%s%s", r->name, r->argument ? " " : "",
             r->argument ? r->argument : "");
    if (r->letter != 0)
        fprintf(out, "  -%c, %-20s %s\n", r->letter, text, r->does);
    else
        fprintf(out, "      %-20s %s\n", text, r->does);
}

void options_help(enum command command, FILE *out)
{
    if (command == COMMANDS) {
        help_all(out);
        return;
    }
    fprintf(out, "lanewise %s %s [options]: %s\n\n", commands[command].name,
            commands[command].operands, commands[command].does);
    for (int i = 0; i < ROWS; i++)
        if ((rows[i].on >> command & 1) != 0)
            help_row(&rows[i], out);
}
