// Standard output that goes to pipes, full disks and nowhere.  Each test is a process of
// its own, so it may do to its standard output what it likes.
#include "output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "main.h"

static struct output o;
static struct error e;

static void put_output_on(int fd)
{
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    signal(SIGPIPE, SIG_IGN);
    output_open(&o);
}

START_TEST(what_is_written_is_there_at_once)
{
    int ends[2];
    char text[16] = "";
    ck_assert_int_eq(pipe(ends), 0);
    put_output_on(ends[1]);
    ck_assert(!o.terminal);
    ck_assert(output_write(&o, "a\0b", 3));
    ck_assert_int_eq(read(ends[0], text, sizeof text), 3);
    ck_assert_int_eq(memcmp(text, "a\0b", 3), 0);
    ck_assert(output_print(&o, "%d", 7) && output_write(&o, "", 0));
    ck_assert_int_eq(read(ends[0], text, sizeof text), 1);
    ck_assert_int_eq(text[0], '7');
    ck_assert(output_finish(&o, &e));
}
END_TEST

START_TEST(a_closed_pipe_ends_writing_but_is_no_failure)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    put_output_on(ends[1]);
    close(ends[0]);
    ck_assert(!output_write(&o, "x", 1));
    ck_assert_int_eq(o.state, OUTPUT_CLOSED);
    ck_assert(!output_print(&o, "y"));
    ck_assert(output_finish(&o, &e));
}
END_TEST

START_TEST(a_full_disk_is_a_failure_with_its_reason)
{
    put_output_on(open("/dev/full", O_WRONLY));
    ck_assert(!output_write(&o, "x", 1));
    ck_assert(!output_finish(&o, &e));
    ck_assert_str_eq(e.text, "standard output: No space left on device");
}
END_TEST

START_TEST(a_failure_is_found_at_the_end_too)
{
    put_output_on(open("/dev/full", O_WRONLY));
    ck_assert(output_print(&o, "in the buffer"));
    ck_assert(!output_finish(&o, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "space"));
}
END_TEST

START_TEST(a_closed_stream_does_not_become_another_file)
{
    fflush(stdout);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    output_open(&o);
    ck_assert_int_gt(open("/dev/null", O_WRONLY), STDERR_FILENO);
    ck_assert(!output_write(&o, "x", 1));
    ck_assert(!output_finish(&o, &e));
    ck_assert_str_eq(e.text, "standard output: Bad file descriptor");
    char byte;
    ck_assert_int_eq(read(STDIN_FILENO, &byte, 1), -1);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("output");
    add_case(s, "core", what_is_written_is_there_at_once, NULL);
    add_case(s, "limits", a_closed_pipe_ends_writing_but_is_no_failure,
             a_full_disk_is_a_failure_with_its_reason, a_failure_is_found_at_the_end_too,
             a_closed_stream_does_not_become_another_file, NULL);
    return s;
}
