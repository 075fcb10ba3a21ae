/* Iteration. Everything iterable becomes an iterator that gives one value after another;
 * generators (what map, select, batch and their like return) are such iterators themselves, lazy
 * and read once, as in Python. SPDX-License-Identifier: MIT */
#include "template/run.h"

static weft_status next_item(trun *R, titerator *it, tvalue *out, bool *end) {
    (void)R;
    *end = it->at >= it->over.l->n;
    if (!*end) *out = it->over.l->items[it->at++];
    return WEFT_OK;
}

static weft_status next_char(trun *R, titerator *it, tvalue *out, bool *end) {
    const tstring *s = it->over.s;
    *end = it->at >= s->n;
    if (*end) return WEFT_OK;
    size_t n = 1;
    while (it->at + n < s->n && ((unsigned char)s->data[it->at + n] & 0xC0) == 0x80) n++;
    it->at += n;
    return tpl_string_take(&R->mem, s->data + it->at - n, n, false, out);
}

static weft_status next_entry(trun *R, titerator *it, tvalue *out, bool *end) {
    bool is_view = it->over.type == T_VIEW;
    const tdict *d = is_view ? it->over.view->dict : it->over.d;
    *end = it->at >= d->n;
    if (*end) return WEFT_OK;
    const tentry *e = &d->entries[it->at++];
    if (is_view && it->over.view->kind == VIEW_ITEMS)
        return tpl_pair(&R->mem, e->key, e->value, out);
    *out = is_view && it->over.view->kind == VIEW_VALUES ? e->value : e->key;
    return WEFT_OK;
}

static weft_status next_number(trun *R, titerator *it, tvalue *out, bool *end) {
    (void)R;
    const trange *r = it->over.range;
    *end = (int64_t)it->at >= r->n;
    if (!*end) *out = tpl_int(r->start + (int64_t)it->at++ * r->step);
    return WEFT_OK;
}

static weft_status next_nothing(trun *R, titerator *it, tvalue *out, bool *end) {
    (void)R;
    (void)it;
    (void)out;
    *end = true;
    return WEFT_OK;
}

tvalue tpl_of_iterator(titerator *it) { return (tvalue){.type = T_ITERATOR, .it = it}; }

weft_status tpl_iterator_new(trun *R, titerator *source, titerator **out) {
    int depth = source ? source->depth + 1 : 1;
    TRY(tpl_check_container(depth, 1));
    *out = tpl_alloc(&R->mem, sizeof **out);
    if (!*out) return error_status();
    (*out)->source = source;
    (*out)->depth = depth;
    return WEFT_OK;
}

bool tpl_is_iterable(tvalue v) {
    switch (v.type) {
    case T_STRING:
    case T_LIST:
    case T_TUPLE:
    case T_DICT:
    case T_VIEW:
    case T_RANGE:
    case T_ITERATOR:
    case T_LOOP:
    case T_UNDEFINED: return true;
    default: return false;
    }
}

weft_status tpl_iterate(trun *R, tvalue v, titerator **out) {
    if (v.type == T_ITERATOR) {
        *out = v.it;
        return WEFT_OK;
    }
    if (v.type == T_LOOP)
        return error_set(WEFT_UNSUPPORTED, "iterating over 'loop' itself is not supported");
    if (!tpl_is_iterable(v)) return tpl_fail("'%s' object is not iterable", tpl_type_name(v));
    TRY(tpl_iterator_new(R, NULL, out));
    titerator *it = *out;
    it->over = v;
    it->depth = tpl_depth(v);
    switch (v.type) {
    case T_STRING: it->next = next_char; break;
    case T_LIST:
    case T_TUPLE: it->next = next_item; break;
    case T_DICT:
    case T_VIEW: it->next = next_entry; break;
    case T_RANGE: it->next = next_number; break;
    default: it->next = next_nothing;
    }
    return WEFT_OK;
}

weft_status tpl_next(trun *R, titerator *it, tvalue *out, bool *end) {
    TRY(tpl_step(R, 1));
    *end = it->finished;
    if (*end) return WEFT_OK;
    TRY(it->next(R, it, out, end));
    if (*end) it->finished = true;
    return WEFT_OK;
}

weft_status tpl_items(trun *R, tvalue v, tbuilder *out) {
    titerator *it;
    TRY(tpl_iterate(R, v, &it));
    for (;;) {
        tvalue item;
        bool end;
        TRY(tpl_next(R, it, &item, &end));
        if (end) return WEFT_OK;
        TRY(tpl_push(&R->mem, out, item));
    }
}
