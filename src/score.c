//: score-logits
// lanewise logits and perplexity: what the model thinks of a text that is given.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "commands.h"

static bool print_logits(struct session *s, int id, struct error *e)
{
    if (!decoder_prompt(s->decoder, &id, 1, e))
        return false;
    const float *logits = decoder_logits(s->decoder, e);
    if (logits == NULL)
        return false;
    for (int i = 0; i < decoder_vocabulary(s->decoder); i++)
        output_print(&s->output, i > 0 ? " %.9g" : "%.9g", (double)logits[i]);
    output_write(&s->output, "\n", 1);
    return true;
}

//: score-going
static bool going(const struct session *s)
{
    return !session_interrupted() && s->output.state == OUTPUT_OPEN;
}

bool command_logits(struct session *s, struct error *e)
{
    struct ids ids = {0};
    bool good = session_open(s, e) && parse_ids(s->options->ids, "--ids",
                                                decoder_vocabulary(s->decoder), &ids, e);
    int context = good ? decoder_context(s->decoder) : 0;
    if (good && ids.count > (size_t)context)
        good =
            failed(e, "--ids has %zu ids, more than the context's %d", ids.count, context);
    if (good)
        session_announce(s);
    for (size_t i = 0; good && i < ids.count && going(s); i++)
        good = print_logits(s, ids.items[i], e);
    ids_free(&ids);
    return good;
}

//: score-surprise
// -log of the probability that the softmax of the logits gives to a token, in nats.
static double surprise(const float *logits, int n, int token)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        top = fmax(top, logits[i]);
    for (int i = 0; i < n; i++)
        sum += exp(logits[i] - top);
    return top + log(sum) - logits[token];
}

struct score { // of the tokens so far
    long count;
    double sum, squares; // of their surprise
};

static void print_score(struct session *s, const struct score *a)
{
    double n = (double)a->count, mean = a->sum / n;
    double variance = n > 1 ? (a->squares - n * mean * mean) / (n - 1) : 0;
    double error = exp(mean) * sqrt(fmax(variance, 0) / n); // of exp(mean), to first order
    output_print(&s->output, "perplexity %.4f +- %.4f over %ld tokens\n", exp(mean), error,
                 a->count);
}

//: score-window
// The tokens of one window; those from `first` on are scored, each after all before it.
static bool score_window(struct session *s, const int *ids, size_t count, size_t first,
                         struct score *a, struct error *e)
{
    int vocabulary = decoder_vocabulary(s->decoder);
    decoder_rewind(s->decoder, 0);
    if (!session_prompt(s, ids, first - 1, e))
        return false;
    for (size_t i = first; i < count && !session_interrupted(); i++) {
        const float *logits = NULL;
        if (decoder_prompt(s->decoder, &ids[i - 1], 1, e))
            logits = decoder_logits(s->decoder, e);
        if (logits == NULL)
            return false;
        double nats = surprise(logits, vocabulary, ids[i]);
        if (!isfinite(nats))
            return failed(e, "%s: the logits at position %zu are not finite",
                          file_path_shown(s->options->model), i - 1);
        a->count++;
        a->sum += nats;
        a->squares += nats * nats;
    }
    return true;
}

//: score-text
static void show_progress(const struct score *a, size_t done, size_t of)
{
    fprintf(stderr, "\r%zu of %zu tokens, perplexity %.3f ", done, of,
            exp(a->sum / (double)a->count));
}

//: score-windows
// Windows of the context's size, each half new: so every scored token but those of the
// first window sees at least half a context.
static bool score_text(struct session *s, const struct ids *ids, struct error *e)
{
    struct score a = {0};
    size_t window = (size_t)decoder_context(s->decoder), half = window / 2;
    bool watched = !s->options->quiet && isatty(STDERR_FILENO);
    for (size_t scored = 1; scored < ids->count && !session_interrupted();) {
        size_t begin = scored > half ? scored - half : 0;
        size_t end = begin + window < ids->count ? begin + window : ids->count;
        if (!score_window(s, ids->items + begin, end - begin, scored - begin, &a, e))
            return false;
        scored = end;
        if (watched && a.count > 0)
            show_progress(&a, end, ids->count);
    }
    if (watched)
        fputc('\n', stderr);
    if (a.count > 0)
        print_score(s, &a);
    return true;
}

//: score-perplexity
static bool is_enough(const struct session *s, const struct ids *ids, struct error *e)
{
    const char *file = s->options->file;
    int context = decoder_context(s->decoder);
    if (ids->count < 2)
        return failed(e, "%s has %zu tokens, perplexity needs 2", file_path_shown(file),
                      ids->count);
    return context >= 2 || failed(e, "the context is %d, perplexity needs 2", context);
}

bool command_perplexity(struct session *s, struct error *e)
{
    struct ids ids = {0};
    bool good =
        session_open(s, e) && session_read_text(s, &ids, false, e) && is_enough(s, &ids, e);
    if (good)
        session_announce(s);
    good = good && score_text(s, &ids, e);
    ids_free(&ids);
    return good;
}
