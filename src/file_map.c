//: file-map-kinds
// Mapping a file; see file_map.h.
#include "file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of_file(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

//: file-map-checks
// Only a regular file has a size to check against.  An empty one cannot be mapped.
static bool map_checked(int file, const unsigned char **map, size_t *size, struct error *e)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return failed(e, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return failed(e, "%s, expected a regular file", kind_of_file(status.st_mode));
    if (status.st_size == 0)
        return failed(e, "an empty file");
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED)
        return failed(e, "cannot be mapped: %s", strerror(errno));
    *map = at;
    *size = (size_t)status.st_size;
    return true;
}

//: file-map-guard
// What the handler of SIGBUS needs, made beforehand: a handler may not format text.
static struct {
    const unsigned char *map; // null where no file is open
    size_t size, length;
    struct error line;
} guarded;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t at = (uintptr_t)info->si_addr, map = (uintptr_t)guarded.map;
    if (map != 0 && at - map < guarded.size) {
        ssize_t written = write(STDERR_FILENO, guarded.line.text, guarded.length);
        (void)written;
        _exit(EXIT_FAILURE);
    }
    signal(number, SIG_DFL); // not ours: it happens again and ends the process
}

//: file-map-guard-install
void file_map_guard(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_bus_error};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

// The end of a long path says more than its beginning, and leaves room for the sentence.
const char *file_path_shown(const char *path)
{
    size_t length = strlen(path), most = sizeof(struct error) / 3;
    return length > most ? path + length - most : path;
}

static void watch(const unsigned char *map, size_t size, const char *path)
{
    failed(&guarded.line, "lanewise: %s: the file shrank while it was being read",
           file_path_shown(path));
    guarded.length = strlen(guarded.line.text);
    guarded.line.text[guarded.length++] = '\n'; // in place of the terminator
    guarded.size = size;
    guarded.map = map;
}

//: file-map-open-close
bool file_map(const char *path, const unsigned char **map, size_t *size, struct error *e)
{
    // Without O_NONBLOCK, opening a FIFO would wait for somebody to write to it.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return failed(e, "cannot be opened: %s", strerror(errno));
    bool mapped = map_checked(file, map, size, e);
    close(file); // the map stays
    if (mapped)
        watch(*map, *size, path);
    return mapped;
}

void file_unmap(const unsigned char *map, size_t size)
{
    if (map == NULL)
        return;
    if (guarded.map == map)
        guarded.map = NULL;
    munmap((void *)(uintptr_t)map, size);
}
