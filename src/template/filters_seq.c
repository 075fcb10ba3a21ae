/* Filters over sequences. Those that Python writes as generators (map, select, reject, their
 * attr forms, batch, slice, unique, items) are lazy here too: an error in an item nobody asks
 * for is no error. SPDX-License-Identifier: MIT */
#include "template/filters.h"

#include <string.h>

/* ---- attributes by path: "a.b.0" ---- */

static weft_status add_part(trun *R, tbuilder *parts, const char *text, size_t n) {
    bool digits = n > 0 && n < 18;
    int64_t number = 0;
    for (size_t i = 0; i < n && digits; i++) {
        digits = text[i] >= '0' && text[i] <= '9';
        number = number * 10 + (text[i] - '0');
    }
    tvalue part;
    if (digits) part = tpl_int(number);
    else TRY(tpl_string(&R->mem, text, n, &part));
    return tpl_push(&R->mem, parts, part);
}

static weft_status attribute_path(trun *R, tvalue attribute, tvalue *out) {
    tbuilder parts = {0};
    if (attribute.type == T_STRING) {
        const char *from = attribute.s->data, *end = from + attribute.s->n;
        for (const char *p = from;; p++) {
            if (p < end && *p != '.') continue;
            TRY(add_part(R, &parts, from, (size_t)(p - from)));
            if (p == end) break;
            from = p + 1;
        }
    } else if (attribute.type != T_NONE && attribute.type != T_MISSING)
        TRY(tpl_push(&R->mem, &parts, attribute));
    return tpl_build(&R->mem, &parts, T_TUPLE, out);
}

static weft_status follow(trun *R, tvalue path, tvalue item, tvalue fallback, bool fold,
                          tvalue *out) {
    bool has_fallback = fallback.type != T_MISSING && fallback.type != T_NONE;
    for (size_t i = 0; i < path.l->n; i++) {
        TRY(tpl_get_item(R, item, path.l->items[i], &item));
        if (has_fallback && item.type == T_UNDEFINED) item = fallback;
    }
    if (fold && item.type == T_STRING) TRY(tpl_change_case(R, item.s, CASE_LOWER, &item));
    *out = item;
    return WEFT_OK;
}

/* ---- map, select, reject ---- */

static weft_status apply_named(trun *R, titerator *it, tvalue item, bool filter, tvalue *out) {
    if (it->name.type != T_STRING)
        return tpl_fail("a filter or test is given by name, not by '%s'", tpl_type_name(it->name));
    const tstring *name = it->name.s;
    const tpl_row *row =
        filter ? tpl_find_filter(name->data, name->n) : tpl_find_test(name->data, name->n);
    if (!row)
        return tpl_fail("no %s is named '%.*s'", filter ? "filter" : "test",
                        tpl_shown(name->data, name->n, 60), name->data);
    TRY(tpl_enter_call(R));
    weft_status status = tpl_call_row(R, row, item, &it->args, out);
    R->depth--;
    return status;
}

static weft_status next_mapped(trun *R, titerator *it, tvalue *out, bool *end) {
    tvalue item;
    if (!it->source) { /* opened only when it is first read, and only if there is something in it */
        *end = !tpl_truth(it->over);
        if (*end) return WEFT_OK;
        TRY(tpl_iterate(R, it->over, &it->source));
    }
    TRY(tpl_next(R, it->source, &item, end));
    if (*end) return WEFT_OK;
    if (it->flag) return follow(R, it->name, item, it->state, false, out);
    return apply_named(R, it, item, true, out);
}

static weft_status next_selected(trun *R, titerator *it, tvalue *out, bool *end) {
    if (!it->source) {
        *end = !tpl_truth(it->over);
        if (*end) return WEFT_OK;
        TRY(tpl_iterate(R, it->over, &it->source));
    }
    for (;;) {
        tvalue subject, result;
        TRY(tpl_next(R, it->source, out, end));
        if (*end) return WEFT_OK;
        subject = *out;
        if (it->flag) TRY(follow(R, it->state, subject, tpl_none(), false, &subject));
        result = subject;
        if (it->name.type != T_MISSING) TRY(apply_named(R, it, subject, false, &result));
        if (tpl_truth(result) != it->negate) return WEFT_OK;
    }
}

