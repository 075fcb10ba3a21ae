/* Values: arena, texts, lists, dicts, undefined. Comparison is in compare.c, str() and repr() in
 * repr.c.
 *
 * A container knows how deep it nests and refuses to be built deeper than TPL_MAX_NESTING:
 * everything that walks values may then recurse; nor heavier than TPL_MAX_WEIGHT, since shared
 * parts make small values that take ages to walk. SPDX-License-Identifier: MIT */
#include "template/value.h"

#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "template/run.h"

/* On the way to a free place of a dict's index: keys made to meet in one place are refused. */
enum { MOST_STEPS = 4096 };

void *tpl_alloc(tpl_mem *mem, size_t bytes) {
    if (mem->limit && (bytes > mem->limit || mem->used > mem->limit - bytes)) {
        error_set(WEFT_LIMIT, "the template's values need more memory than the limit of %zu bytes",
                  mem->limit);
        return NULL;
    }
    mem->used += bytes + 16;
    return arena_alloc(&mem->arena, bytes);
}

void *tpl_array(tpl_mem *mem, size_t n, size_t element_bytes) {
    uint64_t bytes;
    if (!mul_u64(n, element_bytes, &bytes)) bytes = SIZE_MAX / 2;
    return tpl_alloc(mem, bytes);
}

const char *tpl_type_name(tvalue v) {
    switch (v.type) {
    case T_NONE: return "NoneType";
    case T_BOOL: return "bool";
    case T_INT: return "int";
    case T_FLOAT: return "float";
    case T_STRING: return v.s->safe ? "Markup" : "str";
    case T_LIST: return "list";
    case T_TUPLE: return "tuple";
    case T_DICT: return "dict";
    case T_VIEW: return "dict view";
    case T_RANGE: return "range";
    case T_ITERATOR: return "generator";
    case T_METHOD:
    case T_FUNCTION: return "function";
    case T_MACRO: return "Macro";
    case T_LOOP: return "LoopContext";
    case T_NAMESPACE: return "Namespace";
    case T_CYCLER: return "Cycler";
    case T_JOINER: return "Joiner";
    case T_MISSING:
    case T_UNDEFINED: break;
    }
    return "Undefined";
}

/* ---- texts ---- */

size_t tpl_count_chars(const char *data, size_t n) {
    size_t chars = 0;
    for (size_t i = 0; i < n; i++) chars += ((unsigned char)data[i] & 0xC0) != 0x80;
    return chars;
}

int tpl_shown(const char *data, size_t n, size_t limit) {
    return (int)(n <= limit ? n : utf8_complete(data, limit));
}

size_t tpl_char_offset(const tstring *s, size_t at) {
    if (s->chars == s->n || at == 0) return at;
    if (at >= s->chars) return s->n;
    size_t i = 0;
    for (; i < s->n; i++) {
        if (((unsigned char)s->data[i] & 0xC0) == 0x80) continue;
        if (at-- == 0) break;
    }
    return i;
}

static weft_status check_text(size_t n) {
    REQUIRE(n <= TPL_MAX_STRING, WEFT_LIMIT,
            "a text of %zu bytes is longer than the limit of %d bytes", n, (int)TPL_MAX_STRING);
    return WEFT_OK;
}

weft_status tpl_string_room(tpl_mem *mem, size_t n, char **out) {
    TRY(check_text(n));
    *out = tpl_alloc(mem, n);
    return *out ? WEFT_OK : error_status();
}

weft_status tpl_string_take(tpl_mem *mem, const char *data, size_t n, bool safe, tvalue *out) {
    tstring *s = tpl_alloc(mem, sizeof *s);
    if (!s) return error_status();
    *s = (tstring){data, n, tpl_count_chars(data, n), safe};
    *out = tpl_of_string(s);
    return WEFT_OK;
}

weft_status tpl_string(tpl_mem *mem, const char *data, size_t n, tvalue *out) {
    char *copy;
    TRY(tpl_string_room(mem, n, &copy));
    if (n) memcpy(copy, data, n);
    return tpl_string_take(mem, copy, n, false, out);
}

