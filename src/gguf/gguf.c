/* GGUF, parsed in one pass over the map. A reader knows how many bytes are left, and every length
 * in the file is compared with that before it is used, so that a lying field costs neither memory
 * nor a wild pointer. Arrays grow with what was really read; keys and tensors are also capped, far
 * above any real file. A string array is walked once and every INDEX_STEP-th position kept:
 * constant-time access for 1/32 of the array's size at most. Not here: writing (gguf_write.c),
 * arrays of arrays (no writer makes them; refused), big-endian files. SPDX-License-Identifier: MIT
 */
#include "gguf/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "tensor/dtype.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "GGUF data is used in place: a little-endian machine is needed"
#endif

enum {
    MAX_VALUES = 1 << 16,
    MAX_TENSORS = 1 << 18,
    MAX_KEY_BYTES = 65535,
    DEFAULT_ALIGNMENT = 32,
    MIN_ALIGNMENT = 8, /* so that an i64 or f64 in the map is aligned */
    INDEX_STEP = 32,
    N_TYPES = GGUF_F64 + 1
};

struct gguf_file {
    file_map *maps; /* one for each part; none when the bytes are borrowed */
    size_t n_maps, maps_capacity;
    size_t n_bytes; /* of all parts */
    uint32_t version;
    gguf_value *values;
    size_t n_values, values_capacity;
    uint64_t **string_index; /* per value: offsets from its data; NULL for all but string arrays */
    size_t index_capacity;
    gguf_tensor *tensors;
    size_t n_tensors, tensors_capacity;
    map keys, names;
    void (*done)(void *owner); /* of a file made in memory */
    void *owner;
};

static const struct {
    const char *name;
    uint8_t bytes; /* 0: not of fixed size */
} types[N_TYPES] = {
    [GGUF_U8] = {"u8", 1},   [GGUF_I8] = {"i8", 1},       [GGUF_U16] = {"u16", 2},
    [GGUF_I16] = {"i16", 2}, [GGUF_U32] = {"u32", 4},     [GGUF_I32] = {"i32", 4},
    [GGUF_F32] = {"f32", 4}, [GGUF_BOOL] = {"bool", 1},   [GGUF_STRING] = {"string", 0},
    [GGUF_U64] = {"u64", 8}, [GGUF_ARRAY] = {"array", 0}, [GGUF_I64] = {"i64", 8},
    [GGUF_F64] = {"f64", 8},
};

typedef struct reader {
    const uint8_t *data;
    size_t n, at; /* at <= n always */
} reader;

