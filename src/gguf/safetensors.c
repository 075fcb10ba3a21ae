/* The header's JSON has one fixed form, {"name": {"dtype": "F32", "shape": [..], "data_offsets":
 * [begin, end]}, "__metadata__": {"key": "text"}}, so it is read here directly: nothing is built
 * that the form does not have, a hostile header costs no more memory than its tensors, and nothing
 * recurses. The data must be covered without gap or overlap, as the format demands.
 * SPDX-License-Identifier: MIT */
#include "gguf/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "gguf/gguf.h"

enum { MAX_HEADER = 100000000, MAX_TENSORS = 1 << 18, MAX_TEXTS = 1 << 16, MAX_STRING = 1 << 24 };

typedef struct place {
    uint64_t begin, end;
    uint32_t tensor;
} place;

struct safetensors {
    file_map *maps;
    size_t n_maps, maps_capacity;
    mem_arena arena; /* names and metadata */
    safetensors_tensor *tensors;
    size_t n, capacity;
    map names, metadata;
    struct text {
        const char *key, *text;
    } * texts; /* the metadata */
    size_t n_texts, texts_capacity;
    size_t n_bytes;
};

static const struct {
    const char *name;
    uint8_t bytes;
    bool is_known;
    weft_dtype dtype;
} types[] = {
    {"F64", 8, true, WEFT_F64},     {"F32", 4, true, WEFT_F32},     {"F16", 2, true, WEFT_F16},
    {"BF16", 2, true, WEFT_BF16},   {"I64", 8, true, WEFT_I64},     {"I32", 4, true, WEFT_I32},
    {"I16", 2, true, WEFT_I16},     {"I8", 1, true, WEFT_I8},       {"U8", 1, false, WEFT_I8},
    {"U16", 2, false, WEFT_I8},     {"U32", 4, false, WEFT_I8},     {"U64", 8, false, WEFT_I8},
    {"BOOL", 1, false, WEFT_I8},    {"C64", 8, false, WEFT_I8},     {"F8_E4M3", 1, false, WEFT_I8},
    {"F8_E5M2", 1, false, WEFT_I8}, {"F8_E8M0", 1, false, WEFT_I8},
};

/* ---- the JSON of a header
 * ----------------------------------------------------------------------------- */

typedef struct json {
    const char *text;
    size_t n, at;
    str word; /* the last string read */
} json;

static char peek(json *j) {
    while (j->at < j->n && strchr(" \t\r\n", j->text[j->at]) && j->text[j->at]) j->at++;
    return j->at < j->n ? j->text[j->at] : 0;
}

static weft_status expect(json *j, char c) {
    REQUIRE(peek(j) == c, WEFT_FORMAT, "the header is no such JSON: '%c' expected at byte %zu", c,
            j->at);
    j->at++;
    return WEFT_OK;
}

/* Steps over a comma, or over the closing bracket, and says which. */
static weft_status more(json *j, char close, bool *is_more) {
    *is_more = peek(j) == ',';
    if (*is_more) {
        j->at++;
        return WEFT_OK;
    }
    return expect(j, close);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int hex4(const json *j, size_t at) {
    int v = 0;
    for (size_t i = at; i < at + 4; i++) {
        int digit = i < j->n ? hex_digit(j->text[i]) : -1;
        if (digit < 0) return -1;
        v = v * 16 + digit;
    }
    return v;
}

/* After "\u": one escape, or two that make a surrogate pair. */
static weft_status take_unicode(json *j) {
    int32_t code = hex4(j, j->at);
    j->at += 4;
    if (code >= 0xD800 && code < 0xDC00 && j->at + 6 <= j->n &&
        !memcmp(j->text + j->at, "\\u", 2)) {
        int low = hex4(j, j->at + 2);
        REQUIRE(low >= 0xDC00 && low < 0xE000, WEFT_FORMAT, "a lone surrogate at byte %zu", j->at);
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        j->at += 6;
    }
    REQUIRE(code > 0 && (code < 0xD800 || code >= 0xE000), WEFT_FORMAT,
            "an escape that is no character at byte %zu", j->at);
    char utf8[4];
    return str_append(&j->word, utf8, (size_t)utf8_encode(code, utf8));
}

static weft_status take_escape(json *j) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = j->at < j->n ? j->text[j->at++] : 0;
    if (c == 'u') return take_unicode(j);
    const char *found = c ? strchr(from, c) : NULL;
    REQUIRE(found, WEFT_FORMAT, "a bad escape at byte %zu", j->at);
    return str_char(&j->word, to[found - from]);
}

