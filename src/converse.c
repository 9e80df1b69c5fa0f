//: converse
// lanewise chat: a conversation, a line a turn.  The whole conversation is rendered afresh
// for every turn; what the cache already holds of it, a common beginning, is not computed
// again.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat.h"
#include "commands.h"
#include "generation.h"

struct conversation {
    struct session *session;
    struct chat_turn *turns; // their texts are owned
    size_t n_turns, room;
    struct ids cached; // what the cache holds
    struct utf8_stream stream;
    char *reply; // the turn being written
    size_t reply_bytes;
    bool failed; // memory ran out in the sink
    bool announced;
};

//: converse-turns
static bool add_turn(struct conversation *c, enum chat_role role, const char *text,
                     size_t bytes, struct error *e)
{
    char *copy = malloc(bytes + 1);
    if (c->n_turns == c->room) {
        size_t room = 2 * c->room + 8;
        struct chat_turn *more = realloc(c->turns, room * sizeof *more);
        c->room = more != NULL ? room : c->room;
        c->turns = more != NULL ? more : c->turns;
    }
    if (copy == NULL || c->n_turns == c->room) {
        free(copy);
        return failed(e, "out of memory for the conversation");
    }
    memcpy(copy, text, bytes);
    c->turns[c->n_turns++] = (struct chat_turn){role, copy, bytes};
    return true;
}

//: converse-free-conversation
static void free_conversation(struct conversation *c)
{
    for (size_t i = 0; i < c->n_turns; i++)
        free((char *)c->turns[i].text);
    free(c->turns);
    free(c->reply);
    ids_free(&c->cached);
}

//: converse-sink
// Keeps the reply's bytes for the next rendering and writes them out.
static bool hear(void *user, int token)
{
    struct conversation *c = user;
    struct session *s = c->session;
    size_t count = 0;
    struct error ignored;
    if (!s->options->ignore_eos && tokenizer_ends_reply(s->tokenizer, token))
        return false;
    const char *bytes = generation_bytes(s, token, &count);
    char *more = realloc(c->reply, c->reply_bytes + count + 1);
    if (more == NULL || !ids_push(&c->cached, token, &ignored)) {
        c->reply = more != NULL ? more : c->reply;
        c->failed = true;
        return false;
    }
    c->reply = more;
    memcpy(c->reply + c->reply_bytes, bytes, count);
    c->reply_bytes += count;
    return generation_write(s, &c->stream, token);
}

//: converse-feed
// Brings the cache from what it holds to all of ids but the last.
static bool feed(struct conversation *c, const struct ids *ids, struct error *e)
{
    struct session *s = c->session;
    size_t same = 0, held = (size_t)decoder_position(s->decoder);
    int context = decoder_context(s->decoder);
    if (ids->count > (size_t)context)
        return failed(e, "the conversation has %zu tokens, more than the context's %d",
                      ids->count, context);
    if (!c->announced)
        session_announce(s);
    c->announced = true;
    while (same < held && same < c->cached.count && same + 1 < ids->count &&
           c->cached.items[same] == ids->items[same])
        same++;
    decoder_rewind(s->decoder, (int)same);
    c->cached.count = same;
    for (size_t i = same; i < ids->count; i++)
        if (!ids_push(&c->cached, ids->items[i], e))
            return false;
    return session_prompt(s, ids->items + same, ids->count - 1 - same, e);
}

//: converse-reply
static bool say(struct conversation *c, const struct ids *ids, struct error *e)
{
    const struct session *s = c->session;
    if (!feed(c, ids, e))
        return false;
    if (session_interrupted())
        return true;
    return generation_run(c->session, ids->items[ids->count - 1], s->options->tokens, hear,
                          c, e);
}

//: converse-turn
static bool reply(struct conversation *c, struct error *e)
{
    struct session *s = c->session;
    struct ids ids = {0};
    c->reply_bytes = 0;
    c->stream = (struct utf8_stream){0};
    bool good = chat_render(s->tokenizer, c->turns, c->n_turns, true, !s->options->no_think,
                            &ids, e) ||
                failed_in(e, "%s", file_path_shown(s->options->model));
    good = good && say(c, &ids, e);
    ids_free(&ids);
    if (!good)
        return false;
    if (c->failed)
        return failed(e, "out of memory for the reply");
    generation_write_end(s, &c->stream, true);
    const char *text = c->reply_bytes > 0 ? c->reply : "";
    return add_turn(c, CHAT_ASSISTANT, text, c->reply_bytes, e);
}

//: converse-line
// Reads a line, without its line feed.  False at the end of the input and, with *good
// false, where it cannot be read.
static bool read_line(char **line, size_t *room, size_t *bytes, bool *good, struct error *e)
{
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fputs("> ", stderr);
    ssize_t n = getline(line, room, stdin);
    if (n < 0) {
        *good = feof(stdin) || failed(e, "standard input: %s", strerror(errno));
        return false;
    }
    *bytes = (size_t)n - (n > 0 && (*line)[n - 1] == '\n');
    return true;
}

//: converse-loop
static bool going(const struct session *s)
{
    return !session_interrupted() && s->output.state == OUTPUT_OPEN;
}

static bool converse(struct conversation *c, struct error *e)
{
    char *line = NULL;
    size_t room = 0, n = 0;
    bool good = true;
    while (good && going(c->session) && read_line(&line, &room, &n, &good, e))
        good = n == 0 || (add_turn(c, CHAT_USER, line, n, e) && reply(c, e));
    free(line);
    return good;
}

//: converse-command-chat
bool command_chat(struct session *s, struct error *e)
{
    const struct options *o = s->options;
    struct conversation c = {.session = s};
    bool good = session_open(s, e);
    if (good && o->system != NULL)
        good = add_turn(&c, CHAT_SYSTEM, o->system, strlen(o->system), e);
    if (good && o->prompt != NULL)
        good = add_turn(&c, CHAT_USER, o->prompt, strlen(o->prompt), e) && reply(&c, e);
    else if (good)
        good = converse(&c, e);
    free_conversation(&c);
    return good;
}
