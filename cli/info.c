/* weft info: what is in a model file, and what would run where. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { VALUE_COLUMNS = 100 };

/* At most VALUE_COLUMNS bytes of a text, newlines shown as \n, cut at a character. */
static void print_short(const char *text) {
    size_t n = 0, all = strlen(text);
    while (n < all && n < VALUE_COLUMNS) {
        size_t length = cli_character(text + n, all - n);
        if (!length) length = 1;
        if (text[n] == '\n') fputs("\\n", stdout);
        else if (text[n] == '\t') putchar(' ');
        else cli_show(stdout, text + n, length);
        n += length;
    }
    if (n < all) printf("... (%zu bytes)", all);
    putchar('\n');
}

/* A name out of the file, at least `width` bytes wide. */
static void print_name(const char *name, int width) {
    size_t n = strlen(name);
    fputs("  ", stdout);
    cli_show(stdout, name, n);
    printf("%*s ", n < (size_t)width ? width - (int)n : 0, "");
}

static int print_values(weft_gguf *f, size_t n) {
    if (n) printf("\nmetadata:\n");
    for (size_t i = 0; i < n; i++) {
        weft_gguf_value v;
        if (weft_gguf_get_value(f, i, &v) != WEFT_OK) return cli_fail_weft();
        print_name(v.key, 42);
        printf("%-14s ", v.type);
        print_short(v.text);
    }
    return 0;
}

static void print_tensor(const weft_gguf_tensor *t, int width) {
    char shape[96] = "", size[32];
    size_t at = 0;
    for (int d = 0; d < t->shape.rank; d++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, d ? ", %lld" : "%lld",
                               (long long)t->shape.dim[d]);
    print_name(t->name, width);
    printf("%-9s (%s)%*s %s\n", t->type, shape, at < 20 ? (int)(20 - at) : 0, "",
           cli_size_text(t->bytes, size));
}

static bool is_later_layer(const weft_gguf_tensor *t) {
    return !strncmp(t->name, "blk.", 4) && strncmp(t->name, "blk.0.", 6);
}

/* Columns for the names of n tensors, within reason. */
static int width_of_names(weft_gguf *f, size_t n) {
    size_t width = 34;
    weft_gguf_tensor t;
    for (size_t i = 0; i < n; i++)
        if (weft_gguf_get_tensor(f, i, &t) == WEFT_OK && strlen(t.name) > width)
            width = strlen(t.name);
    return width < 60 ? (int)width : 60;
}

static int print_tensors(weft_gguf *f, size_t n, bool wants_all) {
    int width = width_of_names(f, n);
    printf("\ntensors:\n");
    size_t n_hidden = 0;
    for (size_t i = 0; i < n; i++) {
        weft_gguf_tensor t;
        if (weft_gguf_get_tensor(f, i, &t) != WEFT_OK) return cli_fail_weft();
        if (is_later_layer(&t) && !wants_all) n_hidden++;
        else print_tensor(&t, width);
    }
    if (n_hidden)
        printf("  ... %zu more of the same in later layers (--tensors lists all)\n", n_hidden);
    return 0;
}

static int print_placement(const cli_args *args, weft_gguf *f, const weft_gguf_info *info) {
    enum { MOST = 64 };
    weft_placement list[MOST];
    weft_device_info device;
    weft_device *dev = NULL;
    char size[32];
    int code = cli_open_device(args, &dev, &device), n_other = 0;
    int n = code ? 0 : weft_gguf_placement(f, dev, list, MOST);
    if (n < 0) code = cli_fail_weft();
    if (!code) {
        printf("\non %s (%s), %s of weights%s:\n", device.name, device.adapter,
               cli_size_text(info->tensor_bytes, size),
               device.kind == WEFT_KIND_CPU ? ", used where they lie in the file" : "");
        for (int i = 0; i < n && i < MOST; i++) {
            if (!list[i].note[0] && !list[i].is_fallback) continue;
            n_other++;
            printf("  %-20s %s\n", list[i].op,
                   list[i].note[0] ? list[i].note : "runs on the CPU instead");
        }
        if (!n_other) printf("  every operation of the model runs there\n");
        if (device.memory_bytes && device.memory_bytes < info->tensor_bytes)
            printf("  the device's memory (%s) is smaller than the weights\n",
                   cli_size_text(device.memory_bytes, size));
    }
    weft_close(dev);
    return code;
}

static int print_all(const cli_args *args, weft_gguf *f) {
    weft_gguf_info info;
    char size[32];
    if (weft_gguf_get_info(f, &info) != WEFT_OK) return cli_fail_weft();
    char kind[32];
    if (info.version) snprintf(kind, sizeof kind, "%s version %u", info.kind, info.version);
    else snprintf(kind, sizeof kind, "%s", info.kind);
    printf("%s: %s, %s, %.1f million parameters, %zu tensors\n", args->positional[0], kind,
           cli_size_text(info.file_bytes, size), (double)info.n_parameters * 1e-6, info.n_tensors);
    int code = print_values(f, info.n_values);
    if (!code) code = print_tensors(f, info.n_tensors, args->opt[OPT_tensors].is_set);
    if (code) return code;
    const char *problem = weft_gguf_problem(f);
    if (!problem[0]) return print_placement(args, f, &info);
    printf("\nthis version of weft cannot run it: %s\n", problem);
    return EXIT_OK;
}

int cli_info(const cli_args *args) {
    weft_gguf *f = weft_gguf_open(args->positional[0]);
    if (!f) return cli_fail_weft();
    int code = print_all(args, f);
    weft_gguf_close(f);
    return code;
}