static weft_status take_word(json *j) {
    TRY(expect(j, '"'));
    str_clear(&j->word);
    for (;;) {
        REQUIRE(j->at < j->n, WEFT_FORMAT, "the header ends inside a string");
        REQUIRE(j->word.n < MAX_STRING, WEFT_LIMIT, "a string is longer than %d bytes", MAX_STRING);
        unsigned char c = (unsigned char)j->text[j->at];
        REQUIRE(c >= 0x20, WEFT_FORMAT, "a control character in a string at byte %zu", j->at);
        j->at++;
        if (c == '"') return WEFT_OK;
        if (c == '\\') {
            TRY(take_escape(j));
            continue;
        }
        int32_t code;
        int n = utf8_decode(j->text + j->at - 1, j->n - j->at + 1, &code);
        REQUIRE(code != UTF8_BAD, WEFT_FORMAT, "invalid UTF-8 in a string at byte %zu", j->at - 1);
        TRY(str_append(&j->word, j->text + j->at - 1, (size_t)n));
        j->at += (size_t)n - 1;
    }
}

static bool word_is(const json *j, const char *text) { return !strcmp(str_text(&j->word), text); }

static weft_status take_number(json *j, const char *field, uint64_t *out) {
    char c = peek(j);
    REQUIRE(c >= '0' && c <= '9', WEFT_FORMAT, "%s: a whole number >= 0 expected at byte %zu",
            field, j->at);
    *out = 0;
    for (; j->at < j->n && j->text[j->at] >= '0' && j->text[j->at] <= '9'; j->at++)
        REQUIRE(mul_u64(*out, 10, out) && add_u64(*out, (uint64_t)(j->text[j->at] - '0'), out) &&
                    *out <= INT64_MAX,
                WEFT_FORMAT, "%s: a number past 2^63 - 1", field);
    c = j->at < j->n ? j->text[j->at] : 0;
    REQUIRE(c != '.' && c != 'e' && c != 'E', WEFT_FORMAT, "%s: a number that is not whole", field);
    return WEFT_OK;
}

/* [..] of at most `limit` numbers. */
static weft_status take_numbers(json *j, const char *field, int limit, uint64_t *out, int *n) {
    *n = 0;
    TRY(expect(j, '['));
    if (peek(j) == ']') return expect(j, ']');
    for (bool is_more = true; is_more;) {
        REQUIRE(*n < limit, WEFT_FORMAT, "%s: more than %d numbers", field, limit);
        TRY(take_number(j, field, &out[(*n)++]));
        TRY(more(j, ']', &is_more));
    }
    return WEFT_OK;
}

/* ---- one tensor
 * --------------------------------------------------------------------------------------- */

typedef struct fields {
    int type, rank, n_offsets; /* -1: not seen */
    uint64_t dim[SAFETENSORS_MAX_RANK], offset[2];
} fields;

static weft_status take_type(json *j, fields *f) {
    TRY(take_word(j));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (word_is(j, types[i].name)) f->type = (int)i;
    REQUIRE(f->type >= 0, WEFT_FORMAT, "dtype: '%s' is unknown",
            gguf_show((gguf_string){str_text(&j->word), j->word.n}).text);
    return WEFT_OK;
}

