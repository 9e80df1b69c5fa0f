//: file-map
// A file as memory: the operating system brings in pages as they are touched, and drops
// them again where memory runs short.  Nothing is copied.
#ifndef LANEWISE_FILE_MAP_H
#define LANEWISE_FILE_MAP_H

#include <stddef.h>

#include "error.h"

// Maps a regular file to be read.  The errors do not name the file: the caller does.
bool file_map(const char *path, const unsigned char **map, size_t *size, struct error *e);
void file_unmap(const unsigned char *map, size_t size); // map may be null

// For a program to call once.  Reading a mapped file that another program has meanwhile cut
// short raises SIGBUS, which would end the process without a word; from then on the process
// says so in one line and exits with status 1.  It watches the file mapped last, until that
// is unmapped.
void file_map_guard(void);

// The end of a path that is too long for a sentence, else the path.
const char *file_path_shown(const char *path);

#endif
