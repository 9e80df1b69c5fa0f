//: inspect-info
// lanewise info, tokenize and detokenize: what needs the file but not the model's weights.
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"

// A name from the file, cut where it is long, without what would command a terminal.
static const char *shown(struct gguf_string name, char text[64])
{
    size_t n = name.length < 63 ? name.length : 63;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name.bytes[i];
        text[i] = c < 0x20 || c == 0x7f ? '?' : name.bytes[i];
    }
    text[n] = 0;
    return text;
}

//: inspect-print-tensor
static void print_tensor(struct output *out, const struct gguf_tensor *t)
{
    char shape[96], name[64];
    int n = 0;
    for (int i = t->dimensions - 1; i >= 0;
         i--) // rows first, as everywhere in this program
        n += snprintf(shape + n, sizeof shape - (size_t)n, i > 0 ? "%lld, " : "%lld",
                      (long long)t->extent[i]);
    output_print(out, "  %-32s %-5s (%s) %zu bytes\n", shown(t->name, name),
                 tensor_layout(t->type).name, shape, t->bytes);
}

//: inspect-info-print
static void print_metadata(struct output *out, const struct gguf *g)
{
    output_print(out, "%zu metadata keys\n", g->n_values);
    for (size_t i = 0; i < g->n_values; i++) {
        char text[256], key[64];
        gguf_describe(g, &g->values[i], text, sizeof text);
        output_print(out, "  %s: %s\n", shown(g->values[i].key, key), text);
    }
}

//: inspect-command-info
bool command_info(struct session *s, struct error *e)
{
    struct gguf *g = &s->file;
    size_t bytes = 0;
    if (!gguf_open(g, s->options->model, e))
        return false;
    output_print(&s->output, "%s: GGUF version %u, %zu bytes, data from byte %zu\n",
                 g->path, g->version, g->size, g->data_offset);
    print_metadata(&s->output, g);
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
    bool good =
        session_open_text(s, e) && session_read_text(s, &ids, s->options->special, e);
    for (size_t i = 0; good && i < ids.count; i++)
        output_print(&s->output, i > 0 ? ",%d" : "%d", ids.items[i]);
    if (good)
        output_write(&s->output, "\n", 1);
    ids_free(&ids);
    return good;
}

//: inspect-command-detokenize
bool command_detokenize(struct session *s, struct error *e)
{
    struct ids ids = {0};
    bool good =
        session_open_text(s, e) && parse_ids(s->options->operand, "detokenize",
                                             tokenizer_count(s->tokenizer), &ids, e);
    for (size_t i = 0; good && i < ids.count; i++) {
        size_t count;
        const char *bytes = tokenizer_bytes(s->tokenizer, ids.items[i], &count);
        if (!output_write(&s->output, bytes, count))
            break;
    }
    ids_free(&ids);
    return good;
}