static weft_status take_field(json *j, fields *f) {
    TRY(take_word(j));
    bool is_type = word_is(j, "dtype"), is_shape = word_is(j, "shape"),
         is_offsets = word_is(j, "data_offsets");
    bool is_again = (is_type && f->type >= 0) || (is_shape && f->rank >= 0) ||
                    (is_offsets && f->n_offsets >= 0);
    REQUIRE((is_type || is_shape || is_offsets) && !is_again, WEFT_FORMAT, "%s key '%s'",
            is_again ? "duplicate" : "unexpected",
            gguf_show((gguf_string){str_text(&j->word), j->word.n}).text);
    TRY(expect(j, ':'));
    if (is_type) return take_type(j, f);
    if (is_shape) return take_numbers(j, "shape", SAFETENSORS_MAX_RANK, f->dim, &f->rank);
    return take_numbers(j, "data_offsets", 2, f->offset, &f->n_offsets);
}

static weft_status take_fields(json *j, fields *f) {
    *f = (fields){.type = -1, .rank = -1, .n_offsets = -1};
    TRY(expect(j, '{'));
    for (bool is_more = true; is_more;) {
        TRY(take_field(j, f));
        TRY(more(j, '}', &is_more));
    }
    REQUIRE(f->type >= 0, WEFT_FORMAT, "dtype is missing");
    REQUIRE(f->rank >= 0, WEFT_FORMAT, "shape is missing");
    REQUIRE(f->n_offsets == 2, WEFT_FORMAT, "data_offsets are missing or not two");
    return WEFT_OK;
}

static weft_status check_size(const fields *f, uint64_t data_bytes) {
    uint64_t size = types[f->type].bytes, begin = f->offset[0], end = f->offset[1];
    REQUIRE(begin <= end && end <= data_bytes, WEFT_FORMAT,
            "data_offsets [%" PRIu64 ", %" PRIu64 "] are not within the file's %" PRIu64
            " bytes of data",
            begin, end, data_bytes);
    bool is_empty = false;
    for (int i = 0; i < f->rank; i++) {
        is_empty |= f->dim[i] == 0;
        REQUIRE(mul_u64(size, f->dim[i] ? f->dim[i] : 1, &size), WEFT_FORMAT,
                "shape: its product wraps");
    }
    if (is_empty) size = 0;
    REQUIRE(size == end - begin, WEFT_FORMAT,
            "shape and dtype make %" PRIu64 " bytes, data_offsets %" PRIu64, size, end - begin);
    return WEFT_OK;
}

/* A part while it is read: its data, and where its tensors lie. */
typedef struct part {
    const uint8_t *data;
    uint64_t bytes;
    place *places;
    size_t n, capacity;
} part;

static weft_status add_tensor(safetensors *s, part *p, const char *name, const fields *f) {
    uint32_t other;
    REQUIRE(!map_get(&s->names, name, strlen(name), &other), WEFT_FORMAT, "the name appears twice");
    REQUIRE(s->n < MAX_TENSORS, WEFT_LIMIT, "there are more than %d tensors", MAX_TENSORS);
    TRY(check_size(f, p->bytes));
    TRY(mem_reserve((void **)&s->tensors, &s->capacity, s->n + 1, sizeof *s->tensors));
    TRY(mem_reserve((void **)&p->places, &p->capacity, p->n + 1, sizeof *p->places));
    TRY(map_set(&s->names, name, strlen(name), (uint32_t)s->n));
    safetensors_tensor t = {.name = name,
                            .type = types[f->type].name,
                            .is_known = types[f->type].is_known,
                            .dtype = types[f->type].dtype,
                            .rank = f->rank,
                            .data = p->data + f->offset[0],
                            .bytes = (size_t)(f->offset[1] - f->offset[0]),
                            .file = (uint32_t)s->n_maps};
    for (int i = 0; i < f->rank; i++) t.dim[i] = (int64_t)f->dim[i];
    p->places[p->n++] = (place){f->offset[0], f->offset[1], (uint32_t)s->n};
    s->tensors[s->n++] = t;
    return WEFT_OK;
}

