// Runs the built program as its users do, and keeps what came of it.
#ifndef LANEWISE_TESTS_SPAWN_H
#define LANEWISE_TESTS_SPAWN_H

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "main.h"

#define MODEL "data/tales-Q4_K_M.gguf"
enum { SPAWN_ROOM = 8 << 20 };

// What the latest run left; each text is ended by a null that does not count.
static struct {
    int status; // the exit status; 128 + the signal that killed it
    char out[SPAWN_ROOM], err[1 << 16];
    size_t n_out, n_err;
    double cpu_seconds;
} ran;

//: spawn
// The program of the same build: build/VARIANT/tests/this_test runs build/VARIANT/lanewise.
static inline const char *spawn_program(void)
{
    static char path[4096];
    char self[4000] = "";
    ck_assert(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(path, sizeof path, "%s/../lanewise", dirname(self));
    return path;
}

// Starts it with these files as its standard streams; below 0: that stream is closed.
static inline pid_t spawn(const char *const *words, int in, int out, int err)
{
    const char *argv[40] = {spawn_program()};
    int files[3] = {in, out, err}, n = 1;
    for (; words[n - 1] != NULL; n++) {
        ck_assert_int_lt(n, 39);
        argv[n] = words[n - 1];
    }
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid != 0)
        return pid;
    for (int i = 0; i < 3; i++)
        if (files[i] < 0)
            close(i);
        else
            dup2(files[i], i);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

//: spawn-run
static inline void spawn_wait(pid_t pid)
{
    int status;
    struct rusage used;
    ck_assert_int_eq(wait4(pid, &status, 0, &used), pid);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.cpu_seconds = (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

static inline int spawn_file(const void *bytes, size_t count) // open, unnamed, rewound
{
    char path[] = "/tmp/lanewise-spawn-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    for (size_t done = 0; done < count;) {
        ssize_t n = write(fd, (const char *)bytes + done, count - done);
        ck_assert(n > 0);
        done += (size_t)n;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static inline size_t spawn_read(int fd, char *text, size_t room)
{
    size_t count = 0;
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n = 1; n > 0; count += (size_t)n) {
        ck_assert_uint_lt(count, room - 1);
        n = read(fd, text + count, room - 1 - count);
        ck_assert(n >= 0);
    }
    text[count] = 0;
    close(fd);
    return count;
}

//: spawn-words
// Standard output goes to a file unless to is another: an open file, or -1 for closed.
enum { TO_FILE = -2 };

static inline void run_words(const void *input, size_t count, int to,
                             const char *const *words)
{
    int in = spawn_file(input, count), err = spawn_file("", 0);
    int out = to == TO_FILE ? spawn_file("", 0) : to;
    spawn_wait(spawn(words, in, out, err));
    close(in);
    ran.n_err = spawn_read(err, ran.err, sizeof ran.err);
    ran.n_out = 0;
    ran.out[0] = 0;
    if (to == TO_FILE)
        ran.n_out = spawn_read(out, ran.out, sizeof ran.out);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define RUN(...) run_words("", 0, TO_FILE, WORDS(__VA_ARGS__))
#define RUN_WITH(input, count, ...) run_words(input, count, TO_FILE, WORDS(__VA_ARGS__))

//: spawn-fails
// The latest run did what it should.
static inline void succeeded(void)
{
    ck_assert_msg(ran.status == 0, "status %d: %s", ran.status, ran.err);
    ck_assert_ptr_null(strstr(ran.err, "lanewise: "));
}

// Standard error is one line that begins with the program's name and holds these texts;
// standard output is empty.
static inline void failed_with(int status, const char *const *texts)
{
    ck_assert_msg(ran.status == status, "status %d: %s", ran.status, ran.err);
    ck_assert_msg(ran.n_out == 0, "standard output: %s", ran.out);
    ck_assert_msg(strncmp(ran.err, "lanewise: ", 10) == 0, "%s", ran.err);
    ck_assert_ptr_eq(strchr(ran.err, '\n'), ran.err + ran.n_err - 1);
    for (; *texts != NULL; texts++)
        ck_assert_msg(strstr(ran.err, *texts) != NULL, "no '%s' in: %s", *texts, ran.err);
}
#define FAILED_WITH(status, ...) failed_with(status, WORDS(__VA_ARGS__))

#endif
