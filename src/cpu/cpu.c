/* The CPU backend's vtable: memory from the pool, ops from the table that ops.def expands to,
 * executed at once.
 *
 * WEFT_CPU=c|avx2 in the environment limits the level of the kernels; by default the fastest
 * runs. Wrapped memory is used in place unless its alignment is too small for its elements, then it
 * is copied. SPDX-License-Identifier: MIT */
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

static const cpu_op *const ops[] = {
#define WEFT_OP(name, n_in, layouts) &cpu_##name,
#include "tensor/ops.def"
#undef WEFT_OP
};

/* ---- describing ------------------------------------------------------------------------------ */

/* The processor's own name, without the blanks it is padded with. */
static void processor_name(char *out, size_t cap) {
    snprintf(out, cap, "CPU");
#if defined(__x86_64__) || defined(__i386__)
    unsigned words[13] = {0};
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3]))
            return;
    const char *name = (const char *)words;
    while (*name == ' ') name++;
    size_t n = strlen(name);
    while (n > 0 && name[n - 1] == ' ') n--;
    if (n > 0) snprintf(out, cap, "%.*s", (int)n, name);
#endif
}

static void describe(const char *level, weft_device_info *out) {
    *out = (weft_device_info){.kind = WEFT_KIND_CPU, .is_usable = true};
    snprintf(out->name, sizeof out->name, "cpu");
    processor_name(out->adapter, sizeof out->adapter);
    snprintf(out->driver, sizeof out->driver, "weft %s", weft_version());
    snprintf(out->api, sizeof out->api, "-");
    snprintf(out->library, sizeof out->library, "-");
    snprintf(out->features, sizeof out->features, "%s", level);
}

static int list(weft_device_info *out, int cap) {
    cpu_kernels k;
    kernels_c(&k);
    kernels_avx2(&k);
    if (cap > 0) describe(k.name, out);
    return 1;
}

static weft_status info(void *state, weft_device_info *out) {
    const cpu_state *cpu = state;
    describe(cpu->kernels->name, out);
    return WEFT_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const cpu_kernels *find_level(const cpu_state *cpu, const char *name) {
    for (int i = 0; i < cpu->n_levels; i++)
        if (!strcmp(cpu->levels[i].name, name) || !strcmp(cpu->levels[i].fast_name, name))
            return &cpu->levels[i];
    return NULL;
}

static const cpu_kernels *fastest(const cpu_state *cpu) { return &cpu->levels[cpu->n_levels - 1]; }

static weft_status make_levels(cpu_state *cpu) {
    kernels_c(&cpu->levels[cpu->n_levels++]);
    cpu_kernels next = *fastest(cpu);
    if (kernels_avx2(&next)) cpu->levels[cpu->n_levels++] = next;
    cpu->kernels = fastest(cpu);
    const char *limit = getenv("WEFT_CPU");
    if (!limit || !*limit) return WEFT_OK;
    cpu->kernels = find_level(cpu, limit);
    REQUIRE(cpu->kernels, WEFT_INVALID, "WEFT_CPU=%s: this machine's fastest level is %s", limit,
            fastest(cpu)->name);
    cpu->n_levels = (int)(cpu->kernels - cpu->levels) + 1;
    return WEFT_OK;
}

static weft_status open(weft_device *dev, const weft_device_desc *desc, int index, void **state) {
    (void)dev;
    REQUIRE(index <= 0, WEFT_NO_DEVICE, "there is one CPU device, \"cpu\", and no \"cpu:%d\"",
            index);
    cpu_state *cpu = mem_alloc(sizeof *cpu);
    if (!cpu) return WEFT_NO_MEMORY;
    int wanted = desc->n_threads > 0 ? desc->n_threads : parallel_cores();
    cpu->n_threads = parallel_open(wanted);
    if (cpu->n_threads < wanted)
        log_line(WEFT_LOG_WARN, "cpu: %d threads instead of %d: no more can be made here",
                 cpu->n_threads, wanted);
    weft_status status = make_levels(cpu);
    if (status != WEFT_OK) mem_free(cpu);
    else *state = cpu;
    return status;
}

static void close(void *state) {
    cpu_state *cpu = state;
    pool_clear(&cpu->pool);
    mem_free(cpu);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The widest element that is read by a plain load: wrapped memory must suit it. */
enum { WIDEST = 8 };

static weft_status alloc(void *state, weft_storage *s) {
    cpu_state *cpu = state;
    if (s->is_wrapped && (uintptr_t)s->host % WIDEST == 0) return WEFT_OK;
    s->handle = pool_alloc(&cpu->pool, s->bytes, s->scope_depth > 0);
    if (!s->handle) return WEFT_NO_MEMORY;
    if (s->is_wrapped) memcpy(s->handle, s->host, (size_t)s->bytes);
    s->host = s->handle;
    return WEFT_OK;
}

static void free_storage(void *state, weft_storage *s) {
    cpu_state *cpu = state;
    pool_free(&cpu->pool, s->handle);
    s->host = s->handle = NULL;
}

static weft_status write(void *state, weft_storage *s, uint64_t at, const void *data,
                         uint64_t bytes) {
    (void)state;
    if (bytes) memcpy((char *)s->host + at, data, (size_t)bytes);
    return WEFT_OK;
}

static weft_status read(void *state, weft_storage *s, uint64_t at, void *out, uint64_t bytes) {
    (void)state;
    if (bytes) memcpy(out, (const char *)s->host + at, (size_t)bytes);
    return WEFT_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool can_run(void *state, const weft_call *call) {
    (void)state;
    return ops[call->op]->accepts(call);
}

static weft_status run(void *state, const weft_call *call) {
    const cpu_state *cpu = state;
    REQUIRE(ops[call->op]->accepts(call), WEFT_DTYPE, "%s: the CPU has no code for %s -> %s",
            op_name(call->op), weft_dtype_name(call->in[0]->dtype),
            weft_dtype_name(call->out->dtype));
    return ops[call->op]->run(cpu, call);
}

static weft_status flush(void *state, bool wait) {
    (void)state;
    (void)wait;
    return WEFT_OK;
}

static void counters(void *state, weft_counters *add_to) {
    const cpu_state *cpu = state;
    add_to->bytes_allocated += cpu->pool.bytes_free;
    if (add_to->bytes_peak < cpu->pool.bytes_peak) add_to->bytes_peak = cpu->pool.bytes_peak;
}

static int variants(void *state, const weft_call *call, const char **names, int cap) {
    const cpu_state *cpu = state;
    const cpu_op *op = ops[call->op];
    if (!op->accepts(call)) return 0;
    bool is_fast = op->is_fast && op->is_fast(cpu, call);
    int first = op->has_levels ? 0 : cpu->n_levels - 1, n = 0;
    for (int i = first; i < cpu->n_levels; i++, n++)
        if (n < cap) names[n] = is_fast ? cpu->levels[i].fast_name : cpu->levels[i].name;
    return n;
}

static weft_status select_level(void *state, const char *name) {
    cpu_state *cpu = state;
    const cpu_kernels *k = name ? find_level(cpu, name) : fastest(cpu);
    REQUIRE(k, WEFT_INVALID, "the CPU backend has no level \"%s\" here", name);
    cpu->kernels = k;
    return WEFT_OK;
}

const weft_backend cpu_backend = {
    .name = "cpu",
    .list = list,
    .open = open,
    .close = close,
    .info = info,
    .alloc = alloc,
    .free = free_storage,
    .write = write,
    .read = read,
    .can_run = can_run,
    .run = run,
    .flush = flush,
    .counters = counters,
    .variants = variants,
    .select = select_level,
};
