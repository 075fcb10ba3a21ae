/* Pipelines: shader sources put together, compiled once, kept by what they were made of.
 *
 * Source = prelude (enable lines, then the plan's constants) + the step's files, concatenated.
 * The key is that prelude with the row's and files' names. Layouts are explicit, made from which
 * bindings are written, so that pipelines that bind alike share bind groups. With
 * WEFT_SHADER_DIR set, files are read from that folder instead of the program.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "webgpu/gpu.h"

static const struct {
    const char *name, *text;
    size_t n;
} embedded[] = {
#include "shaders_data.h"
};

/* ---- sources --------------------------------------------------------------------------------- */

static weft_status append_source(str *source, const char *name) {
    const char *folder = getenv("WEFT_SHADER_DIR");
    if (folder && folder[0]) {
        char path[512], *text;
        size_t n;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        TRY(file_read(path, 1 << 20, &text, &n));
        weft_status status = str_append(source, text, n);
        mem_free(text);
        TRY(status);
        return str_char(source, '\n');
    }
    for (size_t i = 0; i < sizeof embedded / sizeof *embedded; i++) {
        if (strcmp(embedded[i].name, name) != 0) continue;
        TRY(str_append(source, embedded[i].text, embedded[i].n));
        return str_char(source, '\n');
    }
    return error_set(WEFT_UNSUPPORTED, "there is no shader file %s", name);
}

/* As a hexadecimal literal: the exact value, whatever the locale. Infinity and NaN have none in
 * WGSL. */
static weft_status append_float(str *text, const char *name, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 23 & 255);
    REQUIRE(exponent != 255, WEFT_INVALID, "constant %s is not a finite number", name);
    const char *sign = bits >> 31 ? "-" : "";
    if ((bits & 0x7fffffffu) == 0) return str_format(text, "const %s: f32 = %s0.0f;\n", name, sign);
    return str_format(text, "const %s: f32 = %s0x%d.%06xp%df;\n", name, sign, exponent > 0,
                      (bits & 0x7fffffu) << 1, exponent > 0 ? exponent - 127 : -126);
}

static weft_status append_const(str *text, const plan_const *c) {
    switch (c->kind) {
    case 'i': return str_format(text, "const %s: i32 = i32(%d);\n", c->name, c->value.i);
    case 'b':
        return str_format(text, "const %s: bool = %s;\n", c->name, c->value.u ? "true" : "false");
    case 'a': return str_format(text, "alias %s = %s;\n", c->name, c->value.text);
    case 'f': return append_float(text, c->name, c->value.f);
    default: return str_format(text, "const %s: u32 = %uu;\n", c->name, c->value.u);
    }
}

static weft_status write_prelude(const gpu *g, const plan_step *step, str *text) {
    for (const dialect_feature *f = g->dialect->features; f->name; f++) {
        if ((step->row->needs & f->need) && f->enable) TRY(str_format(text, "%s\n", f->enable));
    }
    for (int i = 0; i < step->n_consts; i++) TRY(append_const(text, &step->consts[i]));
    return WEFT_OK;
}

/* ---- layouts --------------------------------------------------------------------------------- */

static WGPUBindGroupLayout make_group_layout(gpu *g, const WGPUBindGroupLayoutEntry *entries,
                                             size_t n) {
    WGPUBindGroupLayoutDescriptor desc = {.entryCount = n, .entries = entries};
    return g->api.DeviceCreateBindGroupLayout(g->device, &desc);
}

static WGPUBindGroupLayoutEntry entry(uint32_t binding, WGPUBufferBindingType type,
                                      bool is_dynamic) {
    WGPUBindGroupLayoutEntry e = {.binding = binding, .visibility = WGPUShaderStage_Compute};
    e.buffer.type = type;
    e.buffer.hasDynamicOffset = is_dynamic;
    return e;
}

