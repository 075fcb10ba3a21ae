/* Loading: every tensor found by name, its shape and format checked, and put on the device.
 *
 * The CPU uses matrices where they lie in the mapped file. A device with memory of its own gets
 * copies, and siblings that read the same input are then laid one below the other, so that one
 * product does them. Norms and biases are f32 on the device. A tensor of the file that the
 * architecture does not use is an error: leaving it out would give wrong
 * numbers. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/loader.h"
#include "tensor/fused.h"

static const struct {
    const char *name;
    model_size rows, columns;
    bool is_stack; /* one such matrix an expert */
} weights[ROLE_COUNT] = {
#define MODEL_WEIGHT(role, name, rows, columns)                                                    \
    [ROLE_##role] = {name, SIZE_##rows, SIZE_##columns, false},
#define MODEL_EXPERTS(role, name, rows, columns)                                                   \
    [ROLE_##role] = {name, SIZE_##rows, SIZE_##columns, true},
#include "model/weights.def"
#undef MODEL_WEIGHT
};

typedef struct tensor_name {
    char text[80];
} tensor_name;

static tensor_name name_of(model_role role, int layer) {
    tensor_name name;
    if (role < ROLE_FIRST_OF_LAYER) snprintf(name.text, sizeof name.text, "%s", weights[role].name);
    else snprintf(name.text, sizeof name.text, "blk.%d.%s", layer, weights[role].name);
    return name;
}

/* "(576)" or "(576, 1536)" */
static tensor_name shape_text(int rank, const int64_t *dim) {
    tensor_name out = {"("};
    size_t n = 1;
    for (int i = 0; i < rank && n < sizeof out.text - 24; i++)
        n += (size_t)snprintf(out.text + n, sizeof out.text - n, i ? ", %lld" : "%lld",
                              (long long)dim[i]);
    snprintf(out.text + n, sizeof out.text - n, ")");
    return out;
}

/* The file's tensor for a role, its shape checked; NULL when it is optional and absent. */
static weft_status find(loader *l, model_role role, int layer, const gguf_tensor **out) {
    const model_params *p = &l->m->p;
    tensor_name name = name_of(role, layer);
    *out = NULL;
    if (!((p->arch->required | p->arch->optional) >> role & 1)) return WEFT_OK;
    const gguf_tensor *t = gguf_find_tensor(l->file, name.text);
    REQUIRE(!t || role != ROLE_ROPE_FREQS || !(p->yarn.factor > 0), WEFT_UNSUPPORTED,
            "tensor '%s' beside YaRN is not supported", name.text);
    if (!t) {
        REQUIRE(p->arch->optional >> role & 1, WEFT_FORMAT, "tensor '%s' is missing", name.text);
        return WEFT_OK;
    }
    bool is_vector = weights[role].rows == SIZE_ONE;
    int64_t expected[3];
    int rank = 0;
    if (weights[role].is_stack) expected[rank++] = p->n_experts;
    if (!is_vector) expected[rank++] = model_size_of(p, weights[role].rows);
    expected[rank++] = model_size_of(p, weights[role].columns);
    REQUIRE(t->rank == rank && !memcmp(t->dim, expected, (size_t)rank * sizeof *expected),
            WEFT_SHAPE, "tensor '%s' has shape %s, expected %s", name.text,
            shape_text(t->rank, t->dim).text, shape_text(rank, expected).text);
    bool is_plain = t->dtype == WEFT_F32 || t->dtype == WEFT_F16 || t->dtype == WEFT_BF16;
    REQUIRE(is_plain || !is_vector, WEFT_DTYPE,
            "tensor '%s' has format %s, expected f32, f16 or bf16", name.text,
            weft_dtype_name(t->dtype));
    l->n_found++;
    *out = t;
    return WEFT_OK;
}

/* `count` siblings from role `first` on, their biases from role `first_bias` on (ROLE_COUNT =
 * none). */
static weft_status put_siblings(loader *l, int layer, model_role first, model_role first_bias,
                                int count, model_siblings *out) {
    const gguf_tensor *t[MODEL_MAX_SIBLINGS], *bias[MODEL_MAX_SIBLINGS] = {0};
    for (int i = 0; i < count; i++) {
        TRY(find(l, (model_role)((int)first + i), layer, &t[i]));
        if (first_bias != ROLE_COUNT)
            TRY(find(l, (model_role)((int)first_bias + i), layer, &bias[i]));
    }
    for (int i = 0; i < count;) {
        int n = 1;
        while (l->copies && i + n < count && t[i + n]->dtype == t[i]->dtype) n++;
        model_run *run = &out->run[out->n_runs++];
        *run = (model_run){.first = i, .count = n};
        if (n > 1) {
            TRY(loader_put_run(l, t + i, bias + i, run));
        } else {
            TRY(loader_put(l, t[i], &run->w));
            if (bias[i]) TRY(loader_put(l, bias[i], &run->bias));
        }
        i += n;
    }
    return WEFT_OK;
}

static bool is_sibling(int role) { return role >= ROLE_Q && role <= ROLE_V_BIAS; }

static weft_status load_layer(loader *l, int layer, model_layer *out) {
    TRY(put_siblings(l, layer, ROLE_Q, ROLE_Q_BIAS, 3, &out->qkv));
    if (!l->m->p.arch->has_experts)
        TRY(put_siblings(l, layer, ROLE_GATE, ROLE_COUNT, 2, &out->gate_up));
    for (int role = ROLE_FIRST_OF_LAYER; role < ROLE_COUNT; role++) {
        if (is_sibling(role) || role == ROLE_GATE || role == ROLE_UP) continue;
        const gguf_tensor *t;
        TRY(find(l, (model_role)role, layer, &t));
        if (t) TRY(loader_put(l, t, &out->w[role]));
    }
    return WEFT_OK;
}

/* Whether a role of the architecture has this name. The number of the layer is read from the name,
 * so that a file with very many tensors costs one look each. */
static bool is_known(const loader *l, gguf_string name) {
    const model_params *p = &l->m->p;
    int layer = 0, used = 0;
    char text[sizeof(tensor_name)];
    if (name.n >= sizeof text || memchr(name.data, 0, name.n)) return false;
    memcpy(text, name.data, name.n);
    text[name.n] = 0;
    bool has_layer = sscanf(text, "blk.%5d.%n", &layer, &used) == 1 && used;
    if (has_layer && (layer < 0 || layer >= p->n_layers)) return false;
    for (int role = has_layer ? ROLE_FIRST_OF_LAYER : 0;
         role < (has_layer ? ROLE_COUNT : ROLE_FIRST_OF_LAYER); role++)
        if (((p->arch->required | p->arch->optional) >> role & 1) &&
            !strcmp(name_of((model_role)role, layer).text, text))
            return true;
    return false;
}

/* Names the first tensor that no role asked for. */
static weft_status check_unused(const loader *l) {
    size_t n = gguf_n_tensors(l->file);
    if (l->n_found == n) return WEFT_OK;
    for (size_t i = 0; i < n; i++) {
        gguf_string name = gguf_tensor_at(l->file, i)->name;
        REQUIRE(is_known(l, name), WEFT_UNSUPPORTED,
                "tensor '%.*s' is no part of a %s model as known here",
                (int)(name.n < 79 ? name.n : 79), name.data, l->m->p.arch->name);
    }
    return WEFT_OK;
}

static weft_status load_all(loader *l) {
    model *m = l->m;
    TRY(model_read_params(l->file, &m->p));
    m->layers = mem_array((size_t)m->p.n_layers, sizeof *m->layers);
    if (!m->layers) return WEFT_NO_MEMORY;
    for (int role = 0; role < ROLE_FIRST_OF_LAYER; role++) {
        const gguf_tensor *t;
        TRY(find(l, (model_role)role, 0, &t));
        if (t) TRY(loader_put(l, t, &m->w[role]));
    }
    if (m->p.yarn.factor > 0) TRY(loader_put_yarn(l, &m->w[ROLE_ROPE_FREQS]));
    if (!m->w[ROLE_OUTPUT]) m->w[ROLE_OUTPUT] = m->w[ROLE_TOKEN_EMBD];
    for (int i = 0; i < m->p.n_layers; i++) TRY(load_layer(l, i, &m->layers[i]));
    TRY(check_unused(l));
    return weft_sync(m->dev);
}

weft_status model_check(const gguf_file *file) {
    model m = {0};
    loader l = {.m = &m, .file = file};
    TRY(model_read_params(file, &m.p));
    const gguf_tensor *t;
    for (int layer = 0; layer < m.p.n_layers; layer++)
        for (int role = layer ? ROLE_FIRST_OF_LAYER : 0; role < ROLE_COUNT; role++)
            TRY(find(&l, (model_role)role, layer, &t));
    return check_unused(&l);
}

weft_status model_load(weft_device *dev, const gguf_file *file, model_progress on_progress,
                       void *user, model **out) {
    *out = NULL;
    weft_device_info info;
    TRY(weft_get_device_info(dev, &info));
    model *m = mem_alloc(sizeof *m);
    if (!m) return WEFT_NO_MEMORY;
    m->dev = dev;
    device_retain(dev);
    loader l = {.m = m, .file = file, .on_progress = on_progress, .user = user};
    l.copies = info.kind == WEFT_KIND_GPU || info.kind == WEFT_KIND_SOFTWARE;
    for (size_t i = 0; i < gguf_n_tensors(file); i++) l.total += gguf_tensor_at(file, i)->bytes;
    weft_status status = load_all(&l);
    if (status != WEFT_OK) model_free(m);
    else *out = m;
    return status;
}

void model_free(model *m) {
    if (!m) return;
    for (size_t i = 0; i < m->n_owned; i++) weft_free(m->owned[i]);
    mem_free(m->owned);
    mem_free(m->layers);
    device_release(m->dev);
    mem_free(m);
}
