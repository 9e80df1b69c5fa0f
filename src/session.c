//: session-clock
// Opening, closing and summing up; see session.h.
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend_cpu.h"
#include "backend_cuda.h"
#include "graphs.h"

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

//: session-interrupts
// The one mutable global: a signal handler can reach nothing else.
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

// Waiting for input ends (no SA_RESTART); a second signal ends the program at once.
static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
}

bool session_interrupted(void)
{
    return interrupted != 0;
}

//: session-files
enum { MOST_TEXT = 1 << 28 }; // bytes: some streams never end

// All that is left of a stream.
static bool read_stream(FILE *f, char **bytes, size_t *count, struct error *e)
{
    size_t room = 0, n = 0;
    for (size_t got = 1; got > 0 && !ferror(f); n += got) {
        if (n > MOST_TEXT)
            return failed(e, "more than %d bytes of text", MOST_TEXT);
        if (n == room) {
            char *more = realloc(*bytes, room = 2 * room + 4096);
            if (more == NULL)
                return failed(e, "no memory for %zu bytes of text", room);
            *bytes = more;
        }
        got = fread(*bytes + n, 1, room - n, f);
    }
    *count = n;
    return !ferror(f) || failed(e, "%s", strerror(errno));
}

//: session-read-file
bool read_file(const char *path, char **bytes, size_t *count, struct error *e)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    *bytes = NULL;
    bool whole =
        f != NULL ? read_stream(f, bytes, count, e) : failed(e, "%s", strerror(errno));
    if (f != NULL && !standard)
        fclose(f);
    return whole || failed_in(e, "%s", standard ? "standard input" : file_path_shown(path));
}

