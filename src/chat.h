// A conversation as Qwen3 reads it (ChatML): each turn between <|im_start|> and <|im_end|>.
//: chat
#ifndef LANEWISE_CHAT_H
#define LANEWISE_CHAT_H

#include <stdbool.h>

#include "tokenizer.h"

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT };

struct chat_turn {
    enum chat_role role;
    const char *text; // a view; user text is never matched against control tokens
    size_t bytes;
};

// Appends the ids of the whole conversation, rendered afresh: earlier assistant turns
// without their <think>...</think> part.  open: ends with the opening of an assistant turn,
// which begins with an empty thought where thinking is off.
bool chat_render(const struct tokenizer *t, const struct chat_turn *turns, size_t n_turns,
                 bool open, bool thinking, struct ids *ids, struct error *e);

#endif
