//: inspect-info
// lanewise info, tokenize and detokenize: what needs the file but not the model's weights.
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"

static void print_tensor(struct output *out, const struct gguf_tensor *t)
{
    char shape[96];
    int n = 0;
    for (int i = t->dimensions - 1; i >= 0;
         i--) // rows first, as everywhere in this program
        n += snprintf(shape + n, sizeof shape - (size_t)n, i > 0 ? "%lld, " : "%lld",
                      (long long)t->extent[i]);
    output_print(out, "  %-32.*s %-5s (%s) %zu bytes\n", (int)t->name.length, t->name.bytes,
                 tensor_layout(t->type).name, shape, t->bytes);
}

//: inspect-info-print
bool command_info(struct session *s, struct error *e)
{
    struct gguf *g = &s->file;
    size_t bytes = 0;
    output_open(&s->output);
    if (!gguf_open(g, s->options->model, e))
        return false;
    output_print(&s->output, "%s: GGUF version %u, %zu bytes, data from byte %zu\n",
                 g->path, g->version, g->size, g->data_offset);
    output_print(&s->output, "%zu metadata keys\n", g->n_values);
    for (size_t i = 0; i < g->n_values; i++) {
        char text[256];
        gguf_describe(g, &g->values[i], text, sizeof text);
        output_print(&s->output, "  %.*s: %s\n", (int)g->values[i].key.length,
                     g->values[i].key.bytes, text);
    }
    output_print(&s->output, "%zu tensors\n", g->n_tensors);
    for (size_t i = 0; i < g->n_tensors; i++) {
        print_tensor(&s->output, &g->tensors[i]);
        bytes += g->tensors[i].bytes;
    }
    output_print(&s->output, "%zu bytes of tensor data\n", bytes);
    return true;
}

//: inspect-tokens
bool command_tokenize(struct session *s, struct error *e)
{
    struct ids ids = {0};
    bool good = session_open_text(s, s->options, e) &&
                session_read_text(s, &ids, s->options->special, e);
    for (size_t i = 0; good && i < ids.count; i++)
        output_print(&s->output, i > 0 ? ",%d" : "%d", ids.items[i]);
    if (good)
        output_write(&s->output, "\n", 1);
    ids_free(&ids);
    return good;
}

bool command_detokenize(struct session *s, struct error *e)
{
    struct ids ids = {0};
    bool good = session_open_text(s, s->options, e) &&
                parse_ids(s->options->operand, "detokenize", tokenizer_count(s->tokenizer),
                          &ids, e);
    for (size_t i = 0; good && i < ids.count; i++) {
        size_t count;
        const char *bytes = tokenizer_bytes(s->tokenizer, ids.items[i], &count);
        if (!output_write(&s->output, bytes, count))
            break;
    }
    ids_free(&ids);
    return good;
}
