/* Files: read-only memory maps, whole reads, and replace-by-rename writes. Every failure names the
 * path and the system's reason. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_FILE_H
#define WEFT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct file_map {
    const uint8_t *data; /* NULL for an empty file */
    size_t n;
} file_map;

/* Maps a regular file read-only; a directory, a device or an absent file is an error. */
weft_status file_map_open(const char *path, file_map *out);
void file_map_close(file_map *m);
/* Says that bytes of a map will hardly be read again, so that they need not stay in memory. */
void file_map_forget(const void *data, size_t n);

/* False where nothing has the name. What cannot be looked at, or is a link that leads nowhere,
 * exists: opening it says why it cannot be used. */
bool file_exists(const char *path);
bool file_is_folder(const char *path);

/* Reads a whole file (at most max_bytes) into memory the caller frees with mem_free; a 0 byte
 * follows the end. "-" reads standard input; another pipe is refused. */
weft_status file_read(const char *path, size_t max_bytes, char **data, size_t *n);

/* Writes a file that is never seen half-written: under a temporary name in the same folder, given
 * its own name by file_writer_commit. It can take the place of a file, not of a folder, a device or
 * a pipe. All-zero is closed. */
typedef struct file_writer {
    void *stream;
    char *path, *temporary;
    uint64_t n; /* bytes so far */
} file_writer;

weft_status file_writer_open(file_writer *w, const char *path);
weft_status file_writer_append(file_writer *w, const void *bytes, size_t n);
/* Makes sure that the bytes are on the disk, then renames; the writer is closed either way. */
weft_status file_writer_commit(file_writer *w);
/* Drops what was written; nothing to do after a commit. */
void file_writer_cancel(file_writer *w);

#endif
