/* Building plans: the helpers that plan functions use to fill steps.
 *
 * Every helper accepts a NULL step (plan_add ran out of memory) and marks a step that overflows
 * one of its arrays or the device's binding limit as failed instead of returning a status; the
 * host looks at plan_status() once after the plan function. Not here: what a plan means on the
 * device (batch.c) or how long it lives (webgpu.c). SPDX-License-Identifier: MIT */
#include "webgpu/plan.h"

#include <string.h>

#include "base/mem.h"

plan_step *plan_add(gpu_plan *plan, const kernel_row *row) {
    if (plan->n_steps == plan->capacity) {
        int capacity = plan->capacity ? plan->capacity * 2 : 1;
        plan_step *steps = mem_grow(plan->steps, (size_t)capacity, sizeof *steps);
        if (!steps) {
            plan->status = WEFT_NO_MEMORY;
            return NULL;
        }
        plan->steps = steps;
        plan->capacity = capacity;
    }
    plan_step *s = &plan->steps[plan->n_steps++];
    memset(s, 0, sizeof *s);
    s->row = row;
    step_source(s, row->source);
    return s;
}

weft_status plan_status(const gpu_plan *plan) {
    TRY(plan->status);
    for (int i = 0; i < plan->n_steps; i++) TRY(plan->steps[i].status);
    return WEFT_OK;
}

void plan_free(gpu_plan *plan) {
    mem_free(plan->steps);
    memset(plan, 0, sizeof *plan);
}

static void overflow(plan_step *s, const char *what, int limit) {
    s->status =
        error_set(WEFT_LIMIT, "kernel %s: a step has more than %d %s", s->row->name, limit, what);
}

void step_source(plan_step *s, const char *file) {
    if (!s) return;
    for (int i = 0; i < s->n_sources; i++) {
        if (strcmp(s->sources[i], file) == 0) return;
    }
    if (s->n_sources == PLAN_MAX_SOURCES) overflow(s, "sources", PLAN_MAX_SOURCES);
    else s->sources[s->n_sources++] = file;
}

static plan_const *add_const(plan_step *s, const char *name, char kind) {
    if (!s) return NULL;
    if (s->n_consts == PLAN_MAX_CONSTS) {
        overflow(s, "constants", PLAN_MAX_CONSTS);
        return NULL;
    }
    plan_const *c = &s->consts[s->n_consts++];
    c->name = name;
    c->kind = kind;
    return c;
}

void step_const(plan_step *s, const char *name, uint32_t value) {
    plan_const *c = add_const(s, name, 'u');
    if (c) c->value.u = value;
}

void step_const_f(plan_step *s, const char *name, float value) {
    plan_const *c = add_const(s, name, 'f');
    if (c) c->value.f = value;
}

void step_flag(plan_step *s, const char *name, bool value) {
    plan_const *c = add_const(s, name, 'b');
    if (c) c->value.u = value;
}

void step_alias(plan_step *s, const char *name, const char *text) {
    plan_const *c = add_const(s, name, 'a');
    if (c) c->value.text = text;
}

uint32_t step_bind(const gpu_caps *caps, plan_step *s, const weft_call *call, int tensor,
                   bool is_written, uint64_t at, uint64_t bytes) {
    if (!s) return 0;
    if (s->n_bindings == PLAN_MAX_BINDINGS) {
        overflow(s, "bindings", PLAN_MAX_BINDINGS);
        return 0;
    }
    (void)call;
    uint64_t alignment = caps->offset_alignment ? caps->offset_alignment : 256;
    uint64_t before = at % alignment;
    plan_binding *b = &s->bindings[s->n_bindings++];
    b->tensor = tensor;
    b->is_written = is_written;
    b->at = at - before;
    /* Storages are rounded up to 16 bytes, so a binding may be too. */
    b->bytes = (before + (bytes ? bytes : 1) + 15) / 16 * 16;
    if (b->bytes > caps->max_binding) {
        const char *what = tensor == BIND_OUT       ? "an output"
                           : tensor == BIND_SCRATCH ? "scratch memory"
                                                    : "an input";
        s->status = error_set(
            WEFT_LIMIT,
            "%s: %s of %llu bytes is larger than the device binds at once (%llu bytes) and this "
            "op does not split it",
            s->row->name, what, (unsigned long long)bytes, (unsigned long long)caps->max_binding);
    }
    return (uint32_t)before;
}

void step_params(plan_step *s, const void *params, uint32_t bytes) {
    if (!s) return;
    if (bytes > PLAN_PARAM_BYTES) {
        overflow(s, "bytes of parameters", PLAN_PARAM_BYTES);
        return;
    }
    memcpy(s->params, params, bytes);
    s->params_bytes = bytes;
}
