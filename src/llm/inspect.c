/* Looking into a model file or folder without loading it: values as text, tensors, and whether this
 * version can run it. Texts are made when asked for and live as long as the file is open.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "llm/llm.h"

enum { SHOWN_ELEMENTS = 8 };

weft_gguf *weft_gguf_open(const char *path) {
    if (!path) {
        error_set(WEFT_INVALID, "weft_gguf_open: the path is NULL");
        return NULL;
    }
    weft_gguf *f = mem_alloc(sizeof *f);
    if (!f) return NULL;
    size_t n = strlen(path), k = strlen(".safetensors");
    bool is_plain = n >= k && !strcmp(path + n - k, ".safetensors") && !file_is_folder(path);
    f->is_folder = file_is_folder(path);
    f->path = mem_string(path);
    if (!f->path) {
        mem_free(f);
        return NULL;
    }
    weft_status status = is_plain ? safetensors_open_files(&path, 1, &f->plain)
                                  : checkpoint_open_path(path, f->tokenizer_problem, &f->file);
    if (status == WEFT_OK) return f;
    mem_free(f->path);
    mem_free(f);
    return NULL;
}

void weft_gguf_close(weft_gguf *f) {
    if (!f) return;
    gguf_close(f->file);
    safetensors_close(f->plain);
    mem_free(f->path);
    arena_free(&f->texts);
    mem_free(f);
}

static uint64_t elements_of(const gguf_tensor *t) {
    uint64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= (uint64_t)t->dim[d];
    return n;
}

static weft_status check(const weft_gguf *f, const void *out) {
    REQUIRE(f, WEFT_INVALID, "there is no file");
    REQUIRE(out, WEFT_INVALID, "the place for the result is NULL");
    return WEFT_OK;
}

static void count_plain(const safetensors *s, weft_gguf_info *out) {
    const char *key, *text;
    *out = (weft_gguf_info){.kind = "safetensors",
                            .file_bytes = safetensors_bytes(s),
                            .n_tensors = safetensors_count(s)};
    while (safetensors_metadata_at(s, out->n_values, &key, &text)) out->n_values++;
    for (size_t i = 0; i < out->n_tensors; i++) {
        const safetensors_tensor *t = safetensors_at(s, i);
        uint64_t n = 1;
        for (int d = 0; d < t->rank; d++) n *= (uint64_t)t->dim[d];
        out->tensor_bytes += t->bytes;
        out->n_parameters += n;
    }
}

weft_status weft_gguf_get_info(weft_gguf *f, weft_gguf_info *out) {
    TRY(check(f, out));
    if (f->plain) {
        count_plain(f->plain, out);
        return WEFT_OK;
    }
    *out = (weft_gguf_info){
        .version = f->is_folder ? 0 : gguf_version(f->file),
        .file_bytes = gguf_bytes(f->file),
        .n_values = gguf_n_values(f->file),
        .n_tensors = gguf_n_tensors(f->file),
        .kind = f->is_folder ? "folder" : "GGUF",
    };
    for (size_t i = 0; i < out->n_tensors; i++) {
        const gguf_tensor *t = gguf_tensor_at(f->file, i);
        out->tensor_bytes += t->bytes;
        out->n_parameters += elements_of(t);
    }
    return WEFT_OK;
}

static const char *type_name(gguf_type type) {
    static const char *const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
    return names[type];
}

/* Text from a file, with bytes that are no character as U+FFFD. */
static weft_status put_text(gguf_string s, str *out) {
    for (size_t at = 0; at < s.n;) {
        int32_t code;
        size_t step = (size_t)utf8_decode(s.data + at, s.n - at, &code);
        TRY(code == UTF8_BAD ? str_text_append(out, "\xEF\xBF\xBD")
                             : str_append(out, s.data + at, step));
        at += step;
    }
    return WEFT_OK;
}

static weft_status put_element(const gguf_file *file, const gguf_value *v, uint64_t i, str *out) {
    gguf_type type = v->type == GGUF_ARRAY ? v->element_type : v->type;
    switch (type) {
    case GGUF_STRING: return put_text(gguf_string_at(file, v, i), out);
    case GGUF_BOOL: return str_text_append(out, gguf_integer_at(v, i) ? "true" : "false");
    case GGUF_F32:
    case GGUF_F64: return str_format(out, "%.7g", gguf_number_at(v, i));
    case GGUF_U64: return str_format(out, "%" PRIu64, (uint64_t)gguf_integer_at(v, i));
    case GGUF_ARRAY: return str_text_append(out, "array");
    default: return str_format(out, "%" PRId64, gguf_integer_at(v, i));
    }
}

