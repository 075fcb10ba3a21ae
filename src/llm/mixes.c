/* See mixes.h and mixes.def. A tensor is described once (its kind, its place among its like, what
 * conditions hold), then rows are compared with that description.
 * SPDX-License-Identifier: MIT */
#include "llm/mixes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "tensor/dtype.h"

enum {
#define WEFT_MIX(name, file_type, format) MIX_##name,
#include "llm/mixes.def"
    N_MIXES,
    MIX_ALL = -1
};
enum { WEFT_OWN = WEFT_DTYPE_NUMBERS }; /* a rule's format: the mix's own */

typedef enum kind {
    KIND_OTHER,
    KIND_OUTPUT,
    KIND_EMBEDDING,
    KIND_VALUE,
    KIND_KEY,
    KIND_QUERY,
    KIND_ATTENTION_OUT,
    KIND_UP,
    KIND_GATE,
    KIND_DOWN,
    N_KINDS,
    KIND_ANY = -1
} kind;

enum condition {
    FIRST_2 = 1 << 0, /* place among the values */
    FIRST_4 = 1 << 1,
    FIRST_EIGHTH = 1 << 2, /* of the layers */
    FIRST_SIXTEENTH = 1 << 3,
    MIDDLE = 1 << 4,     /* neither the first nor the last eighth */
    MORE_BITS = 1 << 5,  /* the first and last eighth, and every third layer between */
    GQA_4 = 1 << 6,      /* four or more query heads share a value head */
    FEW_VALUES = 1 << 7, /* that, or four or more experts share the values */
    EXPERTS_8 = 1 << 8,  /* exactly eight experts */
    NOT_EXPERTS_8 = 1 << 9,
    HAS_IMATRIX = 1 << 10,
    NO_IMATRIX = 1 << 11,
    ODD_ROW = 1 << 12,              /* a row is no whole number of blocks of the mix's own format */
    STACKED = 1 << 13,              /* three dimensions: one matrix for each of several experts */
    IS_70B = 1 << 14,               /* what llama.cpp calls a 70B, by WEFT_MIX_ARCH */
    IS_FALCON = 1 << 15,            /* and so are these */
    ONLY_EXPERTS_STACKED = 1 << 16, /* not every STACKED matrix is one of experts */
};

static const struct {
    const char *name;
    uint32_t file_type;
    weft_dtype dtype;
} mixes[N_MIXES] = {
#define WEFT_MIX(name, file_type, format) {#name, file_type, WEFT_##format},
#include "llm/mixes.def"
};

static const struct {
    const char *name;
    int mix;
} names[] = {
#define WEFT_MIX(name, file_type, format) {#name, MIX_##name},
#include "llm/mixes.def"
#define WEFT_MIX_ALIAS(alias, name) {#alias, MIX_##name},
#include "llm/mixes.def"
};

static const struct {
    int mix;
    kind kind;
    unsigned conditions;
    int dtype; /* or WEFT_OWN */
} rules[] = {
#define WEFT_MIX_RULE(mix, kind, conditions, format)                                               \
    {MIX_##mix, KIND_##kind, conditions, WEFT_##format},
#include "llm/mixes.def"
};

static const struct {
    const char *name;
    uint64_t n_layers;
    bool shares;
    unsigned condition;
} archs[] = {
#define WEFT_MIX_ARCH(arch, layers, shares, condition) {arch, layers, shares, condition},
#include "llm/mixes.def"
};

static const struct {
    kind kind;
    const char *text;
} kinds[] = {
#define WEFT_MIX_KIND(kind, text) {KIND_##kind, text},
#include "llm/mixes.def"
};

static const int counted[] = {
#define WEFT_MIX_COUNTS(mix) MIX_##mix,
#include "llm/mixes.def"
};

static const char *const kept[] = {
#define WEFT_MIX_KEEP(text) text,
#include "llm/mixes.def"
};

static const struct {
    weft_dtype from, to;
} fallbacks[] = {
#define WEFT_MIX_FALLBACK(from, to) {WEFT_##from, WEFT_##to},
#include "llm/mixes.def"
};

enum { N_NAMES = sizeof names / sizeof *names };

int mix_find(const char *name) {
    for (size_t i = 0; name && i < N_NAMES; i++)
        if (!strcasecmp(names[i].name, name)) return names[i].mix;
    return -1;
}

const char *mix_name(size_t i) { return i < N_NAMES ? names[i].name : NULL; }
uint32_t mix_file_type(int mix) { return mixes[mix].file_type; }

static weft_dtype fallback(weft_dtype dtype) {
    for (size_t i = 0; i < sizeof fallbacks / sizeof *fallbacks; i++)
        if (fallbacks[i].from == dtype) return fallbacks[i].to;
    return dtype;
}

/* ---- describing a tensor
 * ------------------------------------------------------------------------------ */

/* What the rules ask of the whole model. */
typedef struct model {
    const gguf_file *file;
    mix_request request;
    weft_dtype output_type; /* valid when request.output_type is set */
    bool has_output;        /* an output matrix of its own: else the embedding serves */
    uint64_t n_layers, n_experts, gqa;
    unsigned conditions; /* of its architecture */
    size_t n_like[N_KINDS], n_fallbacks;
} model;

typedef struct description {
    kind kind;
    unsigned conditions;
} description;

static bool has(gguf_string name, const char *text) {
    return memmem(name.data, name.n, text, strlen(text)) != NULL;
}

static bool is(gguf_string name, const char *text) {
    return name.n == strlen(text) && !memcmp(name.data, text, name.n);
}

static kind kind_of(const model *m, gguf_string name) {
    if (is(name, "output.weight")) return KIND_OUTPUT;
    if (is(name, "token_embd.weight") || is(name, "per_layer_token_embd.weight"))
        return m->has_output ? KIND_EMBEDDING : KIND_OUTPUT;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has(name, kinds[i].text)) return kinds[i].kind;
    return KIND_OTHER;
}

