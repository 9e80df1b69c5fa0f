//: generation-greedy
// The loop that writes; see generation.h.
#include "generation.h"

#include <stdio.h>

// The chosen token feeds the next step by itself, so the backend may run ahead.
static bool run_greedy(struct session *s, int last, int most, generation_sink *sink,
                       void *user, struct error *e)
{
    int token;
    bool going = true, good = decoder_greedy_start(s->decoder, last, most, e);
    for (int i = 0; good && going && i < most && !session_interrupted(); i++) {
        good = decoder_greedy_next(s->decoder, &token, e);
        s->decoded_tokens += good;
        going = good && sink(user, token);
    }
    decoder_greedy_stop(s->decoder);
    return good;
}

//: generation-sampled
static int draw(struct session *s, struct sampler *sampler, int last, struct error *e)
{
    if (!decoder_prompt(s->decoder, &last, 1, e))
        return -1;
    const float *logits = decoder_logits(s->decoder, e);
    int token = logits != NULL ? sampler_choose(sampler, logits) : -1;
    if (logits != NULL && token < 0)
        failed(e, "no logit is a number at position %d", decoder_position(s->decoder) - 1);
    return token;
}

//: generation-run-sampled
static bool run_sampled(struct session *s, int last, int most, generation_sink *sink,
                        void *user, struct error *e)
{
    struct sampler *sampler =
        sampler_new(&s->options->sampling, decoder_vocabulary(s->decoder), e);
    bool good = sampler != NULL, going = true;
    for (int i = 0; good && going && i < most && !session_interrupted(); i++) {
        last = draw(s, sampler, last, e);
        good = last >= 0;
        s->decoded_tokens += good;
        going = good && sink(user, last);
    }
    sampler_free(sampler);
    return good;
}

//: generation-run
bool generation_run(struct session *s, int last, int most, generation_sink *sink,
                    void *user, struct error *e)
{
    double start = seconds_now();
    int left = decoder_context(s->decoder) - decoder_position(s->decoder);
    int count = most < left ? most : left;
    long before = s->decoded_tokens;
    bool greedy = s->options->sampling.temperature == 0;
    bool good = greedy ? run_greedy(s, last, count, sink, user, e)
                       : run_sampled(s, last, count, sink, user, e);
    s->decode_seconds += seconds_now() - start;
    if (good && count < most && s->decoded_tokens - before == count)
        fprintf(stderr, "the context of %d tokens is full\n", decoder_context(s->decoder));
    return good || failed_in(e, "%s", file_path_shown(s->options->model));
}

//: generation-write
const char *generation_bytes(const struct session *s, int token, size_t *count)
{
    *count = 0;
    if (token >= tokenizer_count(s->tokenizer)) // a padded table has rows without a token
        return "";
    return tokenizer_bytes(s->tokenizer, token, count);
}

//: generation-write-token
bool generation_write(struct session *s, struct utf8_stream *stream, int token)
{
    enum { PIECE = 64 }; // bytes of a token at a time: a few are longer
    char out[3 * (PIECE + 1)];
    size_t count = 0;
    bool written = true;
    const char *bytes = generation_bytes(s, token, &count);
    for (size_t i = 0; written && i < count; i += PIECE) {
        size_t n = count - i < PIECE ? count - i : PIECE;
        written =
            output_write(&s->output, out, utf8_stream_push(stream, bytes + i, n, out));
    }
    return written;
}

bool generation_write_end(struct session *s, struct utf8_stream *stream, bool newline)
{
    char out[4];
    size_t whole = utf8_stream_end(stream, out);
    if (newline)
        out[whole++] = '\n';
    return output_write(&s->output, out, whole);
}
