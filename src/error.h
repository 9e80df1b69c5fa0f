//: error
// What went wrong, in one sentence.  A function that can fail returns bool and takes a
// struct error *; on false the text says what, where, what was expected and what was found.
// Callers add context in front; only main prints it and exits.  It is always one line,
// whatever the file holds that it speaks of.
#ifndef LANEWISE_ERROR_H
#define LANEWISE_ERROR_H

#include <stdbool.h>

struct error {
    char text[1024];
};

// Writes the sentence and returns false, so that a check reads `return failed(e, ...)`.
bool failed(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Puts "context: " in front of the sentence already in e and returns false.
bool failed_in(struct error *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Makes of text what a terminal shows as one line: control characters become "?".
void error_one_line(char *text);

#endif
