/* The folder's tensors under GGUF's names, by the table tensors.def: every row the model's traits
 * ask for must be there in its shape, and every tensor of the folder must have been asked for.
 * Matrices stay where they are; rows that lie elsewhere or otherwise become a gguf_rows. Vectors
 * are small, and copied where they have to be reordered.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint/parts.h"
#include "tensor/dtype.h"

typedef enum how { HOW_PLAIN, HOW_HEADS, HOW_STACKED } how;

static const struct row {
    const char *name, *gguf;
    config_size rows, columns;
    unsigned trait;
    how how;
} rows[] = {
#define CHECKPOINT_TENSOR(name, gguf, rows, columns, trait, how)                                   \
    {name, gguf, CONFIG_##rows, CONFIG_##columns, TRAIT_##trait, HOW_##how},
#include "checkpoint/tensors.def"
#undef CHECKPOINT_TENSOR
};

typedef struct adder {
    checkpoint *c;
    gguf_file *file;
    bool *is_used; /* by number of the folder's tensor */
} adder;

typedef struct tensor_name {
    char text[128];
} tensor_name;

/* The pattern with its first star the layer, its second the expert. */
static tensor_name fill(const char *pattern, int64_t layer, int64_t expert) {
    tensor_name out;
    size_t n = 0;
    int64_t number = layer;
    for (const char *p = pattern; *p && n < sizeof out.text - 1; p++) {
        if (*p != '*') {
            out.text[n++] = *p;
            continue;
        }
        n += (size_t)snprintf(out.text + n, sizeof out.text - n, "%" PRId64, number);
        number = expert;
    }
    out.text[n] = 0;
    return out;
}

static weft_status check_shape(const config *c, const struct row *row,
                               const safetensors_tensor *t) {
    int64_t columns = config_size_of(c, row->columns);
    bool is_vector = row->rows == CONFIG_ONE;
    int64_t n_rows = is_vector ? columns : config_size_of(c, row->rows);
    bool fits = t->rank == (is_vector ? 1 : 2) && t->dim[0] == n_rows &&
                (is_vector || t->dim[1] == columns);
    if (fits) return WEFT_OK;
    char found[160] = "", expected[64];
    size_t n = 0;
    for (int i = 0; i < t->rank; i++)
        n +=
            (size_t)snprintf(found + n, sizeof found - n, i ? ", %" PRId64 : "%" PRId64, t->dim[i]);
    if (is_vector) snprintf(expected, sizeof expected, "%" PRId64, columns);
    else snprintf(expected, sizeof expected, "%" PRId64 ", %" PRId64, n_rows, columns);
    return error_set(WEFT_SHAPE, "tensor '%s' has shape (%s), config.json makes it (%s)", t->name,
                     found, expected);
}

/* The folder's tensor for a row, checked and marked as used. */
static weft_status find(adder *a, const struct row *row, int64_t layer, int64_t expert,
                        const safetensors_tensor **out) {
    const safetensors *s = a->c->weights;
    tensor_name name = fill(row->name, layer, expert);
    const safetensors_tensor *t = safetensors_find(s, name.text);
    REQUIRE(t, WEFT_FORMAT, "tensor '%s' is missing", name.text);
    TRY(check_shape(&a->c->config, row, t));
    bool is_plain =
        t->is_known && (t->dtype == WEFT_F32 || t->dtype == WEFT_F16 || t->dtype == WEFT_BF16);
    REQUIRE(is_plain, WEFT_UNSUPPORTED,
            "tensor '%s' is stored as %s, and only F32, F16 and BF16 are supported", t->name,
            t->type);
    a->is_used[t - safetensors_at(s, 0)] = true;
    *out = t;
    return WEFT_OK;
}

/* The first row is the embedding's. */
weft_status checkpoint_check_embedding(const checkpoint *c) {
    const safetensors_tensor *t = safetensors_find(c->weights, rows[0].name);
    REQUIRE(t, WEFT_FORMAT, "tensor '%s' is missing", rows[0].name);
    return check_shape(&c->config, &rows[0], t);
}

static bool is_aligned(const safetensors_tensor *t) {
    return (uintptr_t)t->data % (size_t)dtype_find(t->dtype)->bytes == 0;
}

/* A vector that cannot be used where it is: its elements in GGUF's order. */
static weft_status copy_vector(adder *a, int64_t head, gguf_tensor *t, const uint8_t *from) {
    gguf_rows in_order = {.part = &from, .n_parts = 1, .rows_a_part = t->dim[0], .head = head};
    size_t bytes = (size_t)dtype_find(t->dtype)->bytes * (size_t)t->dim[0];
    void *to = arena_alloc(&a->c->arena, bytes);
    if (!to) return WEFT_NO_MEMORY;
    gguf_tensor one = {.dtype = t->dtype, .rank = 2, .dim = {t->dim[0], 1}, .rows = &in_order};
    gguf_copy_rows(&one, 0, t->dim[0], to);
    t->data = to;
    t->is_mapped = false;
    return WEFT_OK;
}

/* Says where the rows of `parts` are. */
static weft_status scatter(adder *a, const safetensors_tensor *const *parts, size_t n, int64_t head,
                           gguf_tensor *t) {
    gguf_rows *r = arena_alloc(&a->c->arena, sizeof *r);
    const uint8_t **part = arena_alloc(&a->c->arena, n * sizeof *part);
    if (!r || !part) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) part[i] = parts[i]->data;
    *r = (gguf_rows){.part = part, .n_parts = n, .rows_a_part = parts[0]->dim[0], .head = head};
    t->rows = r;
    return WEFT_OK;
}

