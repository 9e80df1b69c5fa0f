//: error-format
// Errors are sentences; see error.h for the protocol.
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

void error_one_line(char *text)
{
    for (; *text != 0; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

bool failed(struct error *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    error_one_line(e->text);
    return false;
}

//: error-context
bool failed_in(struct error *e, const char *format, ...)
{
    struct error inner = *e;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", inner.text);
    error_one_line(e->text);
    return false;
}
