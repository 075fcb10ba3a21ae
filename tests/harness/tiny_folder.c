/* See tiny_folder.h. SPDX-License-Identifier: MIT */
#include "tiny_folder.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "format/format.h"

/* ---- reading the golden file
 * ------------------------------------------------------------------ */

static const char *const names[] = {
    "llama", "llama3",     "llama_linear", "llama_yarn",   "llama_yarn_beta", "mistral",
    "qwen2", "qwen2_yarn", "qwen3",        "qwen3_linear", "qwen3_moe",       "qwen3_moe_raw"};

const char *tiny_folder_name(int i) {
    return i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}

static void read_tensor(tiny_folder *f, const char *line) {
    long long a = 0, b = 0;
    assert_true(f->n_tensors < FOLDER_MOST_TENSORS);
    int n = sscanf(line, "tensor %79s %lld %lld", f->tensor[f->n_tensors].name, &a, &b);
    assert_true(n >= 2);
    f->tensor[f->n_tensors].rows = n == 3 ? a : 0;
    f->tensor[f->n_tensors++].columns = n == 3 ? b : a;
}

static void read_line(tiny_folder *f, char *line, int *n_positions) {
    char *at = line;
    if (line[0] == '{') {
        size_t n = strlen(line);
        assert_true(n < sizeof f->config);
        memcpy(f->config, line, n + 1);
    } else if (!strncmp(line, "tensor ", 7)) {
        read_tensor(f, line);
    } else if (!strncmp(line, "greedy ", 7)) {
        at += 7;
        for (int i = 0; i < FOLDER_ANSWER; i++) f->answer[i] = (int32_t)strtol(at, &at, 10);
    } else if (!strncmp(line, "logits ", 7)) {
        at += 7;
        assert_true(*n_positions < FOLDER_POSITIONS);
        f->position[*n_positions] = (int)strtol(at, &at, 10);
        for (int i = 0; i < FOLDER_SHOWN; i++) f->logits[*n_positions][i] = strtof(at, &at);
        ++*n_positions;
    }
}

tiny_folder *tiny_folder_read(const char *name) {
    tiny_folder *f = calloc(1, sizeof *f);
    FILE *file = fopen(WEFT_SOURCE_DIR "/tests/golden/checkpoint.txt", "r");
    assert_non_null(f);
    assert_non_null(file);
    static char line[4096];
    bool is_wanted = false;
    int n_positions = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char found[32], dtype[16];
        int n_shards;
        if (sscanf(line, "model %31s %15s %d", found, dtype, &n_shards) == 3) {
            is_wanted = !strcmp(found, name);
            if (!is_wanted) continue;
            snprintf(f->name, sizeof f->name, "%s", found);
            snprintf(f->dtype, sizeof f->dtype, "%s", dtype);
            f->n_shards = n_shards;
        } else if (is_wanted) {
            read_line(f, line, &n_positions);
        }
    }
    fclose(file);
    assert_int_equal(n_positions, FOLDER_POSITIONS);
    for (int64_t i = 0; i < FOLDER_PROMPT; i++)
        f->prompt[i] = (int32_t)((7 * i * i + 13 * i + 5) % FOLDER_VOCAB);
    return f;
}

void tiny_folder_change(tiny_folder *f, const char *from, const char *to) {
    char *at = strstr(f->config, from), rest[sizeof f->config];
    if (!at) fail_msg("%s is not in %s", from, f->config);
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    size_t room = sizeof f->config - (size_t)(at - f->config);
    assert_true((size_t)snprintf(at, room, "%s%s", to, rest) < room);
}

/* ---- writing
 * ---------------------------------------------------------------------------------- */

static char folder[64];

static void empty_folder(void) {
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[sizeof folder + sizeof e->d_name + 1];
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path); /* not "." and ".." */
    }
    if (d) closedir(d);
}

static void remove_folder(void) {
    empty_folder();
    rmdir(folder);
}

static void write_file(const tiny_folder *f, const char *to, const char *name, const str *text) {
    char path[256];
    if (f->skip && !strcmp(f->skip, name)) return;
    snprintf(path, sizeof path, "%s/%s", to, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(str_text(text), 1, text->n, file), text->n);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const tiny_folder *f, const char *to, const char *name, const char *text) {
    str whole = {0};
    if (!text) return;
    assert_ok(str_text_append(&whole, text));
    write_file(f, to, name, &whole);
    str_free(&whole);
}