static weft_status put_value(const gguf_file *file, const gguf_value *v, str *out) {
    if (v->type != GGUF_ARRAY) return put_element(file, v, 0, out);
    TRY(str_char(out, '['));
    for (uint64_t i = 0; i < v->n && i < SHOWN_ELEMENTS; i++) {
        if (i) TRY(str_text_append(out, ", "));
        TRY(put_element(file, v, i, out));
    }
    if (v->n > SHOWN_ELEMENTS) TRY(str_text_append(out, ", ..."));
    return str_char(out, ']');
}

static weft_status text_value(weft_gguf *f, const gguf_value *v, str *scratch,
                              weft_gguf_value *out) {
    TRY(put_text(v->key, scratch));
    out->key = arena_string(&f->texts, str_text(scratch), scratch->n);
    str_clear(scratch);
    TRY(put_value(f->file, v, scratch));
    out->text = arena_string(&f->texts, str_text(scratch), scratch->n);
    out->type = type_name(v->type);
    if (v->type == GGUF_ARRAY) {
        str_clear(scratch);
        TRY(str_format(scratch, "%s[%" PRIu64 "]", type_name(v->element_type), v->n));
        out->type = arena_string(&f->texts, str_text(scratch), scratch->n);
    }
    return out->key && out->text && out->type ? WEFT_OK : WEFT_NO_MEMORY;
}

/* __metadata__ of a safetensors file. */
static weft_status get_plain_value(weft_gguf *f, size_t i, weft_gguf_value *out) {
    bool is_there = safetensors_metadata_at(f->plain, i, &out->key, &out->text);
    REQUIRE(is_there, WEFT_INDEX, "there is no metadata value %zu", i);
    out->type = "string";
    return WEFT_OK;
}

weft_status weft_gguf_get_value(weft_gguf *f, size_t i, weft_gguf_value *out) {
    TRY(check(f, out));
    *out = (weft_gguf_value){"", "", ""};
    if (f->plain) return get_plain_value(f, i, out);
    REQUIRE(i < gguf_n_values(f->file), WEFT_INDEX, "there is no metadata value %zu among %zu", i,
            gguf_n_values(f->file));
    str scratch = {0};
    weft_status status = text_value(f, gguf_value_at(f->file, i), &scratch, out);
    str_free(&scratch);
    return status;
}

static weft_status get_plain_tensor(weft_gguf *f, size_t i, weft_gguf_tensor *out) {
    const safetensors_tensor *t = safetensors_at(f->plain, i);
    REQUIRE(t, WEFT_INDEX, "there is no tensor %zu among %zu", i, safetensors_count(f->plain));
    REQUIRE(t->rank <= WEFT_MAX_RANK, WEFT_UNSUPPORTED, "tensor '%s' has %d dimensions",
            gguf_show((gguf_string){t->name, strlen(t->name)}).text, t->rank);
    out->name = t->name;
    out->dtype = t->is_known ? t->dtype : (weft_dtype)-1;
    out->type = t->is_known ? weft_dtype_name(t->dtype) : t->type;
    out->shape.rank = t->rank;
    memcpy(out->shape.dim, t->dim, (size_t)t->rank * sizeof *t->dim);
    out->bytes = t->bytes;
    return WEFT_OK;
}

weft_status weft_gguf_get_tensor(weft_gguf *f, size_t i, weft_gguf_tensor *out) {
    TRY(check(f, out));
    *out = (weft_gguf_tensor){.name = ""};
    if (f->plain) return get_plain_tensor(f, i, out);
    const gguf_tensor *t = gguf_tensor_at(f->file, i);
    REQUIRE(t, WEFT_INDEX, "there is no tensor %zu among %zu", i, gguf_n_tensors(f->file));
    str name = {0};
    weft_status status = put_text(t->name, &name);
    out->name = status == WEFT_OK ? arena_string(&f->texts, str_text(&name), name.n) : NULL;
    str_free(&name);
    if (!out->name) return WEFT_NO_MEMORY;
    out->dtype = t->dtype;
    out->type = weft_dtype_name(t->dtype);
    out->shape.rank = t->rank;
    memcpy(out->shape.dim, t->dim, (size_t)t->rank * sizeof *t->dim);
    out->bytes = t->bytes;
    return WEFT_OK;
}

/* A tokenizer that GGUF cannot describe may still be one. */
static weft_status check_tokenizer(const weft_gguf *f) {
    const gguf_tensor *embd = gguf_find_tensor(f->file, "token_embd.weight");
    tokenizer *t = NULL;
    if (!f->tokenizer_problem[0] || !embd) return WEFT_OK;
    weft_status status = checkpoint_open_tokenizer(f->path, (size_t)embd->dim[0], &t);
    tokenizer_close(t);
    return status;
}

const char *weft_gguf_problem(weft_gguf *f) {
    if (!f) return "there is no file";
    f->problem[0] = 0;
    if (f->plain) return "it has weights alone: name the folder that has config.json too";
    if (model_check(f->file) != WEFT_OK || check_tokenizer(f) != WEFT_OK)
        snprintf(f->problem, sizeof f->problem, "%s", error_message());
    return f->problem;
}
