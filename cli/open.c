/* Opening what run and chat need, as their options say. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Why the default device is the default, from the device list. */
static void explain_default(const weft_device_info *taken) {
    enum { MOST = 32 };
    static weft_device_info list[MOST];
    int n = weft_list_devices(list, MOST);
    const char *why = "a better one could not be opened";
    for (int i = 0; i < n && i < MOST; i++)
        if (!strcmp(list[i].name, taken->name) && list[i].is_default) why = list[i].note;
    fprintf(stderr, "device %s (%s), %s\n", taken->name, taken->adapter, why);
}

int cli_open_device(const cli_args *args, weft_device **dev, weft_device_info *info) {
    weft_device_desc desc = {.name = args->opt[OPT_device].text,
                             .n_threads = (int)args->opt[OPT_threads].number};
    *dev = weft_open(&desc);
    if (!*dev || weft_get_device_info(*dev, info) != WEFT_OK) return cli_fail_weft();
    if (!args->opt[OPT_device].is_set) explain_default(info);
    return 0;
}

static bool load_progress(void *user, uint64_t done, uint64_t total) {
    cli_bar_update(user, total ? (double)done / (double)total : 1);
    return !cli_interrupted();
}

static int open_all(const cli_args *args, cli_model *out) {
    weft_session_desc desc = {.n_ctx = (int32_t)args->opt[OPT_ctx].number};
    const char *kv = args->opt[OPT_kv].text;
    if (kv && !strcmp(kv, "f32")) desc.kv = WEFT_KV_F32;
    else if (kv && !strcmp(kv, "f16")) desc.kv = WEFT_KV_F16;
    else if (kv) return cli_fail(EXIT_USAGE, "--kv takes f16 or f32, not \"%s\"", kv);
    desc.precision = args->opt[OPT_exact].is_set ? WEFT_EXACT : WEFT_FAST;
    int code = cli_open_device(args, &out->dev, &out->device);
    if (code) return code;
    cli_bar bar;
    cli_bar_begin(&bar, "loading");
    out->model = weft_model_load(out->dev, args->positional[0],
                                 (weft_model_desc){.on_progress = load_progress, .user = &bar});
    cli_bar_end(&bar);
    if (!out->model && cli_interrupted()) return cli_fail(EXIT_INTERRUPTED, "interrupted");
    if (!out->model || weft_get_model_info(out->model, &out->info) != WEFT_OK)
        return cli_fail_weft();
    if (out->info.warning[0]) fprintf(stderr, "weft: warning: %s\n", out->info.warning);
    out->session = weft_session_open(out->model, desc);
    if (!out->session) return cli_fail_weft();
    if (out->info.n_ctx_train > 0 && desc.n_ctx > out->info.n_ctx_train)
        fprintf(stderr,
                "weft: note: the model was made for a context of %d tokens, fewer than %d\n",
                out->info.n_ctx_train, desc.n_ctx);
    return 0;
}

int cli_open_model(const cli_args *args, cli_model *out) {
    *out = (cli_model){0};
    int code = open_all(args, out);
    if (code) cli_close_model(out);
    return code;
}

void cli_close_model(cli_model *m) {
    weft_session_close(m->session);
    weft_model_free(m->model);
    weft_close(m->dev);
    *m = (cli_model){0};
}

void cli_print_rates(const cli_model *m, const weft_generation *g) {
    fprintf(stderr, "%s, %s | load %.2f s | prompt %d tokens", m->device.name, m->device.adapter,
            m->info.load_seconds, g->n_prompt);
    if (g->n_cached) fprintf(stderr, " (%d cached)", g->n_cached);
    fprintf(stderr, ", %.1f tokens/s | generated %d tokens", g->prompt_rate, g->n_generated);
    if (g->generate_rate > 0) fprintf(stderr, ", %.1f tokens/s", g->generate_rate);
    fprintf(stderr, " | first token %.2f s\n", g->first_token_seconds);
}

void cli_note_fallbacks(cli_model *m) {
    weft_counters counters;
    if (m->has_noted_fallbacks || m->device.kind == WEFT_KIND_CPU) return;
    if (weft_get_counters(m->dev, &counters) != WEFT_OK || !counters.n_fallback) return;
    m->has_noted_fallbacks = true;
    fprintf(stderr,
            "weft: note: %s has no kernel for some of the model's operations, which ran on the CPU "
            "(weft info -d %s MODEL lists them)\n",
            m->device.name, m->device.name);
}
