//: pretokenizer-pattern
// Cuts text into pieces; see pretokenizer.h.
#include "pretokenizer.h"

#include <stdint.h>
#include <stdlib.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "utf8.h"

// Unicode's White_Space.  PCRE2's own \s has U+180E besides, which has not been a space
// since Unicode 6.3.
#define SPACE "\\x{09}-\\x{0D}\\x{85}\\p{Z}"

static const char pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
                              "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
                              "|\\p{N}"
                              "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*"
                              "|[" SPACE "]*[\\r\\n]+"
                              "|[" SPACE "]+(?![^" SPACE "])"
                              "|[" SPACE "]+";

struct pretokenizer {
    pcre2_code *code;
};

//: pretokenizer-new
struct pretokenizer *pretokenizer_new(struct error *e)
{
    struct pretokenizer *p = malloc(sizeof *p);
    if (p == NULL) {
        failed(e, "no memory for the pre-tokenizer");
        return NULL;
    }
    int code;
    PCRE2_SIZE at;
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED;
    p->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code, &at,
                            NULL);
    if (p->code == NULL) {
        unsigned char why[256];
        pcre2_get_error_message(code, why, sizeof why);
        failed(e, "PCRE2 cannot compile the pre-tokenizer: %s", (char *)why);
        free(p);
        return NULL;
    }
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); // where it cannot, it interprets
    return p;
}

//: cutter
void pretokenizer_free(struct pretokenizer *p)
{
    if (p != NULL)
        pcre2_code_free(p->code);
    free(p);
}

struct cutter {
    const struct pretokenizer *p;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    const char *text; // what is still to be cut
    size_t bytes;
    size_t valid; // its first bytes that are known to be UTF-8
};

void cutter_start(struct cutter *c, const char *text, size_t bytes)
{
    c->text = text;
    c->bytes = bytes;
    c->valid = 0;
}

//: cutter-new
struct cutter *cutter_new(const struct pretokenizer *p, struct error *e)
{
    struct cutter *c = calloc(1, sizeof *c);
    if (c == NULL || (c->match = pcre2_match_data_create(1, NULL)) == NULL ||
        (c->context = pcre2_match_context_create(NULL)) == NULL) {
        cutter_free(c);
        failed(e, "no memory for the pre-tokenizer");
        return NULL;
    }
    c->p = p;
    pcre2_set_match_limit(c->context, UINT32_MAX); // long runs of spaces are no attack:
    pcre2_set_depth_limit(c->context, UINT32_MAX); // see "Time that grows with the text"
    pcre2_set_heap_limit(c->context, UINT32_MAX);
    c->stack = pcre2_jit_stack_create(32 * 1024, 1024 * 1024, NULL);
    if (c->stack != NULL)
        pcre2_jit_stack_assign(c->context, NULL, c->stack);
    return c;
}

//: cutter-runs
// How many bytes the text begins with that are whole characters (valid), or that are not.
static size_t run(const struct cutter *c, bool valid)
{
    size_t length, at = 0;
    for (; at < c->bytes; at += length)
        if ((utf8_look(c->text + at, c->bytes - at, &length) == UTF8_CHARACTER) != valid)
            break;
    return at;
}

// The expression matches some of any text, so a match that fails or is empty is an error.
static bool match(struct cutter *c, size_t *bytes, struct error *e)
{
    // PCRE2 would check the rest of the text again at every piece: quadratic time.
    int result = pcre2_match(c->p->code, (PCRE2_SPTR)c->text, c->valid, 0,
                             PCRE2_NO_UTF_CHECK, c->match, c->context);
    *bytes = result > 0 ? pcre2_get_ovector_pointer(c->match)[1] : 0;
    if (*bytes > 0)
        return true;
    return failed(e, "the pre-tokenizer fails with PCRE2's error %d", result);
}

//: cutter-next
bool cutter_next(struct cutter *c, const char **piece, size_t *bytes, struct error *e)
{
    *piece = c->text;
    if (c->valid == 0)
        c->valid = run(c, true);
    if (c->valid == 0)
        *bytes = run(c, false);
    else if (!match(c, bytes, e))
        return false;
    else
        c->valid -= *bytes;
    c->text += *bytes;
    c->bytes -= *bytes;
    return true;
}

void cutter_free(struct cutter *c)
{
    if (c == NULL)
        return;
    pcre2_jit_stack_free(c->stack);
    pcre2_match_context_free(c->context);
    pcre2_match_data_free(c->match);
    free(c);
}