//: session-ids
bool parse_ids(const char *text, const char *what, int limit, struct ids *ids,
               struct error *e)
{
    for (const char *at = text; *at != 0;) {
        char *end;
        long id = strtol(at, &end, 10); // the largest long where it is larger still
        if (end == at || id < 0 || (*end != ',' && *end != 0))
            return failed(e, "%s: '%.20s' is no list of numbers", what, at);
        if (id >= limit)
            return failed(e, "%s: %.*s is too large, the last is %d", what,
                          (int)(end - at < 20 ? end - at : 20), at, limit - 1);
        if (!ids_push(ids, (int)id, e))
            return false;
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

//: session-read-text
bool session_read_text(struct session *s, struct ids *ids, bool special, struct error *e)
{
    const struct options *o = s->options;
    char *bytes = NULL;
    size_t count = 0;
    if (o->prompt == NULL && !read_file(o->file ? o->file : "-", &bytes, &count, e)) {
        free(bytes);
        return false;
    }
    const char *text = o->prompt ? o->prompt : bytes;
    count = o->prompt ? strlen(o->prompt) : count;
    bool encoded = tokenizer_encode(s->tokenizer, text, count, special, ids, e);
    free(bytes);
    return encoded || failed_in(e, "%s", file_path_shown(s->options->model));
}

//: session-open-text
bool session_open_text(struct session *s, struct error *e)
{
    catch_interrupts();
    if (!gguf_open(&s->file, s->options->model, e))
        return false;
    s->tokenizer = tokenizer_new(&s->file, e);
    return s->tokenizer != NULL;
}

static void show_progress(void *user, size_t done, size_t total)
{
    (void)user;
    fprintf(stderr, "\rloading %3.0f%%%s", 100.0 * (double)done / (double)total,
            done == total ? "\r            \r" : "");
}

//: session-cuda
// Emulated kernels are for tests, so they must be asked for.
static bool cuda_by_default(void)
{
    struct error e;
#if defined WITH_KERNELS && !defined EMULATED
    return backend_cuda_present(&e);
#else
    return failed(&e, "no CUDA in this build");
#endif
}

//: session-open-backend
// Null with the reason: this build or this machine has no CUDA.
static struct backend *open_cuda(const struct backend_options *options, struct error *e)
{
#ifdef WITH_KERNELS
    struct backend *b = backend_cuda_new(options, e);
    if (b == NULL || !options->graphs || graphs_enable(b, e))
        return b;
    backend_free(b);
#else
    (void)options;
    failed(e, "this program was built without CUDA");
#endif
    return NULL;
}

//: session-choose-backend
static bool open_backend(struct session *s, struct error *e)
{
    const struct options *o = s->options;
    const struct backend_options options = {o->kv, o->threads, !o->no_graph};
    bool wants_cuda = o->backend != NULL && strcmp(o->backend, "cuda") == 0;
    bool takes_cuda = wants_cuda || (o->backend == NULL && cuda_by_default());
    if (takes_cuda && (s->backend = open_cuda(&options, &s->no_cuda)) == NULL && wants_cuda)
        return failed(e, "--backend cuda: %s", s->no_cuda.text);
    if (s->backend == NULL)
        s->backend = backend_cpu_new(&options, e);
    return s->backend != NULL;
}

//: session-checks
static bool check_context(const struct session *s, struct error *e)
{
    int wanted = s->options->context, most = s->model.shape.context;
    if (wanted <= most)
        return true;
    return failed(e, "--ctx is %d, but the context of %s is %d", wanted,
                  file_path_shown(s->file.path), most);
}

static bool check_vocabulary(const struct session *s, struct error *e)
{
    int tokens = tokenizer_count(s->tokenizer), rows = s->model.shape.vocabulary;
    if (tokens <= rows)
        return true;
    return failed(e, "%s: %d tokens, but token_embd.weight has %d rows",
                  file_path_shown(s->file.path), tokens, rows);
}

//: session-open
static bool open_decoder(struct session *s, struct error *e)
{
    const struct options *o = s->options;
    const struct decoder_options options = {o->kv, o->context};
    bool watched = !o->quiet && isatty(STDERR_FILENO);
    s->decoder = decoder_new(&s->model, s->backend, &options,
                             watched ? show_progress : NULL, NULL, e);
    if (s->decoder == NULL && watched)
        fputs("\r            \r", stderr);
    return s->decoder != NULL;
}

//: session-check-interrupts
static bool check_interrupts(struct error *e)
{
    return !session_interrupted() || failed(e, "interrupted");
}

bool session_open(struct session *s, struct error *e)
{
    double start = seconds_now();
    if (!session_open_text(s, e) || !model_open(&s->model, &s->file, e) ||
        !check_context(s, e) || !check_vocabulary(s, e) ||
        !model_check_values(&s->model, &s->file, e) || !check_interrupts(e) ||
        !open_backend(s, e) || !open_decoder(s, e))
        return false;
    s->load_seconds = seconds_now() - start;
    return true;
}

//: session-close
void session_close(struct session *s)
{
    decoder_free(s->decoder);
    backend_free(s->backend);
    tokenizer_free(s->tokenizer);
    model_close(&s->model);
    gguf_close(&s->file);
}

void session_announce(const struct session *s)
{
    const struct options *o = s->options;
    if (s->model.theta_is_default)
        fprintf(stderr, "warning: %s: qwen3.rope.freq_base is missing; %g is used\n",
                s->file.path, s->model.shape.theta);
    if (s->no_cuda.text[0] != 0)
        fprintf(stderr, "warning: no CUDA: %s\n", s->no_cuda.text);
    if (!o->quiet)
        fprintf(stderr, "backend: %s, %s\n", s->backend->name, s->backend->device);
    if (o->verbose)
        fprintf(stderr, "context: %d tokens, cache %s; %.1f MB of weights and cache\n",
                decoder_context(s->decoder), o->kv == KV_F16 ? "f16" : "f32",
                (double)s->backend->bytes_in_use * 1e-6);
}

//: session-summary
static double rate(double count, double seconds)
{
    return seconds > 0 ? count / seconds : 0;
}

void session_summary(const struct session *s)
{
    struct error e;
    double tokens = rate((double)s->decoded_tokens, s->decode_seconds);
    double bytes = tokens * (double)model_bytes_a_token(&s->model);
    if (s->options->quiet)
        return;
    fprintf(stderr, "loaded in %.2f s; ", s->load_seconds);
    fprintf(stderr, "prompt: %ld tokens, %.1f tokens/s; ", s->prompt_tokens,
            rate((double)s->prompt_tokens, s->prompt_seconds));
    fprintf(stderr, "decoded: %ld tokens, %.1f tokens/s, %.2f GB/s of weights",
            s->decoded_tokens, tokens, bytes * 1e-9);
    bool cuda = strcmp(s->backend->name, "cuda") == 0;
    double peak = cuda ? backend_read_bandwidth(s->backend, &e) : 0;
    if (peak > 0)
        fprintf(stderr, ", %.1f %% of the peak", 100 * bytes / peak);
    fputc('\n', stderr);
}

//: session-prompt
bool session_prompt(struct session *s, const int *ids, size_t count, struct error *e)
{
    enum { PIECE = 16 }; // tokens between looks at the signal
    double start = seconds_now();
    bool watched = !s->options->quiet && isatty(STDERR_FILENO) && count > 4 * PIECE;
    bool fed = true;
    for (size_t i = 0; fed && i < count && !session_interrupted(); i += PIECE) {
        size_t n = count - i < PIECE ? count - i : PIECE;
        fed = decoder_fill(s->decoder, ids + i, n, e);
        s->prompt_tokens += (long)n;
        if (watched)
            fprintf(stderr, "\rprompt %zu/%zu", i + n, count);
    }
    if (watched)
        fprintf(stderr, "\r                      \r");
    s->prompt_seconds += seconds_now() - start;
    return fed;
}