static weft_status find_layout(gpu *g, int n_bindings, uint32_t written, int *out) {
    gpu_pipelines *p = &g->pipelines;
    for (size_t i = 0; i < p->n_layouts; i++) {
        if (p->layouts[i].n_bindings == n_bindings && p->layouts[i].written == written) {
            *out = (int)i;
            return WEFT_OK;
        }
    }
    TRY(mem_reserve((void **)&p->layouts, &p->layouts_capacity, p->n_layouts + 1,
                    sizeof *p->layouts));
    gpu_layout *l = &p->layouts[p->n_layouts];
    *l = (gpu_layout){.n_bindings = n_bindings, .written = written};
    WGPUBindGroupLayoutEntry entries[PLAN_MAX_BINDINGS];
    for (int i = 0; i < n_bindings; i++) {
        bool is_written = written >> i & 1;
        entries[i] = entry((uint32_t)i,
                           is_written ? WGPUBufferBindingType_Storage
                                      : WGPUBufferBindingType_ReadOnlyStorage,
                           false);
    }
    l->group = make_group_layout(g, entries, (size_t)n_bindings);
    for (int k = 0; k < 2; k++) {
        WGPUBindGroupLayout groups[2] = {l->group, p->common[k]};
        WGPUPipelineLayoutDescriptor desc = {.bindGroupLayoutCount = 2, .bindGroupLayouts = groups};
        l->pipeline[k] = g->api.DeviceCreatePipelineLayout(g->device, &desc);
    }
    *out = (int)p->n_layouts++;
    return WEFT_OK;
}

