// Runs the suite of a test program and prints its last line: "N passed, N failed".
// Check reports success when nothing ran; a run of no tests is a failure here.
#include "main.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void add_case(Suite *s, const char *name, const TTest *first, ...)
{
    TCase *c = tcase_create(name);
    tcase_set_timeout(c, 300);
    va_list more;
    va_start(more, first);
    for (const TTest *t = first; t != NULL; t = va_arg(more, const TTest *))
        tcase_add_test(c, t);
    va_end(more);
    suite_add_tcase(s, c);
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int ran = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("%d passed, %d failed\n", ran - failed, failed);
    if (ran == 0 && getenv("CK_RUN_CASE") != NULL)
        return EXIT_SUCCESS; // the chosen case is another program's
    if (ran == 0)
        fprintf(stderr, "no test ran\n");
    return ran > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
