/* POSIX for now: another system gets another file behind the same header.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

weft_status file_map_open(const char *path, file_map *out) {
    *out = (file_map){0};
    REQUIRE(path && path[0], WEFT_INVALID, "no file name given");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0, WEFT_IO, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(WEFT_IO, "%s is not a regular file", path);
    }
    if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            close(fd);
            return error_set(WEFT_IO, "cannot map %s: %s", path, strerror(errno));
        }
        *out = (file_map){data, (size_t)st.st_size};
    }
    close(fd);
    return WEFT_OK;
}

void file_map_close(file_map *m) {
    if (m->data) munmap((void *)(uintptr_t)m->data, m->n);
    *m = (file_map){0};
}

weft_status file_read(const char *path, size_t max_bytes, char **data, size_t *n) {
    FILE *f = !strcmp(path, "-") ? stdin : fopen(path, "rb");
    REQUIRE(f, WEFT_IO, "cannot open %s: %s", path, strerror(errno));
    void *block = NULL;
    size_t used = 0, capacity = 0;
    weft_status status = WEFT_OK;
    for (;;) {
        status = mem_reserve(&block, &capacity, used + 65537, 1);
        if (status != WEFT_OK) break;
        size_t got = fread((char *)block + used, 1, 65536, f);
        used += got;
        if (ferror(f)) status = error_set(WEFT_IO, "cannot read %s: %s", path, strerror(errno));
        else if (used > max_bytes)
            status = error_set(WEFT_LIMIT, "%s is longer than %zu bytes", path, max_bytes);
        if (status != WEFT_OK || got == 0) break;
    }
    if (f != stdin) fclose(f);
    if (status != WEFT_OK) {
        mem_free(block);
        return status;
    }
    ((char *)block)[used] = 0;
    *data = block;
    *n = used;
    return WEFT_OK;
}
