// Errors are sentences; see error.h for the protocol.
//: error-format
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

bool failed(struct error *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    return false;
}

bool failed_in(struct error *e, const char *format, ...)
{
    struct error inner = *e;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", inner.text);
    return false;
}