static weft_status new_lazy(trun *R, tvalue over, titerator **out) {
    TRY(tpl_iterator_new(R, NULL, out));
    TRY(tpl_check_container(tpl_depth(over) + 1, 1));
    (*out)->over = over;
    (*out)->depth = tpl_depth(over) + 1;
    return WEFT_OK;
}

static weft_status fail_when_read(trun *R, titerator *it, tvalue *out, bool *end) {
    (void)R;
    (void)out;
    *end = !tpl_truth(it->over);
    return *end ? WEFT_OK : tpl_fail("%s", (const char *)it->extra);
}

static const tvalue *keyword(const targs *args, const char *name) {
    for (size_t i = 0; i < args->n_keywords; i++)
        if (tpl_string_is(args->keywords[i].name, name)) return &args->keywords[i].value;
    return NULL;
}

weft_status filter_map(trun *R, tvalue v, const targs *args, tvalue *out) {
    titerator *it;
    TRY(new_lazy(R, v, &it));
    *out = tpl_of_iterator(it);
    it->next = next_mapped;
    const tvalue *attribute = args->n ? NULL : keyword(args, "attribute"),
                 *fallback = keyword(args, "default");
    if (attribute) {
        it->flag = true;
        it->state = fallback ? *fallback : (tvalue){.type = T_MISSING};
        if (args->n_keywords == (fallback ? 2u : 1u))
            return attribute_path(R, *attribute, &it->name);
        it->next = fail_when_read;
        it->extra = "map(attribute=...) takes 'default' and no other argument";
    } else if (!args->n) {
        it->next = fail_when_read;
        it->extra = "map needs the name of a filter";
    } else {
        it->name = args->items[0];
        it->args = (targs){args->items + 1, args->n - 1, args->keywords, args->n_keywords};
    }
    return WEFT_OK;
}

static weft_status select_by(trun *R, tvalue v, const targs *args, bool by_attribute, bool negate,
                             tvalue *out) {
    titerator *it;
    TRY(new_lazy(R, v, &it));
    *out = tpl_of_iterator(it);
    it->next = next_selected;
    it->flag = by_attribute;
    it->negate = negate;
    size_t at = by_attribute;
    if (args->n < at) {
        it->next = fail_when_read;
        it->extra = "the name of the attribute is missing";
        return WEFT_OK;
    }
    if (by_attribute) TRY(attribute_path(R, args->items[0], &it->state));
    if (args->n <= at) return WEFT_OK;
    it->name = args->items[at];
    it->args = (targs){args->items + at + 1, args->n - at - 1, args->keywords, args->n_keywords};
    return WEFT_OK;
}

weft_status filter_select(trun *R, tvalue v, const targs *args, tvalue *out) {
    return select_by(R, v, args, false, false, out);
}
weft_status filter_reject(trun *R, tvalue v, const targs *args, tvalue *out) {
    return select_by(R, v, args, false, true, out);
}
weft_status filter_selectattr(trun *R, tvalue v, const targs *args, tvalue *out) {
    return select_by(R, v, args, true, false, out);
}
weft_status filter_rejectattr(trun *R, tvalue v, const targs *args, tvalue *out) {
    return select_by(R, v, args, true, true, out);
}

/* ---- batch, slice, unique, items, reverse ---- */

static weft_status open_source(trun *R, titerator *it) {
    return it->source ? WEFT_OK : tpl_iterate(R, it->over, &it->source);
}

