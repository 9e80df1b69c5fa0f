//: output-write
// Standard output; see output.h.
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void output_open(struct output *o)
{
    *o = (struct output){.state = OUTPUT_OPEN, .terminal = isatty(STDOUT_FILENO)};
}

static bool flush(struct output *o)
{
    if (o->state == OUTPUT_OPEN && (fflush(stdout) != 0 || ferror(stdout))) {
        o->number = errno;
        o->state = errno == EPIPE ? OUTPUT_CLOSED : OUTPUT_FAILED;
    }
    return o->state == OUTPUT_OPEN;
}

bool output_write(struct output *o, const void *bytes, size_t count)
{
    if (o->state == OUTPUT_OPEN)
        fwrite(bytes, 1, count, stdout);
    return flush(o);
}

//: output-print
bool output_print(struct output *o, const char *format, ...)
{
    if (o->state != OUTPUT_OPEN)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    return !ferror(stdout) || flush(o); // long output is flushed where the buffer is full
}

bool output_finish(struct output *o, struct error *e)
{
    flush(o);
    if (o->state == OUTPUT_FAILED)
        return failed(e, "standard output: %s", strerror(o->number));
    return true;
}
