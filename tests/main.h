// Every test program is one suite; tests/main.c runs it.
#ifndef LANEWISE_TESTS_MAIN_H
#define LANEWISE_TESTS_MAIN_H

#include <check.h>

#ifdef __cplusplus
extern "C" {
#endif

// Each test program defines this: its suite of test cases.
Suite *suite(void);

// Adds a test case with the given tests, ended by NULL: add_case(s, "core", a, b, NULL).
void add_case(Suite *s, const char *name, const TTest *first, ...);

#ifdef __cplusplus
}
#endif

#endif
