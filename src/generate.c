//: generate
// lanewise generate: continue a text.
#include "commands.h"
#include "generation.h"

struct writing {
    struct session *session;
    struct utf8_stream stream;
    long count;
};

static bool write_token(void *user, int token)
{
    struct writing *w = user;
    struct session *s = w->session;
    if (!s->options->ignore_eos && tokenizer_ends_reply(s->tokenizer, token))
        return false;
    w->count++;
    if (!s->options->print_ids)
        return generation_write(s, &w->stream, token);
    return output_print(&s->output, w->count > 1 ? ",%d" : "%d", token) &&
           output_write(&s->output, "", 0);
}

//: generate-prompt
// The prompt's ids, the beginning-of-text token first where the model wants one.
static bool prompt_ids(struct session *s, struct ids *ids, struct error *e)
{
    int bos = tokenizer_bos(s->tokenizer), context = decoder_context(s->decoder);
    if ((bos >= 0 && !ids_push(ids, bos, e)) || !session_read_text(s, ids, false, e))
        return false;
    if (ids->count == 0)
        return failed(e, "the prompt is empty: there is no token to start from");
    if (ids->count > (size_t)context)
        return failed(e, "the prompt has %zu tokens, more than the context's %d",
                      ids->count, context);
    return true;
}

//: generate-run
static bool generate(struct session *s, const struct ids *ids, struct error *e)
{
    struct writing w = {.session = s};
    int last = ids->items[ids->count - 1], most = s->options->tokens;
    session_announce(s);
    if (most > 0 && !session_prompt(s, ids->items, ids->count - 1, e))
        return false;
    if (most > 0 && !session_interrupted() &&
        !generation_run(s, last, most, write_token, &w, e))
        return false;
    if (s->options->print_ids)
        output_write(&s->output, "\n", 1);
    else
        generation_write_end(s, &w.stream, s->output.terminal);
    return true;
}

bool command_generate(struct session *s, struct error *e)
{
    struct ids ids = {0};
    bool done = session_open(s, e) && prompt_ids(s, &ids, e) && generate(s, &ids, e);
    ids_free(&ids);
    return done;
}