gguf_shown gguf_show(gguf_string s) {
    gguf_shown out;
    size_t n = s.n < 60 ? s.n : 60, i;
    for (i = 0; i < n; i++) {
        char c = s.data[i];
        out.text[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    memcpy(out.text + i, s.n > n ? "..." : "\0\0\0", 4);
    return out;
}

static size_t left(const reader *r) { return r->n - r->at; }

static weft_status take(reader *r, void *out, size_t bytes, const char *field) {
    REQUIRE(bytes <= left(r), WEFT_FORMAT,
            "the file ends inside the %s (%zu bytes at %zu, file size %zu)", field, bytes, r->at,
            r->n);
    memcpy(out, r->data + r->at, bytes);
    r->at += bytes;
    return WEFT_OK;
}

static weft_status take_string(reader *r, gguf_string *out, const char *field) {
    uint64_t n = 0;
    TRY(take(r, &n, sizeof n, field));
    REQUIRE(n <= left(r), WEFT_FORMAT, "the %s claims %" PRIu64 " bytes, but the file has %zu left",
            field, n, left(r));
    *out = (gguf_string){(const char *)r->data + r->at, (size_t)n};
    r->at += (size_t)n;
    return WEFT_OK;
}

static weft_status take_type(reader *r, gguf_type *out, const char *field) {
    uint32_t type = 0;
    TRY(take(r, &type, sizeof type, field));
    REQUIRE(type < N_TYPES, WEFT_FORMAT, "the %s is %" PRIu32 ", which is no metadata type", field,
            type);
    *out = (gguf_type)type;
    return WEFT_OK;
}

/* ---- metadata
 * ----------------------------------------------------------------------------------------- */

/* Walks the strings once to check them, then once more to fill the index, whose size is known to be
 * real by then. */
static weft_status take_string_array(reader *r, gguf_value *v, uint64_t **index) {
    REQUIRE(v->n <= left(r) / 8, WEFT_FORMAT,
            "the array claims %" PRIu64 " strings, but the file has %zu bytes left", v->n, left(r));
    gguf_string s;
    for (uint64_t i = 0; i < v->n; i++) {
        weft_status status = take_string(r, &s, "string length");
        if (status != WEFT_OK) return error_prefix(status, "element %" PRIu64, i);
    }
    uint64_t *at = mem_array((size_t)(v->n / INDEX_STEP) + 1, sizeof *at);
    if (!at) return WEFT_NO_MEMORY;
    uint64_t offset = 0, n;
    for (uint64_t i = 0; i < v->n; i++) {
        if (i % INDEX_STEP == 0) at[i / INDEX_STEP] = offset;
        memcpy(&n, v->data + offset, sizeof n);
        offset += sizeof n + n;
    }
    *index = at;
    return WEFT_OK;
}

static weft_status check_bools(const gguf_value *v) {
    for (uint64_t i = 0; i < v->n; i++)
        REQUIRE(v->data[i] <= 1, WEFT_FORMAT, "a bool is %u, neither 0 nor 1", v->data[i]);
    return WEFT_OK;
}

static weft_status take_fixed(reader *r, gguf_value *v, gguf_type type) {
    size_t bytes = types[type].bytes;
    REQUIRE(v->n <= left(r) / bytes, WEFT_FORMAT,
            "the value claims %" PRIu64 " x %s, but the file has %zu bytes left", v->n,
            types[type].name, left(r));
    r->at += bytes * (size_t)v->n;
    return type == GGUF_BOOL ? check_bools(v) : WEFT_OK;
}

static weft_status take_value(reader *r, gguf_value *v, uint64_t **index) {
    TRY(take_type(r, &v->type, "value type"));
    v->element_type = v->type;
    v->n = 1;
    if (v->type == GGUF_ARRAY) {
        TRY(take_type(r, &v->element_type, "array's element type"));
        REQUIRE(v->element_type != GGUF_ARRAY, WEFT_UNSUPPORTED,
                "arrays of arrays are not supported");
        TRY(take(r, &v->n, sizeof v->n, "array length"));
    }
    v->data = r->data + r->at;
    if (v->element_type != GGUF_STRING) return take_fixed(r, v, v->element_type);
    if (v->type == GGUF_ARRAY) return take_string_array(r, v, index);
    gguf_string s;
    return take_string(r, &s, "string length");
}

static weft_status take_pair(gguf_file *f, reader *r) {
    TRY(mem_reserve((void **)&f->values, &f->values_capacity, f->n_values + 1, sizeof *f->values));
    TRY(mem_reserve((void **)&f->string_index, &f->index_capacity, f->n_values + 1,
                    sizeof *f->string_index));
    gguf_value *v = &f->values[f->n_values];
    uint64_t **index = &f->string_index[f->n_values];
    *v = (gguf_value){0};
    *index = NULL;
    TRY(take_string(r, &v->key, "key length"));
    REQUIRE(v->key.n <= MAX_KEY_BYTES, WEFT_FORMAT, "the key is %zu bytes long, the limit is %d",
            v->key.n, MAX_KEY_BYTES);
    uint32_t other;
    REQUIRE(!map_get(&f->keys, v->key.data, v->key.n, &other), WEFT_FORMAT,
            "the key '%s' appears twice", gguf_show(v->key).text);
    TRY(map_set(&f->keys, v->key.data, v->key.n, (uint32_t)f->n_values));
    f->n_values++;
    weft_status status = take_value(r, v, index);
    return status == WEFT_OK ? status : error_prefix(status, "key '%s'", gguf_show(v->key).text);
}

static weft_status find_alignment(const gguf_file *f, uint64_t *alignment) {
    *alignment = DEFAULT_ALIGNMENT;
    weft_status status = WEFT_OK;
    gguf_get_u64(f, "general.alignment", alignment, &status);
    TRY(status);
    REQUIRE(*alignment >= MIN_ALIGNMENT && *alignment <= UINT32_MAX &&
                !(*alignment & (*alignment - 1)),
            WEFT_FORMAT, "general.alignment is %" PRIu64 ", not a power of two from %d to 2^31",
            *alignment, MIN_ALIGNMENT);
    return WEFT_OK;
}

/* ---- tensors
 * ------------------------------------------------------------------------------------------ */

/* Dimensions come innermost first and leave outermost first. The product is taken over the
 * dimensions that are not 0, so that an empty tensor's strides fit too. */
static weft_status take_shape(reader *r, gguf_tensor *t) {
    uint32_t rank = 0;
    TRY(take(r, &rank, sizeof rank, "number of dimensions"));
    REQUIRE(rank <= GGUF_MAX_RANK, WEFT_FORMAT,
            "the tensor has %" PRIu32 " dimensions, the limit is %d", rank, GGUF_MAX_RANK);
    t->rank = (int)rank;
    uint64_t product = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        uint64_t dim = 0;
        TRY(take(r, &dim, sizeof dim, "dimensions"));
        REQUIRE(dim <= INT64_MAX && mul_u64(product, dim ? dim : 1, &product) &&
                    product <= INT64_MAX,
                WEFT_FORMAT, "the dimensions' product is past 2^63 - 1");
        t->dim[i] = (int64_t)dim;
    }
    return WEFT_OK;
}

/* Fills the size; the dimensions' product is known to fit. */
static weft_status measure(gguf_tensor *t) {
    const dtype_info *info = dtype_find(t->dtype);
    int64_t row = t->rank ? t->dim[t->rank - 1] : 1, n = 1, bytes = 0;
    REQUIRE(row % info->block == 0, WEFT_FORMAT,
            "a row of %" PRId64 " elements is no whole number of %s blocks (%d)", row, info->name,
            info->block);
    for (int i = 0; i < t->rank; i++) n *= t->dim[i]; /* cannot wrap: see take_shape */
    REQUIRE(dtype_bytes(t->dtype, n, &bytes), WEFT_FORMAT,
            "the tensor's size is past 2^63 - 1 bytes");
    t->bytes = (size_t)bytes;
    return WEFT_OK;
}

static weft_status take_dtype(reader *r, gguf_tensor *t) {
    uint32_t id = 0;
    TRY(take(r, &id, sizeof id, "tensor type"));
    REQUIRE(id < WEFT_DTYPE_NUMBERS && dtype_find((weft_dtype)id), WEFT_FORMAT,
            "tensor type %" PRIu32 " is unknown", id);
    t->dtype = (weft_dtype)id;
    return measure(t);
}

/* `offset` is kept in t->data's place until the data section's start is known. */
static weft_status take_tensor_fields(gguf_file *f, reader *r, gguf_tensor *t, uint64_t *offset) {
    uint32_t other;
    REQUIRE(!map_get(&f->names, t->name.data, t->name.n, &other), WEFT_FORMAT,
            "the name appears twice");
    TRY(map_set(&f->names, t->name.data, t->name.n, (uint32_t)f->n_tensors));
    TRY(take_shape(r, t));
    TRY(take_dtype(r, t));
    return take(r, offset, sizeof *offset, "tensor offset");
}

static weft_status take_tensor(gguf_file *f, reader *r, uint64_t **offsets, size_t *capacity) {
    TRY(mem_reserve((void **)&f->tensors, &f->tensors_capacity, f->n_tensors + 1,
                    sizeof *f->tensors));
    TRY(mem_reserve((void **)offsets, capacity, f->n_tensors + 1, sizeof **offsets));
    gguf_tensor *t = &f->tensors[f->n_tensors];
    *t = (gguf_tensor){0};
    TRY(take_string(r, &t->name, "tensor name"));
    weft_status status = take_tensor_fields(f, r, t, *offsets + f->n_tensors);
    if (status != WEFT_OK) return error_prefix(status, "tensor '%s'", gguf_show(t->name).text);
    f->n_tensors++;
    return WEFT_OK;
}

static weft_status place_tensors(gguf_file *f, const reader *r, const uint64_t *offsets,
                                 uint64_t alignment) {
    uint64_t start = ((uint64_t)r->at + alignment - 1) & ~(alignment - 1);
    uint64_t avail = start <= r->n ? r->n - start : 0;
    for (size_t i = 0; i < f->n_tensors; i++) {
        gguf_tensor *t = &f->tensors[i];
        uint64_t offset = offsets[i];
        REQUIRE(offset % alignment == 0, WEFT_FORMAT,
                "tensor '%s': its offset %" PRIu64 " is no multiple of the alignment %" PRIu64,
                gguf_show(t->name).text, offset, alignment);
        REQUIRE(offset <= avail && t->bytes <= avail - offset, WEFT_FORMAT,
                "tensor '%s': its data (offset %" PRIu64
                ", %zu bytes) is outside the file's %" PRIu64 " bytes of tensor data",
                gguf_show(t->name).text, offset, t->bytes, avail);
        t->data = r->data + (start <= r->n ? start : r->n) + offset;
    }
    return WEFT_OK;
}

static int by_place(const void *a, const void *b) {
    const gguf_tensor *x = *(const gguf_tensor *const *)a, *y = *(const gguf_tensor *const *)b;
    return x->data == y->data ? 0 : (const char *)x->data < (const char *)y->data ? -1 : 1;
}

static weft_status check_overlap(const gguf_tensor *a, const gguf_tensor *b) {
    REQUIRE((const char *)a->data + a->bytes <= (const char *)b->data, WEFT_FORMAT,
            "tensor '%s': its data overlaps that of '%s'", gguf_show(b->name).text,
            gguf_show(a->name).text);
    return WEFT_OK;
}

static weft_status check_overlaps(const gguf_file *f) {
    const gguf_tensor **order = mem_array(f->n_tensors, sizeof *order);
    if (!order) return WEFT_NO_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < f->n_tensors; i++)
        if (f->tensors[i].bytes) order[n++] = &f->tensors[i];
    qsort(order, n, sizeof *order, by_place);
    weft_status status = WEFT_OK;
    for (size_t i = 1; i < n && status == WEFT_OK; i++)
        status = check_overlap(order[i - 1], order[i]);
    mem_free(order);
    return status;
}

