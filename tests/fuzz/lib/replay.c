/* Runs a fuzz target on files it is given, folders read through: how a corpus is replayed as a
 * normal test, without libFuzzer.
 *   test_fuzz_NAME PATH...               runs each
 *   test_fuzz_NAME --talk PATH...        and says what failed
 *   test_fuzz_NAME --to FOLDER PATH...   writes each there as libFuzzer takes it: *.bytes twice,
 *                                        as text and as bytes
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>

#include "lib/bytes.h"
#include "lib/fuzz.h"

enum { MOST = 1 << 22 };

static bool write_to(const char *folder, const char *path, const char *data, size_t n,
                     const char *ending) {
    char name[4096];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s/%s%s", folder, slash ? slash + 1 : path, ending);
    FILE *file = fopen(name, "wb");
    if (!file) return false;
    bool ok = fwrite(data, 1, n, file) == n;
    return fclose(file) == 0 && ok;
}

static bool run_file(const char *path, const char *folder) {
    FILE *file = fopen(path, "rb");
    char *data = malloc(MOST);
    bool ok = file && data;
    size_t n = ok ? fread(data, 1, MOST, file) : 0, length = strlen(path);
    if (file) fclose(file);
    if (ok && length > 6 && !strcmp(path + length - 6, ".bytes")) {
        if (folder) ok = write_to(folder, path, data, n, ".text");
        size_t at;
        char *bytes = bytes_read(data, n, &at);
        if (!bytes) printf("no bytes: %.40s\n", data + at);
        n = at;
        free(data);
        data = bytes;
        ok = ok && data;
    }
    if (ok && fuzz_talks) printf("%s\n", path);
    if (ok && folder) ok = write_to(folder, path, data, n, "");
    else if (ok) LLVMFuzzerTestOneInput((const uint8_t *)data, n);
    free(data);
    if (!ok) printf("%s cannot be read\n", path);
    return ok;
}

static int run_folder(DIR *dir, const char *name, const char *folder, bool *ok) {
    int files = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        char path[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", name, e->d_name);
        *ok = run_file(path, folder) && *ok;
        files++;
    }
    return files;
}

int main(int argc, char **argv) {
    bool writes = argc > 2 && !strcmp(argv[1], "--to");
    fuzz_talks = argc > 1 && !strcmp(argv[1], "--talk");
    const char *folder = writes ? argv[2] : NULL;
    int files = 0, first = writes ? 3 : fuzz_talks ? 2 : 1;
    bool ok = true;
    for (int i = first; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (dir) {
            files += run_folder(dir, argv[i], folder, &ok);
            closedir(dir);
        } else {
            ok = run_file(argv[i], folder) && ok;
            files++;
        }
    }
    printf("%d files\n", files);
    return !ok || files == 0;
}
