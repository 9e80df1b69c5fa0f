//: chat-render-turn
// A conversation as token ids; see chat.h.
#include "chat.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct chat { // what one call of chat_render works with
    const struct tokenizer *t;
    int start, end; // <|im_start|> and <|im_end|>
    struct ids *ids;
};

//: chat-encode
// head and text as one string: "user\n" and a text of line feeds share a piece.
static bool encode(const struct chat *c, const char *head, const char *text, size_t bytes,
                   struct error *e)
{
    size_t before = strlen(head);
    char *both = bytes < SIZE_MAX - before ? malloc(before + bytes + 1) : NULL;
    if (both == NULL)
        return failed(e, "no memory for a turn of %zu bytes", bytes);
    memcpy(both, head, before);
    if (bytes > 0)
        memcpy(both + before, text, bytes);
    bool done = tokenizer_encode(c->t, both, before + bytes, false, c->ids, e);
    free(both);
    return done;
}

//: chat-thought
// Moves past the thought at the beginning of a reply: all up to the last </think> and the
// line feeds after it.
static void skip_thought(const char **text, size_t *bytes)
{
    static const char tag[] = "</think>";
    const size_t length = sizeof tag - 1;
    for (size_t end = *bytes; end >= length; end--) {
        if (memcmp(*text + end - length, tag, length) != 0)
            continue;
        *text += end;
        *bytes -= end;
        while (*bytes > 0 && **text == '\n') {
            ++*text;
            --*bytes;
        }
        return;
    }
}

//: chat-turn
static bool render_turn(const struct chat *c, const struct chat_turn *turn, bool earlier,
                        struct error *e)
{
    static const char *const heads[] = {"system\n", "user\n", "assistant\n"};
    const char *text = turn->text;
    size_t bytes = turn->bytes;
    if (turn->role == CHAT_ASSISTANT && earlier)
        skip_thought(&text, &bytes);
    return ids_push(c->ids, c->start, e) && encode(c, heads[turn->role], text, bytes, e) &&
           ids_push(c->ids, c->end, e) && encode(c, "\n", NULL, 0, e);
}

//: chat-conversation
static bool render(const struct chat *c, const struct chat_turn *turns, size_t n_turns,
                   bool open, bool thinking, struct error *e)
{
    size_t last = n_turns; // turn of the user
    while (last > 0 && turns[last - 1].role != CHAT_USER)
        last--;
    for (size_t i = 0; i < n_turns; i++)
        if (!render_turn(c, &turns[i], open || i < last, e))
            return false;
    if (!open)
        return true;
    const char *head = thinking ? "assistant\n" : "assistant\n<think>\n\n</think>\n\n";
    return ids_push(c->ids, c->start, e) &&
           tokenizer_encode(c->t, head, strlen(head), true, c->ids, e);
}

//: chat-render
bool chat_render(const struct tokenizer *t, const struct chat_turn *turns, size_t n_turns,
                 bool open, bool thinking, struct ids *ids, struct error *e)
{
    const struct chat c = {t, tokenizer_find(t, "<|im_start|>"),
                           tokenizer_find(t, "<|im_end|>"), ids};
    if (c.start < 0 || c.end < 0)
        return failed(e, "tokenizer.ggml.tokens has no %s: the model is not made for chat",
                      c.start < 0 ? "<|im_start|>" : "<|im_end|>");
    const size_t before = ids->count;
    if (render(&c, turns, n_turns, open, thinking, e))
        return true;
    ids->count = before;
    return false;
}