/* ---- the file
 * ----------------------------------------------------------------------------------------- */

static weft_status take_header(gguf_file *f, reader *r, uint64_t *n_tensors, uint64_t *n_values) {
    char magic[4] = {0};
    TRY(take(r, magic, sizeof magic, "magic"));
    REQUIRE(!memcmp(magic, "GGUF", 4), WEFT_FORMAT,
            "not a GGUF file: the first four bytes are not 'GGUF'");
    TRY(take(r, &f->version, sizeof f->version, "version"));
    REQUIRE(f->version & 0xFFFF || !f->version, WEFT_UNSUPPORTED,
            "the version field is 0x%08" PRIx32
            ": a file in big-endian byte order, which is not supported",
            f->version);
    REQUIRE(f->version == 2 || f->version == 3, WEFT_UNSUPPORTED,
            "GGUF version %" PRIu32 " is not supported (2 and 3 are)", f->version);
    TRY(take(r, n_tensors, sizeof *n_tensors, "tensor count"));
    TRY(take(r, n_values, sizeof *n_values, "key count"));
    REQUIRE(*n_tensors <= MAX_TENSORS, WEFT_LIMIT,
            "the tensor count is %" PRIu64 ", the limit is %d", *n_tensors, MAX_TENSORS);
    REQUIRE(*n_values <= MAX_VALUES, WEFT_LIMIT, "the key count is %" PRIu64 ", the limit is %d",
            *n_values, MAX_VALUES);
    return WEFT_OK;
}

