/* One render: limits, output, and the entry point. Everything the template makes lives in the
 * run's arena and goes with it. SPDX-License-Identifier: MIT */
#include "template/run.h"

#include <string.h>

enum {
    DEFAULT_DEPTH = 1000,
    MAX_DEPTH = 2000,
    DEFAULT_OUTPUT = 64 << 20,
    DEFAULT_MEMORY = 512 << 20
};

#undef tpl_fail /* see run.h */
weft_status tpl_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_set_v(WEFT_INVALID, format, args);
    va_end(args);
    return WEFT_INVALID;
}

weft_status tpl_step(trun *R, uint64_t cost) {
    REQUIRE(cost <= R->max_steps - R->steps, WEFT_LIMIT,
            "the template takes more than the limit of %llu steps",
            (unsigned long long)R->max_steps);
    R->steps += cost;
    return WEFT_OK;
}

weft_status tpl_work(trun *R, size_t bytes) { return tpl_step(R, bytes / 64); }

weft_status tpl_enter_call(trun *R) {
    REQUIRE(R->depth < R->max_depth, WEFT_LIMIT,
            "calls, loops and expressions are nested deeper than the limit of %d", R->max_depth);
    R->depth++;
    return WEFT_OK;
}

weft_status tpl_write(trun *R, const char *data, size_t n) {
    REQUIRE(n <= R->max_output - R->out->n, WEFT_LIMIT,
            "the output is longer than the limit of %zu bytes", R->max_output);
    TRY(tpl_work(R, n));
    return str_append(R->out, data, n);
}

static weft_status render(trun *R, const char *context_json, size_t n) {
    TRY(tpl_context(&R->mem, context_json, n, &R->context));
    tframe *frame;
    tflow flow;
    TRY(tpl_frame(R, R->program->frame, NULL, &frame));
    tpl_enter_scope(R, frame, &R->program->scope);
    return tpl_exec(R, frame, &R->program->body, &flow);
}

weft_status template_render(const template_program *program, const char *context_json, size_t n,
                            const template_options *options, str *out) {
    template_options o = options ? *options : (template_options){0};
    str text = {0};
    trun R = {.program = program,
              .mem = {.limit = o.max_memory ? o.max_memory : (size_t)DEFAULT_MEMORY},
              .clock = o.clock,
              .max_steps = o.max_steps ? o.max_steps : 20000000,
              .max_depth = o.max_depth > 0 ? o.max_depth : DEFAULT_DEPTH,
              .max_output = o.max_output ? o.max_output : (size_t)DEFAULT_OUTPUT,
              .out = &text};
    if (R.max_depth > MAX_DEPTH) R.max_depth = MAX_DEPTH;
    weft_status status = render(&R, context_json, n);
    if (status == WEFT_OK) status = str_append(out, str_text(&text), text.n);
    str_free(&text);
    arena_free(&R.mem.arena);
    return status;
}
