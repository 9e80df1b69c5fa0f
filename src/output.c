//: output-write
// Standard output; see output.h.
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

//: output-keep-taken
// A closed standard stream's number would go to the next file that is opened, and what is
// printed would end up in there.
static void keep_taken(int stream, int mode)
{
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF)
        return;
    int fd = open("/dev/null", mode);
    if (fd >= 0 && fd != stream) {
        dup2(fd, stream);
        close(fd);
    }
}

void output_open(struct output *o)
{
    // Writing to a closed pipe, or a file beyond its limit, then fails instead of ending
    // the program.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    keep_taken(STDIN_FILENO, O_WRONLY); // neither read nor written, as if it were closed
    keep_taken(STDOUT_FILENO, O_RDONLY);
    keep_taken(STDERR_FILENO, O_WRONLY);
    *o = (struct output){.state = OUTPUT_OPEN, .terminal = isatty(STDOUT_FILENO)};
}

//: output-flush
static bool flush(struct output *o)
{
    if (o->state == OUTPUT_OPEN && (ferror(stdout) || fflush(stdout) != 0)) {
        o->number = errno;
        o->state = errno == EPIPE ? OUTPUT_CLOSED : OUTPUT_FAILED;
        if (errno == EINTR) // it waited for its reader, and the user for it
            o->state = OUTPUT_CLOSED;
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
    return !ferror(stdout) || flush(o);
}

bool output_finish(struct output *o, struct error *e)
{
    flush(o);
    if (o->state == OUTPUT_FAILED)
        return failed(e, "standard output: %s", strerror(o->number));
    return true;
}