static weft_status parse_tensors(gguf_file *f, reader *r, uint64_t n_tensors) {
    uint64_t alignment = 0, *offsets = NULL;
    size_t capacity = 0;
    TRY(find_alignment(f, &alignment));
    weft_status status = WEFT_OK;
    for (uint64_t i = 0; i < n_tensors && status == WEFT_OK; i++) {
        status = take_tensor(f, r, &offsets, &capacity);
        if (status != WEFT_OK)
            error_prefix(status, "tensor record %" PRIu64 " of %" PRIu64, i + 1, n_tensors);
    }
    if (status == WEFT_OK && offsets) status = place_tensors(f, r, offsets, alignment);
    if (status == WEFT_OK) status = check_overlaps(f);
    mem_free(offsets);
    return status;
}

static weft_status parse(gguf_file *f, const void *data, size_t n) {
    reader r = {data, n, 0};
    uint64_t n_tensors = 0, n_values = 0;
    TRY(take_header(f, &r, &n_tensors, &n_values));
    for (uint64_t i = 0; i < n_values; i++) {
        weft_status status = take_pair(f, &r);
        if (status != WEFT_OK)
            return error_prefix(status, "metadata %" PRIu64 " of %" PRIu64, i + 1, n_values);
    }
    return parse_tensors(f, &r, n_tensors);
}

