//: session
// What a command that runs the model works with: the open file, the model in it, its
// tokenizer, a backend and a decoder, opened in this order and closed in the other.
#ifndef LANEWISE_SESSION_H
#define LANEWISE_SESSION_H

#include "decoder.h"
#include "options.h"
#include "output.h"
#include "tokenizer.h"

struct session {
    const struct options *options;
    struct output output;
    struct gguf file;
    struct model model;
    struct tokenizer *tokenizer;
    struct backend *backend;
    struct decoder *decoder;
    struct error no_cuda; // why the CPU computes although there is a GPU; empty: no reason
    // What the closing summary tells.
    double load_seconds;
    long prompt_tokens, decoded_tokens;
    double prompt_seconds, decode_seconds;
};

//: session-functions
// s: {.options = ...} with its output open.  The file and its tokenizer.
bool session_open_text(struct session *s, struct error *e);
// Those, the model's weights in a backend, and a decoder.
bool session_open(struct session *s, struct error *e);
void session_close(struct session *s); // also after a failed open
// On standard error, once the input is known to be good: what computes, and warnings.
void session_announce(const struct session *s);
// Without -q, a line on standard error: load time, tokens a second, GB/s.
void session_summary(const struct session *s);
bool session_interrupted(void); // has SIGINT come since the program began?

// The ids of the text that -p, -f or standard input gives.
bool session_read_text(struct session *s, struct ids *ids, bool special, struct error *e);
// All of a file ("-": standard input) of 256 MiB at most in new memory; free() it, even
// after a failure.
bool read_file(const char *path, char **bytes, size_t *count, struct error *e);
// "1,2,3" to ids below limit; what names the list in an error.
bool parse_ids(const char *text, const char *what, int limit, struct ids *ids,
               struct error *e);
double seconds_now(void); // of a clock that only goes forward

// Fills the cache with a prompt, counting its tokens and time; SIGINT stops it early.
bool session_prompt(struct session *s, const int *ids, size_t count, struct error *e);

#endif