static weft_status take_metadata(safetensors *s, json *j) {
    TRY(expect(j, '{'));
    if (peek(j) == '}') return expect(j, '}');
    for (bool is_more = true; is_more;) {
        REQUIRE(s->n_texts < MAX_TEXTS, WEFT_LIMIT, "__metadata__ has more than %d keys",
                MAX_TEXTS);
        TRY(take_word(j));
        size_t n = j->word.n;
        uint32_t other;
        char *key = arena_string(&s->arena, str_text(&j->word), n);
        if (!key) return WEFT_NO_MEMORY;
        REQUIRE(s->n_maps > 0 || !map_get(&s->metadata, key, n, &other), WEFT_FORMAT,
                "__metadata__: a duplicate key");
        TRY(expect(j, ':'));
        TRY(take_word(j));
        char *text = arena_string(&s->arena, str_text(&j->word), j->word.n);
        if (!text) return WEFT_NO_MEMORY;
        TRY(mem_reserve((void **)&s->texts, &s->texts_capacity, s->n_texts + 1, sizeof *s->texts));
        TRY(map_set(&s->metadata, key, n, (uint32_t)s->n_texts));
        s->texts[s->n_texts++] = (struct text){key, text};
        TRY(more(j, '}', &is_more));
    }
    return WEFT_OK;
}

static weft_status take_entry(safetensors *s, part *p, json *j, bool *has_metadata) {
    TRY(take_word(j));
    if (word_is(j, "__metadata__")) {
        REQUIRE(!*has_metadata, WEFT_FORMAT, "__metadata__ appears twice");
        *has_metadata = true;
        TRY(expect(j, ':'));
        return take_metadata(s, j);
    }
    char *name = arena_string(&s->arena, str_text(&j->word), j->word.n);
    if (!name) return WEFT_NO_MEMORY;
    TRY(expect(j, ':'));
    fields f;
    weft_status status = take_fields(j, &f);
    if (status == WEFT_OK) status = add_tensor(s, p, name, &f);
    if (status == WEFT_OK) return status;
    return error_prefix(status, "tensor '%s'", gguf_show((gguf_string){name, strlen(name)}).text);
}

static weft_status take_header(safetensors *s, part *p, json *j) {
    bool has_metadata = false;
    TRY(expect(j, '{'));
    if (peek(j) == '}') {
        TRY(expect(j, '}'));
    } else {
        for (bool is_more = true; is_more;) {
            TRY(take_entry(s, p, j, &has_metadata));
            TRY(more(j, '}', &is_more));
        }
    }
    peek(j);
    REQUIRE(j->at == j->n, WEFT_FORMAT, "the header goes on after its end, at byte %zu", j->at);
    return WEFT_OK;
}

/* ---- one file
 * ----------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static weft_status check_cover(const safetensors *s, const part *p) {
    uint64_t at = 0;
    if (p->n) qsort(p->places, p->n, sizeof *p->places, by_begin);
    for (size_t i = 0; i < p->n; i++) {
        const char *name = s->tensors[p->places[i].tensor].name;
        REQUIRE(p->places[i].begin == at, WEFT_FORMAT,
                "tensor '%s': its data begin at %" PRIu64 ", %s the end of those before, %" PRIu64,
                gguf_show((gguf_string){name, strlen(name)}).text, p->places[i].begin,
                p->places[i].begin > at ? "after" : "before", at);
        at = p->places[i].end;
    }
    REQUIRE(at == p->bytes, WEFT_FORMAT,
            "the tensors cover %" PRIu64 " of the file's %" PRIu64 " bytes of data", at, p->bytes);
    return WEFT_OK;
}

static weft_status read_part(safetensors *s, const uint8_t *data, size_t n) {
    uint64_t header = 0;
    REQUIRE(n >= 8, WEFT_FORMAT, "the file has %zu bytes, too few for the header's length", n);
    memcpy(&header, data, 8);
    REQUIRE(header <= n - 8, WEFT_FORMAT,
            "the header's length is %" PRIu64 ", but the file has %zu bytes left", header, n - 8);
    REQUIRE(header >= 2 && header <= MAX_HEADER, WEFT_FORMAT,
            "the header's length is %" PRIu64 ", expected 2 to %d", header, MAX_HEADER);
    s->n_bytes += n;
    json j = {.text = (const char *)data + 8, .n = (size_t)header};
    part p = {.data = data + 8 + header, .bytes = n - 8 - header};
    weft_status status = take_header(s, &p, &j);
    if (status == WEFT_OK) status = check_cover(s, &p);
    str_free(&j.word);
    mem_free(p.places);
    return status;
}

weft_status safetensors_open_memory(const void *data, size_t n, safetensors **out) {
    *out = NULL;
    safetensors *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    weft_status status = read_part(s, data, n);
    if (status != WEFT_OK) {
        safetensors_close(s);
        return status;
    }
    *out = s;
    return WEFT_OK;
}

/* ---- files and parts
 * ---------------------------------------------------------------------------------- */

