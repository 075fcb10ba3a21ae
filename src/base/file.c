/* POSIX for now: another system gets another file behind the same header.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* A pipe is refused, not waited for. */
static weft_status open_regular(const char *path, int *fd, struct stat *st) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    REQUIRE(*fd >= 0, WEFT_IO, "cannot open %s: %s", path, strerror(errno));
    if (!fstat(*fd, st) && S_ISREG(st->st_mode)) return WEFT_OK;
    close(*fd);
    return error_set(WEFT_IO, "%s is not a regular file", path);
}

weft_status file_map_open(const char *path, file_map *out) {
    *out = (file_map){0};
    REQUIRE(path && path[0], WEFT_INVALID, "no file name given");
    int fd;
    struct stat st;
    TRY(open_regular(path, &fd, &st));
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

/* Whole pages only: those at the ends may hold something else. */
void file_map_forget(const void *data, size_t n) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data, to = from + n;
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (to > from) madvise((void *)from, to - from, MADV_DONTNEED);
}

bool file_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool file_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static weft_status open_stream(const char *path, FILE **out) {
    int fd;
    struct stat st;
    *out = stdin;
    if (!strcmp(path, "-")) return WEFT_OK;
    TRY(open_regular(path, &fd, &st));
    *out = fdopen(fd, "rb");
    if (*out) return WEFT_OK;
    close(fd);
    return error_set(WEFT_NO_MEMORY, "out of memory: a stream for %s", path);
}

weft_status file_read(const char *path, size_t max_bytes, char **data, size_t *n) {
    FILE *f;
    TRY(open_stream(path, &f));
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

/* The name is ours alone: the process and a counter, and O_EXCL in case another machine shares the
 * folder. */
static int open_temporary(file_writer *w) {
    static atomic_uint n_opened;
    size_t room = strlen(w->path) + 48;
    w->temporary = mem_alloc(room);
    if (!w->temporary) return -1;
    snprintf(w->temporary, room, "%s.tmp-%ld-%u", w->path, (long)getpid(),
             atomic_fetch_add(&n_opened, 1));
    return open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Only a file may give way to the new one: a rename would put it in the place of a device or a pipe
 * too, and fail on a folder when all work is done. */
static weft_status check_replaceable(const char *path) {
    struct stat st;
    if (stat(path, &st)) return WEFT_OK;
    REQUIRE(!S_ISDIR(st.st_mode), WEFT_IO, "cannot write %s: it is a folder", path);
    REQUIRE(S_ISREG(st.st_mode), WEFT_IO, "cannot write %s: it is not a regular file", path);
    return WEFT_OK;
}

weft_status file_writer_open(file_writer *w, const char *path) {
    *w = (file_writer){0};
    REQUIRE(path && path[0], WEFT_INVALID, "no file name given");
    TRY(check_replaceable(path));
    w->path = mem_string(path);
    int fd = w->path ? open_temporary(w) : -1;
    if (!w->temporary) {
        file_writer_cancel(w);
        return WEFT_NO_MEMORY;
    }
    weft_status status = WEFT_OK;
    if (fd < 0) {
        status = error_set(WEFT_IO, "cannot create %s: %s", w->temporary, strerror(errno));
        mem_free(w->temporary); /* not ours to remove */
        w->temporary = NULL;
    } else {
        w->stream = fdopen(fd, "wb");
        if (!w->stream) {
            close(fd);
            status = error_set(WEFT_NO_MEMORY, "out of memory: a stream for %s", path);
        }
    }
    if (status != WEFT_OK) file_writer_cancel(w);
    return status;
}

weft_status file_writer_append(file_writer *w, const void *bytes, size_t n) {
    REQUIRE(w->stream, WEFT_INVALID, "the file is not open for writing");
    REQUIRE(n == 0 || fwrite(bytes, 1, n, w->stream) == n, WEFT_IO, "cannot write %s: %s",
            w->temporary, strerror(errno));
    w->n += n;
    return WEFT_OK;
}

weft_status file_writer_commit(file_writer *w) {
    REQUIRE(w->stream, WEFT_INVALID, "the file is not open for writing");
    bool is_good = !fflush(w->stream) && !fsync(fileno(w->stream));
    int reason = errno;
    if (fclose(w->stream) && is_good) {
        is_good = false;
        reason = errno;
    }
    w->stream = NULL;
    if (is_good && rename(w->temporary, w->path)) {
        is_good = false;
        reason = errno;
    }
    weft_status status = WEFT_OK;
    if (is_good) {
        mem_free(w->temporary);
        w->temporary = NULL;
    } else {
        status = error_set(WEFT_IO, "cannot write %s: %s", w->path, strerror(reason));
    }
    file_writer_cancel(w);
    return status;
}

void file_writer_cancel(file_writer *w) {
    if (w->stream) fclose(w->stream);
    if (w->temporary) unlink(w->temporary);
    mem_free(w->temporary);
    mem_free(w->path);
    *w = (file_writer){0};
}