static weft_status open_memory(const void *data, size_t n, gguf_file **out) {
    *out = NULL;
    REQUIRE(data && n, WEFT_FORMAT, "the file is empty");
    gguf_file *f = mem_alloc(sizeof *f);
    if (!f) return WEFT_NO_MEMORY;
    f->n_bytes = n;
    weft_status status = parse(f, data, n);
    if (status != WEFT_OK) {
        gguf_close(f);
        return status;
    }
    *out = f;
    return WEFT_OK;
}

static weft_status own_map(gguf_file *f, file_map map) {
    TRY(mem_reserve((void **)&f->maps, &f->maps_capacity, f->n_maps + 1, sizeof *f->maps));
    f->maps[f->n_maps++] = map;
    for (size_t i = 0; i < f->n_tensors; i++) f->tensors[i].is_mapped = true;
    return WEFT_OK;
}

static weft_status open_part(const char *path, gguf_file **out) {
    file_map map;
    *out = NULL;
    TRY(file_map_open(path, &map));
    weft_status status = open_memory(map.data, map.n, out);
    if (status == WEFT_OK) status = own_map(*out, map);
    if (status == WEFT_OK) return status;
    if (!*out || !(*out)->n_maps) file_map_close(&map);
    gguf_close(*out);
    *out = NULL;
    return error_prefix(status, "%s", path);
}

void gguf_close(gguf_file *f) {
    if (!f) return;
    for (size_t i = 0; i < f->n_values; i++) mem_free(f->string_index[i]);
    mem_free(f->string_index);
    mem_free(f->values);
    mem_free(f->tensors);
    map_free(&f->keys);
    map_free(&f->names);
    for (size_t i = 0; i < f->n_maps; i++) file_map_close(&f->maps[i]);
    mem_free(f->maps);
    if (f->done) f->done(f->owner);
    mem_free(f);
}

/* ---- a file in parts
 * ---------------------------------------------------------------------------------- */
/* NAME-00002-of-00003.gguf has split.no 1 and split.count 3; split.tensors.count is the total. The
 * metadata are those of the first part, the tensors those of all. */

enum { SUFFIX = sizeof "-00001-of-00003.gguf" - 1, MAX_PARTS = 99999 };

/* The two numbers at the end of a part's name; false when it is not of that form. */
static bool part_of_name(const char *path, unsigned *part, unsigned *count) {
    size_t n = strlen(path);
    int used = 0;
    if (n <= SUFFIX) return false;
    return sscanf(path + n - SUFFIX, "-%5u-of-%5u.gguf%n", part, count, &used) == 2 &&
           used == SUFFIX;
}

static weft_status split_keys(const gguf_file *f, uint64_t *no, uint64_t *count) {
    weft_status status = WEFT_OK;
    *no = 0;
    *count = 1;
    gguf_get_u64(f, "split.no", no, &status);
    gguf_get_u64(f, "split.count", count, &status);
    TRY(status);
    REQUIRE(*count <= MAX_PARTS, WEFT_FORMAT, "split.count is %" PRIu64 ", the limit is %d", *count,
            MAX_PARTS);
    if (*count == 0) *count = 1;
    return WEFT_OK;
}

static weft_status check_part(const gguf_file *f, unsigned part, unsigned count) {
    uint64_t no = 0, n = 0;
    TRY(split_keys(f, &no, &n));
    REQUIRE(n == count, WEFT_FORMAT,
            "split.count is %" PRIu64 ", but the file is named as one of %u parts", n, count);
    REQUIRE(no + 1 == part, WEFT_FORMAT,
            "split.no is %" PRIu64 " (counted from 0), but the file is named part %u", no, part);
    return WEFT_OK;
}