weft_status tpl_from_str(tpl_mem *mem, str *text, bool safe, tvalue *out) {
    weft_status status = tpl_string(mem, str_text(text), text->n, out);
    str_free(text);
    TRY(status);
    if (safe) TRY(tpl_string_take(mem, out->s->data, out->s->n, true, out));
    return WEFT_OK;
}

weft_status tpl_concat(tpl_mem *mem, const tstring *a, const tstring *b, tvalue *out) {
    enum { LONG_TEXT = 1024 };
    size_t n = a->n + b->n;
    bool safe = a->safe || b->safe;
    TRY(check_text(n));
    char *text;
    if (a->n && b->n && mem->tail == a->data + a->n && mem->tail_room >= b->n) {
        memcpy(mem->tail, b->data, b->n);
        mem->tail += b->n;
        mem->tail_room -= b->n;
        return tpl_string_take(mem, a->data, n, safe, out);
    }
    bool grow = n >= LONG_TEXT;
    text = tpl_alloc(mem, grow ? n * 2 : n);
    if (!text) return error_status();
    if (a->n) memcpy(text, a->data, a->n);
    if (b->n) memcpy(text + a->n, b->data, b->n);
    if (grow) {
        mem->tail = text + n;
        mem->tail_room = n;
    }
    return tpl_string_take(mem, text, n, safe, out);
}

bool tpl_string_is(const tstring *s, const char *text) {
    size_t n = strlen(text);
    return s->n == n && memcmp(s->data, text, n) == 0;
}

/* ---- lists ---- */

int tpl_depth(tvalue v) {
    switch (v.type) {
    case T_LIST:
    case T_TUPLE: return v.l->depth;
    case T_DICT: return v.d->depth;
    case T_VIEW: return v.view->dict->depth + 1;
    case T_ITERATOR: return v.it->depth;
    case T_METHOD: return tpl_depth(v.method->self) + 1;
    case T_CYCLER: return v.cycler->items->depth + 1;
    default: return 0;
    }
}

uint64_t tpl_weight(tvalue v) {
    switch (v.type) {
    case T_STRING: return 1 + v.s->n / 64;
    case T_LIST:
    case T_TUPLE: return v.l->weight;
    case T_DICT: return v.d->weight;
    case T_VIEW: return v.view->dict->weight;
    default: return 1;
    }
}

weft_status tpl_check_container(int depth, uint64_t weight) {
    REQUIRE(depth <= TPL_MAX_NESTING, WEFT_LIMIT, "values are nested deeper than the limit of %d",
            (int)TPL_MAX_NESTING);
    REQUIRE(weight <= TPL_MAX_WEIGHT, WEFT_LIMIT, "a value holds more than the limit of %d parts",
            (int)TPL_MAX_WEIGHT);
    return WEFT_OK;
}

weft_status tpl_push(tpl_mem *mem, tbuilder *b, tvalue v) {
    if (b->n == b->capacity) {
        REQUIRE(b->n < TPL_MAX_ITEMS, WEFT_LIMIT, "a list has more items than the limit of %d",
                (int)TPL_MAX_ITEMS);
        size_t capacity = b->capacity ? b->capacity * 2 : 8;
        tvalue *items = tpl_array(mem, capacity, sizeof *items);
        if (!items) return error_status();
        if (b->n) memcpy(items, b->items, b->n * sizeof *items);
        b->items = items;
        b->capacity = capacity;
    }
    b->items[b->n++] = v;
    return WEFT_OK;
}

weft_status tpl_build(tpl_mem *mem, const tbuilder *b, tpl_type type, tvalue *out) {
    tlist *list = tpl_alloc(mem, sizeof *list);
    if (!list) return error_status();
    *list = (tlist){.items = b->items, .n = b->n};
    list->depth = 1;
    list->weight = 1;
    for (size_t i = 0; i < b->n; i++) {
        int depth = tpl_depth(b->items[i]) + 1;
        if (depth > list->depth) list->depth = depth;
        list->weight += tpl_weight(b->items[i]);
    }
    TRY(tpl_check_container(list->depth, list->weight));
    *out = (tvalue){.type = type, .l = list};
    return WEFT_OK;
}