/* Only matrices whose names end in "weight" and are not in the table of those to keep. */
static bool may_quantize(const gguf_tensor *t) {
    int first = 0;
    while (first < t->rank && t->dim[first] == 1) first++;
    if (t->rank - first < 2) return false;
    if (t->name.n < 6 || memcmp(t->name.data + t->name.n - 6, "weight", 6)) return false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (has(t->name, kept[i])) return false;
    return true;
}

/* N of "blk.N.", -1 for a tensor of no layer. */
static int64_t layer_of(gguf_string name) {
    int64_t layer = 0;
    size_t i = 4;
    if (name.n < 6 || memcmp(name.data, "blk.", 4)) return -1;
    for (; i < name.n && name.data[i] >= '0' && name.data[i] <= '9' && layer < 1000000; i++)
        layer = layer * 10 + (name.data[i] - '0');
    return i > 4 && i < name.n && name.data[i] == '.' ? layer : -1;
}

static unsigned place_conditions(int64_t i, int64_t n) {
    unsigned c = 0;
    if (i < 0) return 0;
    if (i < 2) c |= FIRST_2;
    if (i < 4) c |= FIRST_4;
    if (i < n / 8) c |= FIRST_EIGHTH;
    if (i < n / 16) c |= FIRST_SIXTEENTH;
    if (i >= n / 8 && i < 7 * n / 8) c |= MIDDLE;
    if (i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2) c |= MORE_BITS;
    return c;
}

static unsigned model_conditions(const model *m) {
    unsigned c = m->conditions | (m->request.has_imatrix ? HAS_IMATRIX : NO_IMATRIX);
    c |= m->n_experts == 8 ? EXPERTS_8 : NOT_EXPERTS_8;
    if (m->gqa >= 4) c |= GQA_4;
    if (m->gqa >= 4 || m->n_experts >= 4) c |= FEW_VALUES;
    return c;
}

static int64_t row_of(const gguf_tensor *t) { return t->rank ? t->dim[t->rank - 1] : 1; }

/* llama.cpp counts the layers of dense models by the tensors it meets, those of models with experts
 * by their names; but the mixes of one and two bits always by the tensors. */
static bool counts_tensors(const model *m) {
    if (m->n_experts <= 1) return true;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (counted[i] == m->request.mix) return true;
    return false;
}

/* `place` is the tensor's place among its like, in the order of layers. */
static description describe(const model *m, const gguf_tensor *t, size_t place) {
    description d = {kind_of(m, t->name), model_conditions(m)};
    if (d.kind == KIND_VALUE)
        d.conditions |= place_conditions((int64_t)place, (int64_t)m->n_like[KIND_VALUE]);
    else {
        int64_t layer = counts_tensors(m) ? (int64_t)place : layer_of(t->name);
        d.conditions |= place_conditions(layer, (int64_t)m->n_layers);
    }
    if (row_of(t) % dtype_find(mixes[m->request.mix].dtype)->block) d.conditions |= ODD_ROW;
    if (t->rank >= 3 && t->dim[t->rank - 3] > 1) d.conditions |= STACKED;
    return d;
}

/* ---- choosing
 * ----------------------------------------------------------------------------------------- */

static weft_dtype by_rules(const model *m, description d) {
    weft_dtype dtype = mixes[m->request.mix].dtype;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].mix != MIX_ALL && rules[i].mix != m->request.mix) continue;
        if (rules[i].kind != KIND_ANY && rules[i].kind != d.kind) continue;
        if ((rules[i].conditions & d.conditions) != rules[i].conditions) continue;
        if (rules[i].dtype != WEFT_OWN) dtype = (weft_dtype)rules[i].dtype;
        break;
    }
    return dtype;
}

/* A format whose blocks fill the row. */
static weft_dtype fitting(model *m, const gguf_tensor *t, weft_dtype dtype) {
    int64_t row = row_of(t);
    if (row % dtype_find(dtype)->block == 0) return dtype;
    weft_dtype other = fallback(dtype);
    if (row % dtype_find(other)->block) other = WEFT_F16;
    m->n_fallbacks++;
    log_line(WEFT_LOG_INFO, "%s: a row of %" PRId64 " elements does not fit %s: %s is taken",
             gguf_show(t->name).text, row, weft_dtype_name(dtype), weft_dtype_name(other));
    return other;
}