/* Moves the tensors and maps of a part to the end of another's. */
static weft_status absorb(gguf_file *f, gguf_file *part) {
    for (size_t i = 0; i < part->n_tensors; i++) {
        const gguf_tensor *t = &part->tensors[i];
        uint32_t other;
        REQUIRE(!map_get(&f->names, t->name.data, t->name.n, &other), WEFT_FORMAT,
                "tensor '%s' is in two parts", gguf_show(t->name).text);
        REQUIRE(f->n_tensors < MAX_TENSORS, WEFT_LIMIT, "the parts have more than %d tensors",
                MAX_TENSORS);
        TRY(mem_reserve((void **)&f->tensors, &f->tensors_capacity, f->n_tensors + 1, sizeof *t));
        TRY(map_set(&f->names, t->name.data, t->name.n, (uint32_t)f->n_tensors));
        f->tensors[f->n_tensors++] = *t;
    }
    TRY(own_map(f, part->maps[0]));
    part->n_maps = 0;
    f->n_bytes += part->n_bytes;
    return WEFT_OK;
}

static weft_status check_total(const gguf_file *f) {
    weft_status status = WEFT_OK;
    uint64_t total = f->n_tensors;
    gguf_get_u64(f, "split.tensors.count", &total, &status);
    TRY(status);
    REQUIRE(total == f->n_tensors, WEFT_FORMAT,
            "split.tensors.count is %" PRIu64 ", but the parts have %zu tensors", total,
            f->n_tensors);
    return WEFT_OK;
}

/* `name` has the path of any part and is rewritten for each in turn. */
static weft_status open_parts(char *name, unsigned count, gguf_file **out) {
    char *suffix = name + strlen(name) - SUFFIX;
    unsigned i = 1;
    do {
        gguf_file *part;
        snprintf(suffix, SUFFIX + 1, "-%05u-of-%05u.gguf", i % 100000, count % 100000);
        TRY(open_part(name, &part));
        weft_status status = check_part(part, i, count);
        if (status == WEFT_OK && i == 1) {
            *out = part;
            continue;
        }
        if (status == WEFT_OK) status = absorb(*out, part);
        gguf_close(part);
        if (status != WEFT_OK) return error_prefix(status, "%s", name);
    } while (++i <= count);
    return check_total(*out);
}

static weft_status open_split(const char *path, gguf_file **out) {
    unsigned part, count;
    REQUIRE(part_of_name(path, &part, &count), WEFT_FORMAT,
            "%s: it is a part of a split file, but not named like NAME-00001-of-00003.gguf", path);
    weft_status status = check_part(*out, part, count);
    if (status != WEFT_OK) return error_prefix(status, "%s", path);
    char *name = mem_string(path);
    if (!name) return WEFT_NO_MEMORY;
    gguf_close(*out);
    *out = NULL;
    status = open_parts(name, count, out);
    mem_free(name);
    return status;
}

weft_status gguf_open(const char *path, gguf_file **out) {
    uint64_t no = 0, count = 1;
    TRY(open_part(path, out));
    weft_status status = split_keys(*out, &no, &count);
    if (status != WEFT_OK) error_prefix(status, "%s", path);
    if (status == WEFT_OK && count > 1) status = open_split(path, out);
    if (status == WEFT_OK) return status;
    gguf_close(*out);
    *out = NULL;
    return status;
}

weft_status gguf_open_memory(const void *data, size_t n, gguf_file **out) {
    uint64_t no = 0, count = 1;
    TRY(open_memory(data, n, out));
    weft_status status = split_keys(*out, &no, &count);
    if (status == WEFT_OK && count > 1)
        status = error_set(WEFT_UNSUPPORTED,
                           "one part of a split file is not a model: open it by its name");
    if (status == WEFT_OK) return status;
    gguf_close(*out);
    *out = NULL;
    return status;
}

uint32_t gguf_version(const gguf_file *f) { return f->version; }
size_t gguf_bytes(const gguf_file *f) { return f->n_bytes; }
size_t gguf_n_values(const gguf_file *f) { return f->n_values; }
size_t gguf_n_tensors(const gguf_file *f) { return f->n_tensors; }

const gguf_value *gguf_value_at(const gguf_file *f, size_t i) {
    return i < f->n_values ? &f->values[i] : NULL;
}

const gguf_tensor *gguf_tensor_at(const gguf_file *f, size_t i) {
    return i < f->n_tensors ? &f->tensors[i] : NULL;
}

const gguf_value *gguf_find(const gguf_file *f, const char *key) {
    uint32_t i;
    return map_get(&f->keys, key, strlen(key), &i) ? &f->values[i] : NULL;
}

const gguf_tensor *gguf_find_tensor(const gguf_file *f, const char *name) {
    uint32_t i;
    return map_get(&f->names, name, strlen(name), &i) ? &f->tensors[i] : NULL;
}

