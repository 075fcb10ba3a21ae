/* See table.h. Dtypes with the same answer share a row. SPDX-License-Identifier: MIT */
#include "table.h"

#include <stdio.h>
#include <string.h>

#ifdef WEFT_HAVE_WEBGPU
#include "webgpu/plan.h"

/* The least that WebGPU promises everywhere. */
static bool gpu_takes(const weft_call *call) {
    const gpu_caps caps = {.max_binding = 128u << 20,
                           .max_buffer = 256u << 20,
                           .max_groups = 65535,
                           .max_invocations = 256,
                           .max_workgroup_bytes = 16384,
                           .offset_alignment = 256};
    for (int i = 0; i < n_kernel_rows; i++) {
        const kernel_row *row = &kernel_rows[i];
        if (row->op == call->op && !(row->needs & ~(uint32_t)F_FLAG) && row->applies(&caps, call))
            return true;
    }
    return false;
}
#else
static bool gpu_takes(const weft_call *call) {
    (void)call;
    return false;
}
#endif

enum { MAX_NOTES = 128, CPU = 1, GPU = 2 };

static struct note {
    int n;
    weft_dtype in[CALL_MAX_INPUTS], out;
    int all, any; /* backends that take all such calls, some of them */
    bool is_printed;
} notes[MAX_NOTES];
static int n_notes;

void table_begin(void) {
    puts(
        "# Ops and dtypes\n\n"
        "Made by `tools/check_ops.sh --write` from the op suite's cases: what each backend's own "
        "table\n"
        "says of the calls they make. Inputs stand between semicolons. WebGPU: an adapter without\n"
        "optional features; a call that it does not take runs on the CPU, is counted, and logged.\n"
        "\"Some\" means that it depends on shapes.\n");
}

void table_note(const weft_call *call, bool cpu) {
    struct note note = {.out = call->out->dtype, .all = CPU | GPU};
    for (int i = 0; i < call->n_in; i++)
        if (call->in[i]) note.in[note.n++] = call->in[i]->dtype;
    int takes = (cpu ? CPU : 0) | (gpu_takes(call) ? GPU : 0), i = 0;
    while (i < n_notes && (notes[i].n != note.n || notes[i].out != note.out ||
                           memcmp(notes[i].in, note.in, sizeof note.in) != 0))
        i++;
    if (i == MAX_NOTES) return;
    if (i == n_notes) notes[n_notes++] = note;
    notes[i].all &= takes;
    notes[i].any |= takes;
}

static const char *word(const struct note *n, int backend) {
    return n->all & backend ? "yes" : n->any & backend ? "some" : "no";
}

/* Same answer and same types but for the input `at`. */
static bool differs_only_at(const struct note *a, const struct note *b, int at) {
    if (a->n != b->n || a->out != b->out || a->all != b->all || a->any != b->any) return false;
    for (int i = 0; i < a->n; i++)
        if (i != at && a->in[i] != b->in[i]) return false;
    return true;
}

/* The input whose types can be listed together in the most notes. */
static int best_place(const struct note *a) {
    int best = 0, most = -1;
    for (int at = 0; at < a->n; at++) {
        int n = 0;
        for (int k = 0; k < n_notes; k++)
            n += !notes[k].is_printed && differs_only_at(a, &notes[k], at);
        if (n > most) most = n, best = at;
    }
    return best;
}

/* A call without its optional inputs says nothing new. */
static bool is_prefix_of_another(const struct note *a) {
    for (int k = 0; k < n_notes; k++) {
        struct note cut = notes[k];
        cut.n = a->n;
        if (notes[k].n > a->n && differs_only_at(a, &cut, -1)) return true;
    }
    return false;
}

void table_end_op(const char *name) {
    printf("## %s\n\n| inputs → result | CPU | WebGPU |\n| --- | --- | --- |\n", name);
    for (int i = 0; i < n_notes; i++) notes[i].is_printed = is_prefix_of_another(&notes[i]);
    for (int i = 0; i < n_notes; i++) {
        if (notes[i].is_printed) continue;
        int place = best_place(&notes[i]);
        for (int at = 0; at < notes[i].n; at++) {
            printf("%s%s", at ? "; " : "| ", weft_dtype_name(notes[i].in[at]));
            for (int k = i + 1; k < n_notes && at == place; k++) {
                if (notes[k].is_printed || !differs_only_at(&notes[i], &notes[k], at)) continue;
                printf(", %s", weft_dtype_name(notes[k].in[at]));
                notes[k].is_printed = true;
            }
        }
        printf(" → %s | %s | %s |\n", weft_dtype_name(notes[i].out), word(&notes[i], CPU),
               word(&notes[i], GPU));
    }
    puts("");
    n_notes = 0;
}