static weft_status next_batch(trun *R, titerator *it, tvalue *out, bool *end) {
    TRY(open_source(R, it));
    tbuilder b = {0};
    bool stop = false;
    int64_t size = it->state.i;
    if (it->flag) { /* the item that did not fit the batch before */
        TRY(tpl_push(&R->mem, &b, it->name));
        it->flag = false;
    }
    while (!stop) {
        tvalue item;
        TRY(tpl_next(R, it->source, &item, &stop));
        if (stop) break;
        if ((int64_t)b.n == size) {
            it->name = item;
            it->flag = true;
            return tpl_build(&R->mem, &b, T_LIST, out);
        }
        TRY(tpl_push(&R->mem, &b, item));
    }
    *end = b.n == 0;
    if (*end) return WEFT_OK;
    tvalue fill = it->args.items[0];
    while (fill.type != T_NONE && (int64_t)b.n < size) TRY(tpl_push(&R->mem, &b, fill));
    return tpl_build(&R->mem, &b, T_LIST, out);
}

static weft_status keep_fill(trun *R, titerator *it, tvalue fill) {
    tvalue *kept = tpl_alloc(&R->mem, sizeof *kept);
    if (!kept) return error_status();
    *kept = fill.type == T_MISSING ? tpl_none() : fill;
    it->args.items = kept;
    return WEFT_OK;
}

weft_status filter_batch(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    titerator *it;
    TRY(new_lazy(R, v, &it));
    it->next = next_batch;
    double size;
    if (!tpl_as_float(args[0], &size)) return tpl_fail("batch needs a number of items");
    it->state = tpl_int(size == (double)(int64_t)size ? (int64_t)size : -1);
    *out = tpl_of_iterator(it);
    return keep_fill(R, it, args[1]);
}

static weft_status next_slice(trun *R, titerator *it, tvalue *out, bool *end) {
    if (!it->source) {
        tbuilder all = {0};
        TRY(tpl_items(R, it->over, &all));
        TRY(tpl_build(&R->mem, &all, T_LIST, &it->name));
        TRY(tpl_iterate(R, it->name, &it->source));
        if (it->state.i == 0) return tpl_fail("division by zero");
    }
    int64_t slices = it->state.i, n = (int64_t)it->name.l->n, number = (int64_t)it->count;
    *end = number >= slices;
    if (*end) return WEFT_OK;
    int64_t size = n / slices, extra = n % slices, start = (int64_t)it->at + number * size;
    if (number < extra) it->at++;
    int64_t stop = (int64_t)it->at + (number + 1) * size;
    tbuilder b = {0};
    for (int64_t i = start; i < stop && i < n; i++)
        TRY(tpl_push(&R->mem, &b, it->name.l->items[i]));
    if (it->args.items[0].type != T_NONE && number >= extra)
        TRY(tpl_push(&R->mem, &b, it->args.items[0]));
    it->count++;
    return tpl_build(&R->mem, &b, T_LIST, out);
}

weft_status filter_slice(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    titerator *it;
    TRY(new_lazy(R, v, &it));
    it->next = next_slice;
    int64_t slices;
    if (!tpl_as_int(args[0], &slices)) return tpl_fail("slice needs a number of slices");
    it->state = tpl_int(slices);
    *out = tpl_of_iterator(it);
    return keep_fill(R, it, args[1]);
}

static weft_status next_unique(trun *R, titerator *it, tvalue *out, bool *end) {
    TRY(open_source(R, it));
    tdict *seen = it->extra;
    for (;;) {
        tvalue key;
        uint64_t hash;
        TRY(tpl_next(R, it->source, out, end));
        if (*end) return WEFT_OK;
        TRY(follow(R, it->name, *out, tpl_none(), it->flag, &key));
        if (!tpl_hash(key, &hash))
            return tpl_fail("unique does not work on '%s'", tpl_type_name(key));
        if (tpl_dict_get(seen, key)) continue;
        return tpl_dict_set(&R->mem, seen, key, tpl_none());
    }
}

