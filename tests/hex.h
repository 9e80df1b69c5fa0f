// Golden files spell texts in hexadecimal, and the empty text as "-".
#ifndef LANEWISE_TESTS_HEX_H
#define LANEWISE_TESTS_HEX_H

#include <stdio.h>
#include <string.h>

// Writes the bytes to out and returns how many they are.
static inline size_t hex_bytes(const char *hex, char *out)
{
    if (strcmp(hex, "-") == 0)
        return 0;
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned byte = 0;
        sscanf(hex + 2 * i, "%2x", &byte);
        out[i] = (char)byte;
    }
    return n;
}

#endif