weft_status tpl_pair(tpl_mem *mem, tvalue a, tvalue b, tvalue *out) {
    tbuilder pair = {tpl_array(mem, 2, sizeof(tvalue)), 2, 2};
    if (!pair.items) return error_status();
    pair.items[0] = a;
    pair.items[1] = b;
    return tpl_build(mem, &pair, T_TUPLE, out);
}

/* ---- dicts ---- */

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

bool tpl_hash(tvalue v, uint64_t *hash) {
    switch (v.type) {
    case T_LIST:
    case T_DICT: return false;
    case T_VIEW: return v.view->kind == VIEW_VALUES ? (*hash = mix((uintptr_t)v.p), true) : false;
    case T_TUPLE: {
        uint64_t h = 7;
        for (size_t i = 0; i < v.l->n; i++) {
            uint64_t item;
            if (!tpl_hash(v.l->items[i], &item)) return false;
            h = mix(h + item);
        }
        *hash = h;
        return true;
    }
    case T_STRING: *hash = hash_bytes(v.s->data, v.s->n, 1); return true;
    case T_NONE: *hash = 11; return true;
    case T_MISSING:
    case T_UNDEFINED: *hash = 13; return true;
    case T_BOOL: *hash = mix(v.b); return true;
    case T_INT: *hash = mix((uint64_t)v.i); return true;
    case T_FLOAT:
        if (v.f >= -0x1p63 && v.f < 0x1p63 && v.f == (double)(int64_t)v.f)
            *hash = mix((uint64_t)(int64_t)v.f);
        else *hash = hash_bytes(&v.f, sizeof v.f, 2);
        return true;
    case T_RANGE: *hash = mix((uint64_t)v.range->n); return true;
    default: *hash = mix((uintptr_t)v.p); return true;
    }
}

weft_status tpl_dict_new(tpl_mem *mem, tdict **out) {
    *out = tpl_alloc(mem, sizeof **out);
    if (!*out) return error_status();
    (*out)->depth = 1;
    (*out)->weight = 1;
    return WEFT_OK;
}

static tentry *find(const tdict *d, tvalue key, uint64_t hash) {
    if (!d->index) {
        for (size_t i = 0; i < d->n; i++)
            if (d->entries[i].hash == hash && tpl_equal(d->entries[i].key, key))
                return &d->entries[i];
        return NULL;
    }
    for (size_t at = hash & (d->n_index - 1); d->index[at]; at = (at + 1) & (d->n_index - 1)) {
        tentry *e = &d->entries[d->index[at] - 1];
        if (e->hash == hash && tpl_equal(e->key, key)) return e;
    }
    return NULL;
}

static weft_status make_index(tpl_mem *mem, tdict *d) {
    size_t n = 32;
    while (n < d->capacity * 2) n *= 2;
    uint32_t *index = tpl_array(mem, n, sizeof *index);
    if (!index) return error_status();
    for (size_t i = 0; i < d->n; i++) {
        size_t at = d->entries[i].hash & (n - 1);
        while (index[at]) at = (at + 1) & (n - 1);
        index[at] = (uint32_t)i + 1;
    }
    d->index = index;
    d->n_index = n;
    return WEFT_OK;
}

weft_status tpl_dict_set(tpl_mem *mem, tdict *d, tvalue key, tvalue value) {
    uint64_t hash;
    REQUIRE(tpl_hash(key, &hash), WEFT_INVALID, "a '%s' cannot be a key of a dict",
            tpl_type_name(key));
    int depth = 1 + (tpl_depth(value) > tpl_depth(key) ? tpl_depth(value) : tpl_depth(key));
    if (depth < d->depth) depth = d->depth;
    uint64_t weight = d->weight + tpl_weight(key) + tpl_weight(value);
    TRY(tpl_check_container(depth, weight));
    d->depth = depth;
    d->weight = weight;
    tentry *old = find(d, key, hash);
    if (old) {
        old->value = value;
        return WEFT_OK;
    }
    if (d->n == d->capacity) {
        REQUIRE(d->n < TPL_MAX_ITEMS, WEFT_LIMIT, "a dict has more keys than the limit of %d",
                (int)TPL_MAX_ITEMS);
        size_t capacity = d->capacity ? d->capacity * 2 : 8;
        tentry *entries = tpl_array(mem, capacity, sizeof *entries);
        if (!entries) return error_status();
        if (d->n) memcpy(entries, d->entries, d->n * sizeof *entries);
        d->entries = entries;
        d->capacity = capacity;
        if (capacity > 8) TRY(make_index(mem, d));
    }
    d->entries[d->n++] = (tentry){key, value, hash};
    if (d->index) {
        size_t at = hash & (d->n_index - 1), steps = 0;
        for (; d->index[at]; steps++) at = (at + 1) & (d->n_index - 1);
        REQUIRE(steps <= MOST_STEPS, WEFT_LIMIT, "%zu keys of a dict in a row have one hash",
                steps);
        d->index[at] = (uint32_t)d->n;
    }
    return WEFT_OK;
}