static void copy_file(const tiny_folder *f, const char *to, const char *name) {
    char path[256];
    static char bytes[1 << 16];
    snprintf(path, sizeof path, "%s/tests/golden/checkpoint/%s", WEFT_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    str text = {0};
    assert_ok(str_append(&text, bytes, fread(bytes, 1, sizeof bytes, file)));
    fclose(file);
    write_file(f, to, name, &text);
    str_free(&text);
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

/* The values of a tensor in their stored type, appended. */
static void put_values(str *out, const char *name, weft_dtype dtype, int64_t rows,
                       int64_t columns) {
    uint64_t seed = 0xCBF29CE484222325u; /* FNV-1a */
    for (const char *c = name; *c; c++) seed = (seed ^ (unsigned char)*c) * 0x100000001B3u;
    rng r = {seed};
    float row[64];
    uint8_t stored[sizeof row];
    assert_true(columns <= 64);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < columns; k++) {
            double u = rng_uniform(&r);
            if (ends_with(name, "norm.weight")) row[k] = (float)(0.8 + 0.4 * u);
            else if (ends_with(name, ".bias")) row[k] = (float)(0.2 * (2 * u - 1));
            else if (strstr(name, "embed")) row[k] = (float)(2 * u - 1);
            else row[k] = (float)((2 * u - 1) * 1.7 / sqrt((double)columns));
        }
        format_find(dtype)->encode(row, stored, columns, NULL);
        size_t bytes = (size_t)columns * (dtype == WEFT_F32 ? 4 : 2);
        assert_ok(str_append(out, (const char *)stored, bytes));
    }
}

typedef struct shard {
    str header, data, index;
} shard;

static void put_tensor(const tiny_folder *f, shard *s, const char *file, const char *name,
                       const char *seed_name, int64_t rows, int64_t columns) {
    bool is_f32 = !strcmp(f->dtype, "float32"), is_f16 = !strcmp(f->dtype, "float16");
    weft_dtype dtype = is_f32 ? WEFT_F32 : is_f16 ? WEFT_F16 : WEFT_BF16;
    const char *type = is_f32 ? "F32" : is_f16 ? "F16" : "BF16";
    if (f->type) type = f->type;
    if (f->skip && !strcmp(f->skip, name)) return;
    bool is_wide = f->widen && !strcmp(f->widen, name);
    if (is_wide && rows) rows++;
    if (is_wide && !rows) columns++;
    size_t from = s->data.n;
    put_values(&s->data, seed_name, dtype, rows ? rows : 1, columns);
    char shape[48];
    if (rows) snprintf(shape, sizeof shape, "%lld,%lld", (long long)rows, (long long)columns);
    else snprintf(shape, sizeof shape, "%lld", (long long)columns);
    assert_ok(str_format(&s->header,
                         "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                         s->header.n ? "," : "{", name, type, shape, from, s->data.n));
    assert_ok(str_format(&s->index, "%s\"%s\":\"%s\"", s->index.n ? "," : "", name, file));
}

static void write_shard(const tiny_folder *f, const char *to, const char *file, int k, str *index) {
    shard s = {0};
    for (int i = k; i < f->n_tensors; i += f->n_shards)
        put_tensor(f, &s, file, f->tensor[i].name, f->tensor[i].name, f->tensor[i].rows,
                   f->tensor[i].columns);
    if (k == 0 && f->extra) put_tensor(f, &s, file, f->extra, f->extra, 0, 4);
    if (k == 0 && (f->has_tied_output || f->has_other_output))
        put_tensor(f, &s, file, "lm_head.weight",
                   f->has_tied_output ? f->tensor[0].name : "lm_head.weight", f->tensor[0].rows,
                   f->tensor[0].columns);
    assert_ok(str_text_append(&s.header, "}"));
    while ((s.header.n + (f->is_off_by_one ? 1 : 0)) % 8) assert_ok(str_char(&s.header, ' '));
    str all = {0};
    uint64_t n = s.header.n;
    assert_ok(str_append(&all, (const char *)&n, sizeof n));
    assert_ok(str_append(&all, s.header.data, s.header.n));
    assert_ok(str_append(&all, str_text(&s.data), s.data.n));
    write_file(f, to, file, &all);
    assert_ok(str_format(index, "%s%s", index->n > 1 ? "," : "", str_text(&s.index)));
    str_free(&all);
    str_free(&s.header);
    str_free(&s.data);
    str_free(&s.index);
}

void tiny_folder_write_into(const tiny_folder *f, const char *to) {
    str config = {0}, index = {0}, whole = {0};
    assert_ok(str_text_append(&config, f->config));
    write_file(f, to, "config.json", &config);
    copy_file(f, to, "tokenizer.json");
    if (!f->tokenizer_config) copy_file(f, to, "tokenizer_config.json");
    write_text(f, to, "tokenizer_config.json", f->tokenizer_config);
    write_text(f, to, "generation_config.json", f->generation);
    write_text(f, to, "chat_template.jinja", f->template);
    for (int k = 0; k < f->n_shards; k++) {
        char file[64];
        if (f->n_shards == 1) snprintf(file, sizeof file, "model.safetensors");
        else snprintf(file, sizeof file, "model-%05d-of-%05d.safetensors", k + 1, f->n_shards);
        write_shard(f, to, file, k, &index);
    }
    if (f->index) assert_ok(str_text_append(&whole, f->index));
    else assert_ok(str_format(&whole, "{\"weight_map\":{%s}}", str_text(&index)));
    if (f->n_shards > 1) write_file(f, to, "model.safetensors.index.json", &whole);
    str_free(&config);
    str_free(&index);
    str_free(&whole);
}

const char *tiny_folder_write(const tiny_folder *f) {
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/weft_folder_XXXXXX");
        assert_non_null(mkdtemp(folder));
        atexit(remove_folder);
    }
    empty_folder();
    tiny_folder_write_into(f, folder);
    return folder;
}
