#include "file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "main.h"

static void temporary(char path[64], const void *bytes, size_t size)
{
    strcpy(path, "/tmp/lanewise-test-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, size), (ssize_t)size);
    close(file);
}

static void refused(const char *path, const char *expected)
{
    const unsigned char *map;
    size_t size;
    struct error e;
    ck_assert(!file_map(path, &map, &size, &e));
    ck_assert_str_eq(e.text, expected);
}

//: test-file-map
START_TEST(a_file_is_mapped_whole)
{
    char path[64];
    temporary(path, "some bytes", 10);
    const unsigned char *map;
    size_t size;
    struct error e;
    ck_assert(file_map(path, &map, &size, &e));
    ck_assert_uint_eq(size, 10);
    ck_assert_mem_eq(map, "some bytes", 10);
    file_unmap(map, size);
    unlink(path);
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_by_kind)
{
    refused("/tmp", "a directory, expected a regular file");
    refused("/dev/null", "a device, expected a regular file");
    char path[64];
    temporary(path, "", 0);
    refused(path, "an empty file");
    unlink(path);
    refused(path, "cannot be opened: No such file or directory");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refused(path, "a FIFO, expected a regular file"); // and does not wait for a writer
    unlink(path);
}
END_TEST

START_TEST(an_unreadable_file_is_refused)
{
    char path[64];
    temporary(path, "x", 1);
    ck_assert_int_eq(chmod(path, 0), 0);
    uid_t user = geteuid(); // root may read everything, nobody may not
    if (user != 0 || seteuid(65534) == 0)
        refused(path, "cannot be opened: Permission denied");
    ck_assert_int_eq(seteuid(user), 0);
    unlink(path);
}
END_TEST

//: test-file-map-shrinks
// Cuts a mapped file to nothing and reads it, in a process of its own; how that ended.
static int read_a_cut_file(const char *path, char *said, size_t room)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        const unsigned char *map = NULL;
        size_t size = 0;
        struct error e;
        dup2(ends[1], STDERR_FILENO);
        file_map_guard();
        if (!file_map(path, &map, &size, &e) || truncate(path, 0) != 0)
            _exit(9);
        _exit(*(const volatile unsigned char *)(map + size - 1) == 0 ? 7 : 8);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], said, room - 1);
    said[length > 0 ? length : 0] = 0;
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

//: test-file-map-shrinks-said
START_TEST(a_file_that_shrinks_is_said_in_one_line)
{
    char path[64], said[2048], expected[256];
    static const char pages[8192];
    temporary(path, pages, sizeof pages);
    int status = read_a_cut_file(path, said, sizeof said);
    unlink(path);
    snprintf(expected, sizeof expected,
             "lanewise: %s: the file shrank while it was being read\n", path);
    ck_assert_str_eq(said, expected);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
}
END_TEST

//: test-file-map-long-path
START_TEST(of_a_long_path_the_end_is_shown)
{
    char path[4000];
    memset(path, 'd', sizeof path);
    strcpy(path + sizeof path - 12, "/model.gguf");
    const char *shown = file_path_shown(path);
    ck_assert_uint_lt(strlen(shown), sizeof(struct error) / 2);
    ck_assert_str_eq(shown + strlen(shown) - 11, "/model.gguf");
    ck_assert_str_eq(file_path_shown("a.gguf"), "a.gguf");
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("file_map");
    add_case(s, "core", a_file_is_mapped_whole, NULL);
    add_case(s, "limits", what_is_no_regular_file_is_refused_by_kind,
             an_unreadable_file_is_refused, a_file_that_shrinks_is_said_in_one_line,
             of_a_long_path_the_end_is_shown, NULL);
    return s;
}