static weft_status add(adder *a, const struct row *row, int64_t layer,
                       const safetensors_tensor *const *parts, size_t n) {
    const config *c = &a->c->config;
    const safetensors_tensor *first = parts[0];
    tensor_name name = fill(row->gguf, layer, 0);
    bool is_stacked = row->how == HOW_STACKED;
    int64_t head = row->how == HOW_HEADS && c->traits & TRAIT_NEIGHBOURS ? c->head_dim : 0;
    gguf_tensor t = {.dtype = first->dtype, .rank = first->rank + is_stacked};
    if (is_stacked) t.dim[0] = (int64_t)n;
    memcpy(t.dim + is_stacked, first->dim, (size_t)first->rank * sizeof *first->dim);
    t.name.n = strlen(name.text);
    t.name.data = arena_string(&a->c->arena, name.text, t.name.n);
    if (!t.name.data) return WEFT_NO_MEMORY;
    t.is_mapped = true;
    if (!head && !is_stacked && is_aligned(first)) t.data = first->data;
    else if (row->rows == CONFIG_ONE) TRY(copy_vector(a, head, &t, first->data));
    else TRY(scatter(a, parts, n, head, &t));
    return gguf_add_tensor(a->file, &t);
}

/* One tensor of GGUF, from one of the folder or from the experts'. */
static weft_status add_row(adder *a, const struct row *row, int64_t layer) {
    const config *c = &a->c->config;
    if ((row->trait & c->traits) != row->trait) return WEFT_OK;
    size_t n = row->how == HOW_STACKED ? (size_t)c->n_experts : 1;
    const safetensors_tensor **parts = mem_array(n, sizeof *parts);
    if (!parts) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < n && status == WEFT_OK; i++) {
        status = find(a, row, layer, (int64_t)i, &parts[i]);
        if (status == WEFT_OK && parts[i]->dtype != parts[0]->dtype)
            status = error_set(WEFT_UNSUPPORTED, "tensor '%s' is stored as %s, and '%s' as %s",
                               parts[i]->name, parts[i]->type, parts[0]->name, parts[0]->type);
    }
    if (status == WEFT_OK) status = add(a, row, layer, parts, n);
    mem_free(parts);
    return status;
}

static weft_status add_factors(adder *a) {
    const config *c = &a->c->config;
    gguf_tensor t = {.name = {"rope_freqs.weight", strlen("rope_freqs.weight")},
                     .dtype = WEFT_F32,
                     .rank = 1,
                     .dim = {c->head_dim / 2}};
    if (c->rope.type != ROPE_LLAMA3) return WEFT_OK;
    float *factors = arena_alloc(&a->c->arena, (size_t)t.dim[0] * sizeof *factors);
    if (!factors) return WEFT_NO_MEMORY;
    config_llama3_factors(c, factors);
    t.data = factors;
    return gguf_add_tensor(a->file, &t);
}

/* A tied model's output matrix may be there all the same: it must be the embedding then. */
static weft_status check_tied(adder *a) {
    const safetensors *s = a->c->weights;
    if (a->c->config.traits & TRAIT_UNTIED) return WEFT_OK;
    const safetensors_tensor *output = safetensors_find(s, "lm_head.weight");
    const safetensors_tensor *embd = safetensors_find(s, "model.embed_tokens.weight");
    if (!output || !embd) return WEFT_OK;
    bool is_same = output->bytes == embd->bytes && output->dtype == embd->dtype &&
                   !memcmp(output->data, embd->data, embd->bytes);
    REQUIRE(is_same, WEFT_FORMAT,
            "tensor 'lm_head.weight' differs from the embedding, though 'tie_word_embeddings' is "
            "true");
    a->is_used[output - safetensors_at(s, 0)] = true;
    return WEFT_OK;
}

/* Older files keep a table of rotary rates, which follows from config.json. */
static bool is_known_rest(const char *name) {
    const char *end = ".self_attn.rotary_emb.inv_freq";
    size_t n = strlen(name), k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

static weft_status check_all_used(const adder *a) {
    for (size_t i = 0; i < safetensors_count(a->c->weights); i++) {
        const char *name = safetensors_at(a->c->weights, i)->name;
        REQUIRE(a->is_used[i] || is_known_rest(name), WEFT_UNSUPPORTED,
                "tensor '%s' is no part of a %s as known here",
                gguf_show((gguf_string){name, strlen(name)}).text, a->c->config.arch->class_name);
    }
    return WEFT_OK;
}

static bool is_of_layer(const struct row *row) { return !strncmp(row->gguf, "blk.", 4); }

static weft_status add_all(adder *a) {
    size_t n = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < n; i++)
        if (!is_of_layer(&rows[i])) TRY(add_row(a, &rows[i], 0));
    TRY(add_factors(a));
    for (int64_t layer = 0; layer < a->c->config.n_layers; layer++)
        for (size_t i = 0; i < n; i++)
            if (is_of_layer(&rows[i])) TRY(add_row(a, &rows[i], layer));
    TRY(check_tied(a));
    return check_all_used(a);
}

weft_status checkpoint_add_tensors(checkpoint *c, gguf_file *f) {
    adder a = {c, f, mem_array(safetensors_count(c->weights), sizeof(bool))};
    if (!a.is_used) return WEFT_NO_MEMORY;
    weft_status status = add_all(&a);
    mem_free(a.is_used);
    return status;
}