weft_status pipelines_open(gpu *g) {
    WGPUBindGroupLayoutEntry entries[2] = {entry(0, WGPUBufferBindingType_Uniform, true),
                                           entry(1, WGPUBufferBindingType_Storage, true)};
    gpu_scope_push(g);
    g->pipelines.common[0] = make_group_layout(g, entries, 1);
    g->pipelines.common[1] = make_group_layout(g, entries, 2);
    return gpu_scope_pop(g);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static weft_status compile(gpu *g, const plan_step *step, const str *prelude, gpu_pipeline *p) {
    str source = {0};
    weft_status status = str_append(&source, str_text(prelude), prelude->n);
    for (int i = 0; i < step->n_sources && status == WEFT_OK; i++)
        status = append_source(&source, step->sources[i]);
    if (status != WEFT_OK) {
        str_free(&source);
        return error_prefix(status, "kernel %s", step->row->name);
    }
    double t0 = clock_seconds();
    WGPUShaderSourceWGSL wgsl = {.chain = {.sType = WGPUSType_ShaderSourceWGSL}};
    wgsl.code = (WGPUStringView){source.data, source.n};
    WGPUShaderModuleDescriptor module_desc = {.nextInChain = &wgsl.chain,
                                              .label = gpu_text(step->row->name)};
    gpu_scope_push(g);
    WGPUShaderModule module =
        g->dialect->new_module(&g->api, g->device, &module_desc, g->has_checks);
    status = gpu_scope_pop(g);
    if (status == WEFT_OK) {
        WGPUComputePipelineDescriptor desc = {
            .label = gpu_text(step->row->name),
            .layout = g->pipelines.layouts[p->layout].pipeline[p->has_flag]};
        desc.compute.module = module;
        desc.compute.entryPoint = gpu_text("main");
        gpu_scope_push(g);
        p->handle = g->api.DeviceCreateComputePipeline(g->device, &desc);
        status = gpu_scope_pop(g);
    }
    if (module) g->api.ShaderModuleRelease(module);
    if (status != WEFT_OK) {
        log_line(WEFT_LOG_TRACE, "webgpu: source of %s:\n%s", step->row->name, str_text(&source));
        error_prefix(status, "kernel %s does not compile", step->row->name);
    } else {
        g->pipelines.n_compiled++;
        log_line(WEFT_LOG_DEBUG, "webgpu: kernel %s compiled in %.1f ms", step->row->name,
                 (clock_seconds() - t0) * 1e3);
    }
    str_free(&source);
    return status;
}

/* Each row with a flag has a slot of its own, so that a bad index names its kernel. Rows outside
 * the table (the self test's, the tests') share the last one. */
static int slot_of_flag(const kernel_row *row) {
    int slot = 0;
    for (const kernel_row *r = kernel_rows; r < kernel_rows + n_kernel_rows; r++) {
        if (r == row) return slot;
        if ((r->needs & F_FLAG) && slot < GPU_FLAG_SLOTS - 2) slot++;
    }
    return GPU_FLAG_SLOTS - 1;
}

static weft_status make(gpu *g, const plan_step *step, const str *prelude, const char *key,
                        gpu_pipeline **out) {
    uint32_t written = 0;
    for (int i = 0; i < step->n_bindings; i++)
        written |= (uint32_t)step->bindings[i].is_written << i;
    gpu_pipeline *p = mem_alloc(sizeof *p);
    if (!p) return WEFT_NO_MEMORY;
    p->row = step->row;
    p->has_flag = (step->row->needs & F_FLAG) != 0;
    p->flag_slot = slot_of_flag(step->row);
    p->key = mem_string(key);
    weft_status status =
        p->key ? find_layout(g, step->n_bindings, written, &p->layout) : WEFT_NO_MEMORY;
    if (status == WEFT_OK) status = compile(g, step, prelude, p);
    gpu_pipelines *all = &g->pipelines;
    if (status == WEFT_OK)
        status =
            mem_reserve((void **)&all->items, &all->capacity, all->n + 1, sizeof(gpu_pipeline *));
    if (status != WEFT_OK) {
        if (p->handle) g->api.ComputePipelineRelease(p->handle);
        mem_free(p->key);
        mem_free(p);
        return status;
    }
    all->items[all->n++] = p;
    *out = p;
    return WEFT_OK;
}

weft_status pipeline_get(gpu *g, const plan_step *step, const gpu_pipeline **out) {
    str prelude = {0}, key = {0};
    weft_status status = write_prelude(g, step, &prelude);
    if (status == WEFT_OK) status = str_format(&key, "%s", step->row->name);
    for (int i = 0; i < step->n_sources && status == WEFT_OK; i++)
        status = str_format(&key, " %s", step->sources[i]);
    for (int i = 0; i < step->n_bindings && status == WEFT_OK; i++)
        status = str_text_append(&key, step->bindings[i].is_written ? " w" : " r");
    if (status == WEFT_OK) status = str_format(&key, "\n%s", str_text(&prelude));
    gpu_pipeline *found = NULL;
    for (size_t i = 0; i < g->pipelines.n && status == WEFT_OK && !found; i++) {
        if (!strcmp(g->pipelines.items[i]->key, str_text(&key))) found = g->pipelines.items[i];
    }
    if (status == WEFT_OK && !found) status = make(g, step, &prelude, str_text(&key), &found);
    str_free(&prelude);
    str_free(&key);
    *out = found;
    return status;
}

void pipelines_close(gpu *g) {
    gpu_pipelines *p = &g->pipelines;
    for (size_t i = 0; i < p->n; i++) {
        g->api.ComputePipelineRelease(p->items[i]->handle);
        mem_free(p->items[i]->key);
        mem_free(p->items[i]);
    }
    for (size_t i = 0; i < p->n_layouts; i++) {
        for (int k = 0; k < 2; k++) {
            if (p->layouts[i].pipeline[k]) g->api.PipelineLayoutRelease(p->layouts[i].pipeline[k]);
        }
        if (p->layouts[i].group) g->api.BindGroupLayoutRelease(p->layouts[i].group);
    }
    for (int k = 0; k < 2; k++) {
        if (p->common[k]) g->api.BindGroupLayoutRelease(p->common[k]);
    }
    mem_free(p->items);
    mem_free(p->layouts);
    memset(p, 0, sizeof *p);
}