static weft_dtype choose(model *m, const gguf_tensor *t, size_t place) {
    if (!may_quantize(t)) return t->dtype;
    weft_dtype own = mixes[m->request.mix].dtype;
    description d = describe(m, t, place);
    if (m->request.output_type && d.kind == KIND_OUTPUT) return fitting(m, t, m->output_type);
    if (!dtype_find(own)->is_quantized) return own;
    return fitting(m, t, m->request.is_pure ? own : by_rules(m, d));
}

/* ---- the model
 * ---------------------------------------------------------------------------------------- */

static gguf_string arch_of(const gguf_file *f) {
    gguf_string arch = {"", 0};
    weft_status ignored = WEFT_OK;
    gguf_get_string(f, "general.architecture", &arch, &ignored);
    return arch;
}

/* The value of "ARCH.suffix", or `otherwise`; an array's is that of the first layer. */
static uint64_t arch_number(const gguf_file *f, const char *suffix, uint64_t otherwise) {
    gguf_string arch = arch_of(f);
    char key[192];
    if (arch.n > 100) return otherwise;
    snprintf(key, sizeof key, "%.*s.%s", (int)arch.n, arch.data, suffix);
    const gguf_value *v = gguf_find(f, key);
    if (!v || v->n == 0 || v->element_type == GGUF_STRING) return otherwise;
    int64_t n = gguf_integer_at(v, 0);
    return n > 0 ? (uint64_t)n : 0;
}

static model read_model(const gguf_file *f, mix_request request) {
    model m = {.file = f, .request = request};
    uint64_t n_heads = arch_number(f, "attention.head_count", 1);
    uint64_t n_kv_heads = arch_number(f, "attention.head_count_kv", n_heads);
    m.n_layers = arch_number(f, "block_count", 0);
    m.n_experts = arch_number(f, "expert_count", 0);
    m.gqa = n_kv_heads ? n_heads / n_kv_heads : 0;
    m.has_output = gguf_find_tensor(f, "output.weight") != NULL;
    gguf_string arch = arch_of(f);
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        bool fits = is(arch, archs[i].name) && (!archs[i].shares || m.gqa > 1) &&
                    (!archs[i].n_layers || archs[i].n_layers == m.n_layers);
        if (fits) m.conditions |= archs[i].condition;
    }
    return m;
}

typedef struct placed {
    int64_t layer;
    gguf_string name;
    size_t i;
} placed;

static int by_layer(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int order = memcmp(x->name.data, y->name.data, n);
    return order ? order : x->name.n < y->name.n ? -1 : x->name.n > y->name.n;
}

/* places[i]: how many of tensor i's kind come before it, counted through the layers. */
static weft_status place_all(model *m, size_t *places) {
    size_t n = gguf_n_tensors(m->file);
    placed *all = mem_array(n, sizeof *all);
    if (!all) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        gguf_string name = gguf_tensor_at(m->file, i)->name;
        all[i] = (placed){layer_of(name), name, i};
    }
    qsort(all, n, sizeof *all, by_layer);
    for (size_t k = 0; k < n; k++) {
        const gguf_tensor *t = gguf_tensor_at(m->file, all[k].i);
        kind own = kind_of(m, t->name);
        places[all[k].i] = m->n_like[own];
        if (own == KIND_VALUE || may_quantize(t)) m->n_like[own]++;
    }
    mem_free(all);
    return WEFT_OK;
}

weft_status mix_plan(const gguf_file *f, mix_request request, weft_dtype *types) {
    model m = read_model(f, request);
    REQUIRE(!request.output_type || dtype_parse(request.output_type, &m.output_type), WEFT_INVALID,
            "'%s' is no format", request.output_type);
    size_t n = gguf_n_tensors(f), *places = mem_array(n, sizeof *places);
    if (!places) return WEFT_NO_MEMORY;
    weft_status status = place_all(&m, places);
    for (size_t i = 0; i < n && status == WEFT_OK; i++)
        types[i] = choose(&m, gguf_tensor_at(f, i), places[i]);
    mem_free(places);
    if (status == WEFT_OK && m.n_fallbacks)
        log_line(WEFT_LOG_WARN,
                 "%zu of %zu tensors get a format with smaller blocks, since their rows do not fit "
                 "(WEFT_LOG=info lists them)",
                 m.n_fallbacks, n);
    return status;
}

void mix_widen_rest(const gguf_file *f, weft_dtype *types) {
    for (size_t i = 0; i < gguf_n_tensors(f); i++) {
        bool is_half = types[i] == WEFT_F16 || types[i] == WEFT_BF16;
        if (is_half && !may_quantize(gguf_tensor_at(f, i))) types[i] = WEFT_F32;
    }
}