weft_status filter_unique(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    titerator *it;
    tdict *seen;
    TRY(new_lazy(R, v, &it));
    TRY(tpl_dict_new(&R->mem, &seen));
    it->next = next_unique;
    it->extra = seen;
    it->flag = !tpl_truth(args[0]);
    *out = tpl_of_iterator(it);
    return attribute_path(R, args[1], &it->name);
}

static weft_status next_pair(trun *R, titerator *it, tvalue *out, bool *end) {
    *end = it->over.type == T_UNDEFINED;
    if (*end) return WEFT_OK;
    if (it->over.type != T_DICT)
        return tpl_fail("items works on a mapping only, not on '%s'", tpl_type_name(it->over));
    *end = it->at >= it->over.d->n;
    if (*end) return WEFT_OK;
    const tentry *e = &it->over.d->entries[it->at++];
    return tpl_pair(&R->mem, e->key, e->value, out);
}

weft_status filter_items(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    titerator *it;
    TRY(new_lazy(R, v, &it));
    it->next = next_pair;
    *out = tpl_of_iterator(it);
    return WEFT_OK;
}

weft_status filter_reverse(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    if (v.type == T_STRING) {
        tvalue part[3] = {tpl_none(), tpl_none(), tpl_int(-1)};
        return tpl_get_slice(R, v, part, out);
    }
    tbuilder b = {0};
    TRY(tpl_items(R, v, &b));
    for (size_t i = 0; i < b.n / 2; i++) {
        tvalue swap = b.items[i];
        b.items[i] = b.items[b.n - 1 - i];
        b.items[b.n - 1 - i] = swap;
    }
    TRY(tpl_build(&R->mem, &b, T_LIST, out));
    /* what Python can reverse it reverses lazily; the rest becomes a list */
    if (v.type == T_ITERATOR) return WEFT_OK;
    titerator *it;
    TRY(tpl_iterate(R, *out, &it));
    *out = tpl_of_iterator(it);
    return WEFT_OK;
}

/* ---- sort and its like ---- */

typedef struct keyed {
    tvalue key, item;
} keyed;

static weft_status merge_sort(trun *R, keyed *a, keyed *scratch, size_t n, bool reverse) {
    if (n < 2) return WEFT_OK;
    size_t half = n / 2, i = 0, j = half, k = 0;
    TRY(merge_sort(R, a, scratch, half, reverse));
    TRY(merge_sort(R, a + half, scratch, n - half, reverse));
    while (i < half && j < n) {
        bool later;
        TRY(tpl_step(R, 1 + tpl_weight(a[i].key) / 8));
        if (reverse) TRY(tpl_less(a[i].key, a[j].key, false, &later));
        else TRY(tpl_less(a[j].key, a[i].key, false, &later));
        scratch[k++] = later ? a[j++] : a[i++];
    }
    while (i < half) scratch[k++] = a[i++];
    while (j < n) scratch[k++] = a[j++];
    memcpy(a, scratch, n * sizeof *a);
    return WEFT_OK;
}

static weft_status new_keyed(trun *R, size_t n, keyed **out) {
    *out = tpl_array(&R->mem, n * 2 + 1, sizeof **out);
    return *out ? WEFT_OK : error_status();
}

static weft_status list_of(trun *R, const keyed *a, size_t n, tvalue *out) {
    tbuilder b = {0};
    for (size_t i = 0; i < n; i++) TRY(tpl_push(&R->mem, &b, a[i].item));
    return tpl_build(&R->mem, &b, T_LIST, out);
}

/* The key of sort: the list of the attributes "a,b". */
static weft_status sort_key(trun *R, const tbuilder *paths, tvalue item, bool fold, tvalue *out) {
    tbuilder key = {0};
    for (size_t i = 0; i < paths->n; i++) {
        tvalue part;
        TRY(follow(R, paths->items[i], item, tpl_none(), fold, &part));
        TRY(tpl_push(&R->mem, &key, part));
    }
    return tpl_build(&R->mem, &key, T_LIST, out);
}

