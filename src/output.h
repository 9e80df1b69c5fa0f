//: output
// Standard output, for text and results alone: flushed at each token, a failure kept until
// the end.  A reader that went away (a closed pipe) is no error, but there is no use going
// on.
#ifndef LANEWISE_OUTPUT_H
#define LANEWISE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum output_state { OUTPUT_OPEN, OUTPUT_CLOSED, OUTPUT_FAILED };

//: output-functions
struct output {
    enum output_state state;
    int number; // errno of the failure
    bool terminal;
};

// Nothing that is opened later can become standard output, even if it was closed; and no
// signal ends the program because something cannot be written.
void output_open(struct output *o);
// Writes and flushes.  False once nothing more can be written.
bool output_write(struct output *o, const void *bytes, size_t count);
// Writes, but flushes only where the buffer is full.
bool output_print(struct output *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Fails where something could not be written, but not for a closed pipe or an interrupt.
bool output_finish(struct output *o, struct error *e);

#endif
