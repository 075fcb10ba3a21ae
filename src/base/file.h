/* Files: read-only memory maps, whole reads, and replace-by-rename writes. Every failure names the
 * path and the system's reason. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_FILE_H
#define WEFT_BASE_FILE_H

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

/* Reads a whole file (at most max_bytes) into memory the caller frees with mem_free; a 0 byte
 * follows the end. "-" reads standard input. */
weft_status file_read(const char *path, size_t max_bytes, char **data, size_t *n);

#endif
