//: chat
// A conversation as Qwen3 reads it (ChatML): each turn between <|im_start|> and <|im_end|>.
// The file's own template, a program in another language, is never run.
#ifndef LANEWISE_CHAT_H
#define LANEWISE_CHAT_H

#include <stdbool.h>
#include <stddef.h>

#include "tokenizer.h"

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT };

struct chat_turn {
    enum chat_role role;
    const char *text; // a view; never matched against control tokens, whoever wrote it
    size_t bytes;
};

// Appends the ids of the whole conversation; on failure none.  A reply loses the thought
// before it, <think>...</think>, once a turn of the user or an opening follows.  open: an
// assistant turn is opened at the end, with an empty thought where thinking is off.
bool chat_render(const struct tokenizer *t, const struct chat_turn *turns, size_t n_turns,
                 bool open, bool thinking, struct ids *ids, struct error *e);

#endif