static weft_status split_paths(trun *R, tvalue attribute, tbuilder *out) {
    tvalue path;
    if (attribute.type != T_STRING) {
        TRY(attribute_path(R, attribute, &path));
        return tpl_push(&R->mem, out, path);
    }
    const char *from = attribute.s->data, *end = from + attribute.s->n;
    for (const char *p = from;; p++) {
        if (p < end && *p != ',') continue;
        tvalue one;
        TRY(tpl_string(&R->mem, from, (size_t)(p - from), &one));
        TRY(attribute_path(R, one, &path));
        TRY(tpl_push(&R->mem, out, path));
        if (p == end) return WEFT_OK;
        from = p + 1;
    }
}

weft_status filter_sort(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    tbuilder paths = {0}, items = {0};
    keyed *a;
    TRY(split_paths(R, args[2], &paths));
    TRY(tpl_items(R, v, &items));
    TRY(new_keyed(R, items.n, &a));
    for (size_t i = 0; i < items.n; i++) {
        a[i].item = items.items[i];
        TRY(sort_key(R, &paths, a[i].item, !tpl_truth(args[1]), &a[i].key));
    }
    TRY(merge_sort(R, a, a + items.n, items.n, tpl_truth(args[0])));
    return list_of(R, a, items.n, out);
}

weft_status filter_dictsort(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    bool by_value = false;
    if (args[1].type == T_STRING && tpl_string_is(args[1].s, "value")) by_value = true;
    else if (args[1].type != T_MISSING &&
             !(args[1].type == T_STRING && tpl_string_is(args[1].s, "key")))
        return tpl_fail("dictsort sorts by \"key\" or \"value\"");
    if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    if (v.type != T_DICT)
        return tpl_fail("dictsort works on a dict only, not on '%s'", tpl_type_name(v));
    keyed *a;
    size_t n = v.d->n;
    TRY(new_keyed(R, n, &a));
    for (size_t i = 0; i < n; i++) {
        const tentry *e = &v.d->entries[i];
        TRY(tpl_pair(&R->mem, e->key, e->value, &a[i].item));
        a[i].key = by_value ? e->value : e->key;
        if (!tpl_truth(args[0]) && a[i].key.type == T_STRING)
            TRY(tpl_change_case(R, a[i].key.s, CASE_LOWER, &a[i].key));
    }
    TRY(merge_sort(R, a, a + n, n, tpl_truth(args[2])));
    return list_of(R, a, n, out);
}

weft_status filter_groupby(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    tvalue path;
    tbuilder items = {0}, groups = {0};
    keyed *a;
    bool fold = !tpl_truth(args[2]);
    TRY(attribute_path(R, args[0], &path));
    TRY(tpl_items(R, v, &items));
    TRY(new_keyed(R, items.n, &a));
    for (size_t i = 0; i < items.n; i++) {
        a[i].item = items.items[i];
        TRY(follow(R, path, a[i].item, args[1], fold, &a[i].key));
    }
    TRY(merge_sort(R, a, a + items.n, items.n, false));
    for (size_t i = 0; i < items.n;) {
        size_t from = i;
        while (i < items.n && tpl_equal(a[i].key, a[from].key)) i++;
        tvalue list, key = a[from].key, pair;
        TRY(list_of(R, a + from, i - from, &list));
        if (fold) TRY(follow(R, path, a[from].item, args[1], false, &key));
        TRY(tpl_pair(&R->mem, key, list, &pair));
        tlist *grouped = tpl_alloc(&R->mem, sizeof *grouped);
        if (!grouped) return error_status();
        *grouped = *pair.l;
        grouped->grouped = true;
        TRY(tpl_push(&R->mem, &groups, tpl_of_tuple(grouped)));
    }
    return tpl_build(&R->mem, &groups, T_LIST, out);
}