enum { SUFFIX = sizeof "-00001-of-00003.safetensors" - 1 };

static bool part_of_name(const char *path, unsigned *part, unsigned *count) {
    size_t n = strlen(path);
    int used = 0;
    if (n <= SUFFIX) return false;
    return sscanf(path + n - SUFFIX, "-%5u-of-%5u.safetensors%n", part, count, &used) == 2 &&
           used == SUFFIX && *count >= 1 && *part >= 1 && *part <= *count;
}

static weft_status open_part(safetensors *s, const char *path) {
    file_map map;
    TRY(file_map_open(path, &map));
    weft_status status = read_part(s, map.data, map.n);
    if (status == WEFT_OK)
        status = mem_reserve((void **)&s->maps, &s->maps_capacity, s->n_maps + 1, sizeof *s->maps);
    if (status != WEFT_OK) {
        file_map_close(&map);
        return error_prefix(status, "%s", path);
    }
    s->maps[s->n_maps++] = map;
    return WEFT_OK;
}

static weft_status open_parts(safetensors *s, const char *path) {
    unsigned part, count;
    if (!part_of_name(path, &part, &count)) return open_part(s, path);
    char *name = mem_string(path);
    if (!name) return WEFT_NO_MEMORY;
    weft_status status = WEFT_OK;
    for (unsigned i = 1; i <= count && status == WEFT_OK; i++) {
        snprintf(name + strlen(name) - SUFFIX, SUFFIX + 1, "-%05u-of-%05u.safetensors", i % 100000,
                 count % 100000);
        status = open_part(s, name);
    }
    mem_free(name);
    return status;
}

weft_status safetensors_open(const char *path, safetensors **out) {
    *out = NULL;
    REQUIRE(path && path[0], WEFT_INVALID, "no file name given");
    safetensors *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    weft_status status = open_parts(s, path);
    if (status != WEFT_OK) {
        safetensors_close(s);
        return status;
    }
    *out = s;
    return WEFT_OK;
}

weft_status safetensors_open_files(const char *const *paths, size_t n, safetensors **out) {
    *out = NULL;
    safetensors *s = mem_alloc(sizeof *s);
    if (!s) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        weft_status status = open_part(s, paths[i]);
        if (status == WEFT_OK) continue;
        safetensors_close(s);
        return status;
    }
    *out = s;
    return WEFT_OK;
}

void safetensors_close(safetensors *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n_maps; i++) file_map_close(&s->maps[i]);
    mem_free(s->maps);
    arena_free(&s->arena);
    mem_free(s->tensors);
    mem_free(s->texts);
    map_free(&s->names);
    map_free(&s->metadata);
    mem_free(s);
}

size_t safetensors_bytes(const safetensors *s) { return s->n_bytes; }
size_t safetensors_count(const safetensors *s) { return s->n; }

const safetensors_tensor *safetensors_at(const safetensors *s, size_t i) {
    return i < s->n ? &s->tensors[i] : NULL;
}

const safetensors_tensor *safetensors_find(const safetensors *s, const char *name) {
    uint32_t i;
    return map_get(&s->names, name, strlen(name), &i) ? &s->tensors[i] : NULL;
}

const char *safetensors_metadata(const safetensors *s, const char *key) {
    uint32_t i;
    return map_get(&s->metadata, key, strlen(key), &i) ? s->texts[i].text : NULL;
}

bool safetensors_metadata_at(const safetensors *s, size_t i, const char **key, const char **text) {
    if (i >= s->n_texts) return false;
    *key = s->texts[i].key;
    *text = s->texts[i].text;
    return true;
}
