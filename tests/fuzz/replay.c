/* Runs a fuzz target on files it is given, folders read through: how a corpus is replayed as a
 * normal test, without libFuzzer. SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(1 << 22);
    if (!file || !data) {
        printf("%s cannot be read\n", path);
        return 0;
    }
    size_t n = fread(data, 1, 1 << 22, file);
    fclose(file);
    /* in a block of its exact size, so that a read behind it is seen */
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact) return 0;
    for (size_t i = 0; i < n; i++) exact[i] = data[i];
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    free(data);
    return 1;
}

int main(int argc, char **argv) {
    int files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) files += run_file(argv[i]);
        for (const struct dirent *e; dir && (e = readdir(dir));) {
            char path[4096];
            if (e->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            files += run_file(path);
        }
        if (dir) closedir(dir);
    }
    printf("%d files\n", files);
    return files == 0;
}
