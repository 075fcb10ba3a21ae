/* weft devices: what models can run on. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char *kind_text(const weft_device_info *d) {
    switch (d->kind) {
    case WEFT_KIND_CPU: return "CPU";
    case WEFT_KIND_GPU: return d->is_discrete ? "GPU (discrete)" : "GPU (integrated)";
    case WEFT_KIND_SOFTWARE: return "software (a GPU emulated on the CPU)";
    case WEFT_KIND_NULL: return "null (shapes only, no arithmetic)";
    }
    return "unknown";
}

static void print_line(const char *what, const char *text) {
    if (text[0] && strcmp(text, "-")) printf("    %-11s %s\n", what, text);
}

static void print_size(const char *what, uint64_t bytes) {
    char text[32];
    if (bytes) printf("    %-11s %s\n", what, cli_size_text(bytes, text));
}

static void print_device(const weft_device_info *d) {
    bool has_adapter = d->is_usable || strcmp(d->adapter, "-") != 0;
    printf("%c %-10s %s\n", d->is_default ? '*' : ' ', d->name,
           has_adapter ? d->adapter : "nothing");
    if (has_adapter) print_line("kind", kind_text(d));
    print_line("driver", d->driver);
    print_line("api", d->api);
    print_line("library", d->library);
    print_size("memory", d->memory_bytes);
    print_size("buffer", d->max_buffer_bytes);
    print_size("binding", d->max_binding_bytes);
    if (d->subgroup_size) printf("    %-11s %u\n", "subgroup", d->subgroup_size);
    print_line("features", d->features);
    print_line(d->is_usable ? "note" : "unusable", d->note);
}

int cli_devices(const cli_args *args) {
    (void)args;
    int n = weft_list_devices(NULL, 0);
    weft_device_info *list = calloc((size_t)n + 1, sizeof *list);
    if (!list) return cli_fail(EXIT_FAILED, "out of memory");
    int found = weft_list_devices(list, n);
    bool has_default = false;
    for (int i = 0; i < found && i < n; i++) {
        print_device(&list[i]);
        has_default = has_default || list[i].is_default;
    }
    free(list);
    if (!has_default) return cli_fail(EXIT_FAILED, "no device can be used");
    printf("\n* is taken when no --device is given. buffer: the largest one tensor can have; "
           "binding: the\n"
           "largest part of it a kernel sees at once (larger tensors are split).\n");
    return EXIT_OK;
}
