/* Whether a schema can be seen to have no valid value: what tells branches of oneOf apart. True is
 * certain; false may only mean that it would take more to tell.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <string.h>

#include "grammar/schema_kinds.h"

enum { MOST_DEPTH = 3 };

static weft_status numbers_are_empty(schema *s, const schema_flat *f, bool *out) {
    const number_bounds *n = &f->bounds;
    (void)s;
    int order = n->has_low && n->has_high ? schema_number_compare(n->low, n->high) : -1;
    *out = order > 0 || (order == 0 && (n->is_low_open || n->is_high_open));
    return WEFT_OK;
}

/* Of a format only what all its texts have in common counts. */
static weft_status texts_are_empty(schema *s, const schema_flat *f, bool *out) {
    schema_language *l = NULL;
    uint32_t sets[1];
    size_t n = 0;
    schema_flat rest = *f;
    size_t i;
    json_t *one;
    *out = f->max_length >= 0 && f->max_length < f->min_length;
    rest.formats = NULL;
    rest.patterns = f->patterns ? json_copy(f->patterns) : json_array();
    TRY(schema_own(s, rest.patterns));
    json_array_foreach(f->formats, i, one) {
        const char *outer = "";
        if (schema_format(json_string_value(one), &outer) && outer[0] &&
            json_array_append_new(rest.patterns, json_string(outer)))
            return error_set(WEFT_NO_MEMORY, "out of memory");
    }
    if (*out || !json_array_size(rest.patterns)) return WEFT_OK;
    l = mem_alloc(sizeof *l);
    if (!l) return WEFT_NO_MEMORY;
    weft_status status = schema_text_language(s, &rest, l);
    if (status == WEFT_OK) status = regular_sort(&l->all, NULL, 0, sets, 1, &n);
    if (status == WEFT_OK) *out = n == 0;
    if (status == WEFT_LIMIT) status = WEFT_OK; /* not told */
    schema_language_free(l);
    mem_free(l);
    return status;
}

static weft_status lists_are_empty(schema *s, const schema_flat *f, int depth, bool *out) {
    size_t i, k;
    json_t *one;
    *out = f->max_items >= 0 && f->max_items < f->min_items;
    for (i = 0; i < (size_t)f->min_items && i < 8 && !*out; i++) {
        json_t *all = NULL, *whole;
        bool has_prefix = false;
        json_array_foreach(f->lists, k, one) {
            json_t *items = json_object_get(one, "items"), *prefix;
            prefix = json_is_array(items) ? items : json_object_get(one, "prefixItems");
            if (json_is_array(items)) items = json_object_get(one, "additionalItems");
            json_t *mine = i < json_array_size(prefix) ? json_array_get(prefix, i) : items;
            has_prefix |= i < json_array_size(prefix);
            if (mine) TRY(schema_push(s, &all, mine));
        }
        if (!all) break;
        TRY(schema_both(s, all, &whole));
        TRY(schema_is_empty(s, whole, depth + 1, out));
        if (!has_prefix) break; /* the others are the same */
    }
    return WEFT_OK;
}

static weft_status objects_are_empty(schema *s, const schema_flat *f, int depth, bool *out) {
    size_t i, k;
    json_t *name, *one;
    *out = f->max_properties >= 0 && (f->max_properties < f->min_properties ||
                                      f->max_properties < (int64_t)json_array_size(f->required));
    json_array_foreach(f->required, i, name) {
        json_t *all = NULL, *whole;
        if (*out) return WEFT_OK;
        json_array_foreach(f->objects, k, one) {
            json_t *own =
                json_object_get(json_object_get(one, "properties"), json_string_value(name));
            if (!own && !json_object_get(one, "patternProperties"))
                own = json_object_get(one, "additionalProperties");
            if (own) TRY(schema_push(s, &all, own));
        }
        if (!all) continue;
        TRY(schema_both(s, all, &whole));
        TRY(schema_is_empty(s, whole, depth + 1, out));
    }
    return WEFT_OK;
}

/* None of the values that enum or const leave meets the conditions on plain values. */
static weft_status values_are_empty(schema *s, const schema_flat *f, bool *out) {
    size_t i;
    json_t *one;
    schema_flat rest = *f;
    schema_fitter w = {.f = &rest};
    weft_status status = WEFT_OK;
    rest.formats = NULL;
    *out = true;
    json_array_foreach(f->values, i, one) {
        bool fits = true;
        status = schema_fitter_has(s, &w, one, &fits);
        if (status == WEFT_LIMIT) fits = true, status = WEFT_OK;
        if (fits || status != WEFT_OK) *out = false;
        if (!*out) break;
    }
    schema_fitter_free(&w);
    return status;
}

/* Every branch of some choice. */
static weft_status choices_are_empty(schema *s, const schema_flat *f, int depth, bool *out) {
    json_t *const choices[] = {f->any_of, f->one_of};
    json_t *list, *branch;
    size_t i, k;
    for (int c = 0; c < 2; c++) json_array_foreach(choices[c], i, list) {
            *out = true;
            json_array_foreach(list, k, branch) {
                json_t *all = f->parts ? json_copy(f->parts) : json_array(), *whole;
                TRY(schema_own(s, all));
                TRY(schema_push(s, &all, branch));
                TRY(schema_both(s, all, &whole));
                TRY(schema_is_empty(s, whole, depth + 1, out));
                if (!*out) break;
            }
            if (*out) return WEFT_OK;
        }
    return WEFT_OK;
}

weft_status schema_is_empty(schema *s, json_t *in, int depth, bool *out) {
    schema_flat f;
    *out = json_is_false(in);
    if (*out || json_is_true(in) || depth > MOST_DEPTH) return WEFT_OK;
    TRY(schema_flatten(s, in, &f));
    *out = !f.types;
    if (*out) return WEFT_OK;
    if (f.values) TRY(values_are_empty(s, &f, out));
    if (*out) return WEFT_OK;
    TRY(choices_are_empty(s, &f, depth, out));
    if (*out) return WEFT_OK;
    if (f.types & (TYPE_NULL | TYPE_BOOLEAN) && !f.values) return WEFT_OK;
    *out = true;
    unsigned of_values = 0;
    size_t i;
    json_t *one;
    json_array_foreach(f.values, i, one) of_values |= schema_type_of(one);
    unsigned types = f.values ? f.types & of_values : f.types;
    if (types & (TYPE_NULL | TYPE_BOOLEAN)) *out = false;
    if (*out && types & TYPE_NUMBER) TRY(numbers_are_empty(s, &f, out));
    if (*out && types & TYPE_STRING) TRY(texts_are_empty(s, &f, out));
    if (*out && types & TYPE_ARRAY) TRY(lists_are_empty(s, &f, depth, out));
    if (*out && types & TYPE_OBJECT) TRY(objects_are_empty(s, &f, depth, out));
    return WEFT_OK;
}

#endif