/* ---- made in memory
 * ---------------------------------------------------------------------------------- */

weft_status gguf_make(const void *metadata, size_t n, size_t bytes, void (*done)(void *owner),
                      void *owner, gguf_file **out) {
    TRY(open_memory(metadata, n, out));
    (*out)->n_bytes = bytes;
    (*out)->done = done;
    (*out)->owner = owner;
    return WEFT_OK;
}

static weft_status check_made(gguf_tensor *t) {
    uint64_t product = 1;
    REQUIRE(t->rank >= 0 && t->rank <= GGUF_MAX_RANK, WEFT_FORMAT,
            "the tensor has %d dimensions, the limit is %d", t->rank, GGUF_MAX_RANK);
    for (int i = 0; i < t->rank; i++)
        REQUIRE(t->dim[i] >= 0 && mul_u64(product, t->dim[i] ? (uint64_t)t->dim[i] : 1, &product) &&
                    product <= INT64_MAX,
                WEFT_FORMAT, "the dimensions' product is past 2^63 - 1");
    return measure(t);
}

weft_status gguf_add_tensor(gguf_file *f, const gguf_tensor *t) {
    uint32_t other;
    TRY(mem_reserve((void **)&f->tensors, &f->tensors_capacity, f->n_tensors + 1, sizeof *t));
    gguf_tensor *added = &f->tensors[f->n_tensors];
    *added = *t;
    REQUIRE(f->n_tensors < MAX_TENSORS, WEFT_LIMIT, "there are more than %d tensors", MAX_TENSORS);
    REQUIRE(!map_get(&f->names, t->name.data, t->name.n, &other), WEFT_FORMAT,
            "tensor '%s' appears twice", gguf_show(t->name).text);
    weft_status status = check_made(added);
    if (status != WEFT_OK) return error_prefix(status, "tensor '%s'", gguf_show(t->name).text);
    TRY(map_set(&f->names, t->name.data, t->name.n, (uint32_t)f->n_tensors));
    f->n_tensors++;
    return WEFT_OK;
}

static size_t row_bytes(const gguf_tensor *t) {
    const dtype_info *info = dtype_find(t->dtype);
    int64_t row = t->rank ? t->dim[t->rank - 1] : 1;
    return (size_t)(row / info->block * info->bytes);
}