const tvalue *tpl_dict_get(const tdict *d, tvalue key) {
    uint64_t hash;
    if (!tpl_hash(key, &hash)) return NULL;
    tentry *e = find(d, key, hash);
    return e ? &e->value : NULL;
}

const tvalue *tpl_dict_find(const tdict *d, const char *key, size_t n) {
    tstring s = {key, n, 0, false};
    return tpl_dict_get(d, tpl_of_string(&s));
}

/* ---- undefined ---- */

static weft_status undefined(tpl_mem *mem, tundefined u, tvalue *out) {
    tundefined *copy = tpl_alloc(mem, sizeof *copy);
    if (!copy) return error_status();
    *copy = u;
    *out = (tvalue){.type = T_UNDEFINED, .u = copy};
    return WEFT_OK;
}

weft_status tpl_undefined(tpl_mem *mem, const char *hint, const tstring *name, tvalue *out) {
    return undefined(mem, (tundefined){.hint = hint, .name = name}, out);
}

weft_status tpl_undefined_of(tpl_mem *mem, tvalue owner, tvalue name, tvalue *out) {
    tundefined u = {.owner = tpl_type_name(owner)};
    if (name.type == T_STRING) {
        u.name = name.s;
    } else if (name.type == T_INT) {
        tvalue text;
        TRY(tpl_to_string(mem, name, &text));
        u.name = text.s;
        u.element = true;
    }
    return undefined(mem, u, out);
}

weft_status tpl_undefined_fail(tvalue v) {
    const tundefined *u = v.u;
    const char *name = u->name ? u->name->data : "?";
    int n = u->name ? tpl_shown(u->name->data, u->name->n, 200) : 1;
    if (u->hint) return error_set(WEFT_INVALID, "%s", u->hint);
    if (!u->owner) return error_set(WEFT_INVALID, "'%.*s' is undefined", n, name);
    if (u->element)
        return error_set(WEFT_INVALID, "'%s object' has no element %.*s", u->owner, n, name);
    return error_set(WEFT_INVALID, "'%s object' has no attribute '%.*s'", u->owner, n, name);
}

/* ---- truth and length ---- */

bool tpl_length(tvalue v, int64_t *n) {
    switch (v.type) {
    case T_STRING: *n = (int64_t)v.s->chars; return true;
    case T_LIST:
    case T_TUPLE: *n = (int64_t)v.l->n; return true;
    case T_DICT: *n = (int64_t)v.d->n; return true;
    case T_VIEW: *n = (int64_t)v.view->dict->n; return true;
    case T_RANGE: *n = v.range->n; return true;
    case T_UNDEFINED: *n = 0; return true;
    default: return false;
    }
}

bool tpl_truth(tvalue v) {
    int64_t n;
    switch (v.type) {
    case T_MISSING:
    case T_NONE: return false;
    case T_BOOL: return v.b;
    case T_INT: return v.i != 0;
    case T_FLOAT: return v.f != 0;
    default: return tpl_length(v, &n) ? n != 0 : true;
    }
}

bool tpl_as_int(tvalue v, int64_t *i) {
    if (v.type == T_INT) *i = v.i;
    else if (v.type == T_BOOL) *i = v.b;
    else return false;
    return true;
}

bool tpl_as_float(tvalue v, double *f) {
    int64_t i;
    if (v.type == T_FLOAT) *f = v.f;
    else if (tpl_as_int(v, &i)) *f = (double)i;
    else return false;
    return true;
}
