//: commands
// The program's commands.  Each returns false with a sentence where something failed.
#ifndef LANEWISE_COMMANDS_H
#define LANEWISE_COMMANDS_H

#include "session.h"

bool command_generate(struct session *s, struct error *e);
bool command_chat(struct session *s, struct error *e);
bool command_info(struct session *s, struct error *e);
bool command_tokenize(struct session *s, struct error *e);
bool command_detokenize(struct session *s, struct error *e);
bool command_logits(struct session *s, struct error *e);
bool command_perplexity(struct session *s, struct error *e);
bool command_bench(struct session *s, struct error *e);
bool command_synth(struct session *s, struct error *e);

#endif