void gguf_copy_rows(const gguf_tensor *t, int64_t first, int64_t n, void *out) {
    size_t bytes = row_bytes(t);
    if (t->data) {
        memcpy(out, (const uint8_t *)t->data + (size_t)first * bytes, (size_t)n * bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t part = (first + i) / t->rows->rows_a_part, row = (first + i) % t->rows->rows_a_part;
        int64_t head = t->rows->head;
        if (head) row = row / head * head + row % head / 2 + row % 2 * (head / 2);
        memcpy((uint8_t *)out + (size_t)i * bytes, t->rows->part[part] + (size_t)row * bytes,
               bytes);
    }
}

void gguf_forget(const gguf_tensor *t, size_t at, size_t n) {
    if (!t->is_mapped) return;
    if (t->data) file_map_forget((const char *)t->data + at, n);
    for (size_t i = 0; !t->data && t->rows && i < t->rows->n_parts; i++)
        file_map_forget(t->rows->part[i], (size_t)t->rows->rows_a_part * row_bytes(t));
}

/* ---- typed get
 * ---------------------------------------------------------------------------------------- */

static bool is_integer(gguf_type type) {
    return type != GGUF_F32 && type != GGUF_F64 && type != GGUF_BOOL && type != GGUF_STRING &&
           type != GGUF_ARRAY;
}

static bool wrong_kind(const gguf_value *v, const char *wanted, weft_status *status) {
    *status =
        error_set(WEFT_FORMAT, "key '%s' is of type %s%s, expected %s", gguf_show(v->key).text,
                  v->type == GGUF_ARRAY ? "array of " : "", types[v->element_type].name, wanted);
    return false;
}

bool gguf_get_u64(const gguf_file *f, const char *key, uint64_t *out, weft_status *status) {
    const gguf_value *v = gguf_find(f, key);
    if (!v) return false;
    if (!is_integer(v->type)) return wrong_kind(v, "an integer", status);
    int64_t n = gguf_integer_at(v, 0);
    if (n < 0 && v->type != GGUF_U64) {
        *status = error_set(WEFT_FORMAT, "key '%s' is %" PRId64 ", expected 0 or more", key, n);
        return false;
    }
    *out = (uint64_t)n;
    return true;
}

bool gguf_get_i64(const gguf_file *f, const char *key, int64_t *out, weft_status *status) {
    const gguf_value *v = gguf_find(f, key);
    if (!v) return false;
    if (!is_integer(v->type)) return wrong_kind(v, "an integer", status);
    int64_t n = gguf_integer_at(v, 0);
    if (n < 0 && v->type == GGUF_U64) {
        *status = error_set(WEFT_FORMAT, "key '%s' is %" PRIu64 ", past the largest i64", key,
                            (uint64_t)n);
        return false;
    }
    *out = n;
    return true;
}

bool gguf_get_f64(const gguf_file *f, const char *key, double *out, weft_status *status) {
    const gguf_value *v = gguf_find(f, key);
    if (!v) return false;
    if (v->type == GGUF_ARRAY || v->type == GGUF_STRING || v->type == GGUF_BOOL)
        return wrong_kind(v, "a number", status);
    *out = gguf_number_at(v, 0);
    return true;
}

bool gguf_get_bool(const gguf_file *f, const char *key, bool *out, weft_status *status) {
    const gguf_value *v = gguf_find(f, key);
    if (!v) return false;
    if (v->type != GGUF_BOOL) return wrong_kind(v, "bool", status);
    *out = v->data[0] != 0;
    return true;
}

bool gguf_get_string(const gguf_file *f, const char *key, gguf_string *out, weft_status *status) {
    const gguf_value *v = gguf_find(f, key);
    if (!v) return false;
    if (v->type != GGUF_STRING) return wrong_kind(v, "string", status);
    *out = gguf_string_at(f, v, 0);
    return true;
}

gguf_string gguf_string_at(const gguf_file *f, const gguf_value *v, uint64_t i) {
    if (i >= v->n || v->element_type != GGUF_STRING) return (gguf_string){"", 0};
    const uint64_t *index = f->string_index[v - f->values];
    const uint8_t *p = v->data + (index ? index[i / INDEX_STEP] : 0);
    uint64_t n = 0;
    memcpy(&n, p, sizeof n);
    for (uint64_t k = i % INDEX_STEP; k > 0; k--) {
        p += sizeof n + n;
        memcpy(&n, p, sizeof n);
    }
    return (gguf_string){(const char *)p + sizeof n, (size_t)n};
}

size_t gguf_type_bytes(gguf_type type) { return (unsigned)type < N_TYPES ? types[type].bytes : 0; }

size_t gguf_value_bytes(const gguf_value *v) {
    if (v->element_type != GGUF_STRING) return types[v->element_type].bytes * (size_t)v->n;
    const uint8_t *p = v->data;
    for (uint64_t i = 0, n; i < v->n; i++) {
        memcpy(&n, p, sizeof n);
        p += sizeof n + n;
    }
    return (size_t)(p - v->data);
}

static uint64_t raw_at(const gguf_value *v, uint64_t i) {
    uint64_t raw = 0;
    size_t bytes = types[v->element_type].bytes;
    if (i < v->n) memcpy(&raw, v->data + i * bytes, bytes);
    return raw;
}

int64_t gguf_integer_at(const gguf_value *v, uint64_t i) {
    uint64_t raw = raw_at(v, i);
    switch (v->element_type) {
    case GGUF_I8: return (int8_t)raw;
    case GGUF_I16: return (int16_t)raw;
    case GGUF_I32: return (int32_t)raw;
    case GGUF_F32:
    case GGUF_F64: return 0;
    default: return (int64_t)raw;
    }
}

double gguf_number_at(const gguf_value *v, uint64_t i) {
    uint64_t raw = raw_at(v, i);
    if (v->element_type == GGUF_F64) {
        double d;
        memcpy(&d, &raw, sizeof d);
        return d;
    }
    if (v->element_type == GGUF_F32) {
        float x;
        uint32_t bits = (uint32_t)raw;
        memcpy(&x, &bits, sizeof x);
        return (double)x;
    }
    return v->element_type == GGUF_U64 ? (double)raw : (double)gguf_integer_at(v, i);
}