static weft_status extreme(trun *R, tvalue v, const tvalue *args, bool largest, tvalue *out) {
    titerator *it;
    tvalue path, item, key, best_key = {.type = T_MISSING};
    TRY(attribute_path(R, args[1], &path));
    TRY(tpl_iterate(R, v, &it));
    for (;;) {
        bool end, better = true;
        TRY(tpl_next(R, it, &item, &end));
        if (end) break;
        TRY(follow(R, path, item, tpl_none(), !tpl_truth(args[0]), &key));
        if (best_key.type != T_MISSING) {
            if (largest) TRY(tpl_less(best_key, key, false, &better));
            else TRY(tpl_less(key, best_key, false, &better));
        }
        if (!better) continue;
        best_key = key;
        *out = item;
    }
    if (best_key.type != T_MISSING) return WEFT_OK;
    return tpl_undefined(&R->mem, "no aggregated item, the sequence was empty", NULL, out);
}

weft_status filter_min(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return extreme(R, v, args, false, out);
}
weft_status filter_max(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return extreme(R, v, args, true, out);
}

weft_status filter_sum(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    titerator *it;
    tvalue path, item;
    TRY(attribute_path(R, args[0], &path));
    *out = args[1].type == T_MISSING ? tpl_int(0) : args[1];
    if (out->type == T_STRING) return tpl_fail("sum cannot add texts, use join");
    TRY(tpl_iterate(R, v, &it));
    for (;;) {
        bool end;
        TRY(tpl_next(R, it, &item, &end));
        if (end) return WEFT_OK;
        TRY(follow(R, path, item, tpl_none(), false, &item));
        TRY(tpl_binary(R, OP_ADD, *out, item, out));
    }
}

/* ---- first, last, list, length, join ---- */

weft_status filter_first(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    titerator *it;
    bool end;
    TRY(tpl_iterate(R, v, &it));
    TRY(tpl_next(R, it, out, &end));
    return end ? tpl_undefined(&R->mem, "no first item, the sequence was empty", NULL, out)
               : WEFT_OK;
}

weft_status filter_last(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    if (v.type == T_ITERATOR || v.type == T_LOOP)
        return tpl_fail("'%s' object is not reversible", tpl_type_name(v));
    tbuilder b = {0};
    TRY(tpl_items(R, v, &b));
    if (!b.n) return tpl_undefined(&R->mem, "no last item, the sequence was empty", NULL, out);
    *out = b.items[b.n - 1];
    return WEFT_OK;
}

weft_status filter_list(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    tbuilder b = {0};
    TRY(tpl_items(R, v, &b));
    return tpl_build(&R->mem, &b, T_LIST, out);
}

weft_status filter_length(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    int64_t n;
    if (v.type == T_LOOP) TRY(tpl_loop_length(R, v.loop, &n));
    else if (!tpl_length(v, &n)) return tpl_fail("'%s' object has no length", tpl_type_name(v));
    *out = tpl_int(n);
    return WEFT_OK;
}

static weft_status join_into(trun *R, titerator *it, tvalue path, const tstring *separator,
                             str *text) {
    for (bool first = true;; first = false) {
        tvalue item;
        bool end;
        TRY(tpl_next(R, it, &item, &end));
        if (end) return WEFT_OK;
        TRY(follow(R, path, item, tpl_none(), false, &item));
        if (!first) TRY(str_append(text, separator->data, separator->n));
        size_t before = text->n;
        TRY(tpl_step(R, tpl_weight(item)));
        TRY(tpl_str(item, text));
        TRY(tpl_work(R, text->n - before));
        REQUIRE(text->n <= TPL_MAX_STRING, WEFT_LIMIT,
                "a text is longer than the limit of %d bytes", (int)TPL_MAX_STRING);
    }
}

weft_status filter_join(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    titerator *it;
    tvalue path, separator = args[0];
    TRY(attribute_path(R, args[1], &path));
    if (separator.type == T_MISSING) TRY(tpl_string(&R->mem, "", 0, &separator));
    TRY(tpl_to_string(&R->mem, separator, &separator));
    TRY(tpl_iterate(R, v, &it));
    str text = {0};
    weft_status status = join_into(R, it, path, separator.s, &text);
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}
