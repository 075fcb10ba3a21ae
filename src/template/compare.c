/* Equality and order as Python has them: int and float compare by exact value, texts by code
 * points (which for UTF-8 is by bytes), lists and tuples by their first difference. Recursion
 * ends because values have a depth limit. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "template/run.h"
#include "template/value.h"

/* -1, 0, 1, or 2 when one of them is NaN. */
static int order_numbers(tvalue a, tvalue b) {
    int64_t i, j;
    if (tpl_as_int(a, &i) && tpl_as_int(b, &j)) return i < j ? -1 : i > j;
    if (a.type == T_FLOAT && b.type == T_FLOAT) {
        if (isnan(a.f) || isnan(b.f)) return 2;
        return a.f < b.f ? -1 : a.f > b.f;
    }
    bool swap = a.type == T_FLOAT;
    double f = swap ? a.f : b.f;
    tpl_as_int(swap ? b : a, &i);
    if (isnan(f)) return 2;
    int order;
    if (f >= 0x1p63) order = -1;
    else if (f < -0x1p63) order = 1;
    else {
        double whole = floor(f);
        int64_t w = (int64_t)whole;
        order = i < w ? -1 : i > w ? 1 : f > whole ? -1 : 0;
    }
    return swap ? -order : order;
}

static bool is_number(tvalue v) { return v.type == T_INT || v.type == T_FLOAT || v.type == T_BOOL; }

static bool equal_dicts(const tdict *a, const tdict *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        const tvalue *other = tpl_dict_get(b, a->entries[i].key);
        if (!other || !tpl_equal(a->entries[i].value, *other)) return false;
    }
    return true;
}

/* Views of keys and of items are sets: < and <= ask for a subset, of one kind in the other too. */
static bool view_has(const tview *view, tvalue element) {
    if (view->kind == VIEW_KEYS) return tpl_dict_get(view->dict, element) != NULL;
    if (element.type != T_TUPLE || element.l->n != 2) return false;
    const tvalue *value = tpl_dict_get(view->dict, element.l->items[0]);
    return value && tpl_equal(*value, element.l->items[1]);
}

static bool is_subset(const tview *a, const tview *b) {
    for (size_t i = 0; i < a->dict->n; i++) {
        tvalue pair[2] = {a->dict->entries[i].key, a->dict->entries[i].value};
        tlist list = {.items = pair, .n = 2};
        if (!view_has(b, a->kind == VIEW_ITEMS ? tpl_of_tuple(&list) : pair[0])) return false;
    }
    return true;
}

static bool is_set(tvalue v) { return v.type == T_VIEW && v.view->kind != VIEW_VALUES; }

bool tpl_equal(tvalue a, tvalue b) {
    if (is_number(a) && is_number(b)) return order_numbers(a, b) == 0;
    if (a.type != b.type) return false;
    switch (a.type) {
    case T_MISSING:
    case T_UNDEFINED:
    case T_NONE: return true;
    case T_STRING:
        return a.s->n == b.s->n && (a.s->n == 0 || memcmp(a.s->data, b.s->data, a.s->n) == 0);
    case T_LIST:
    case T_TUPLE:
        if (a.l->n != b.l->n) return false;
        for (size_t i = 0; i < a.l->n; i++)
            if (!tpl_equal(a.l->items[i], b.l->items[i])) return false;
        return true;
    case T_DICT: return equal_dicts(a.d, b.d);
    case T_RANGE: {
        const trange *x = a.range, *y = b.range;
        return x->n == y->n &&
               (x->n == 0 || (x->start == y->start && (x->n == 1 || x->step == y->step)));
    }
    case T_VIEW:
        if (a.view == b.view) return true;
        return is_set(a) && is_set(b) && a.view->dict->n == b.view->dict->n &&
               is_subset(a.view, b.view);
    case T_METHOD: return a.method->row == b.method->row && a.method->self.p == b.method->self.p;
    default: return a.p == b.p;
    }
}

static weft_status cannot(tvalue a, tvalue b, bool or_equal) {
    if (a.type == T_UNDEFINED) return tpl_undefined_fail(a);
    if (b.type == T_UNDEFINED) return tpl_undefined_fail(b);
    return error_set(WEFT_INVALID, "'%s' and '%s' cannot be compared with %s", tpl_type_name(a),
                     tpl_type_name(b), or_equal ? "<=" : "<");
}

static weft_status less_lists(const tlist *a, const tlist *b, bool or_equal, bool *out) {
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (!tpl_equal(a->items[i], b->items[i]))
            return tpl_less(a->items[i], b->items[i], or_equal, out);
    *out = or_equal ? a->n <= b->n : a->n < b->n;
    return WEFT_OK;
}

weft_status tpl_less(tvalue a, tvalue b, bool or_equal, bool *out) {
    if (is_number(a) && is_number(b)) {
        int order = order_numbers(a, b);
        *out = order == -1 || (or_equal && order == 0);
        return WEFT_OK;
    }
    if (a.type == T_STRING && b.type == T_STRING) {
        size_t n = a.s->n < b.s->n ? a.s->n : b.s->n;
        int order = n ? memcmp(a.s->data, b.s->data, n) : 0;
        if (order == 0) order = a.s->n < b.s->n ? -1 : a.s->n > b.s->n;
        *out = order < 0 || (or_equal && order == 0);
        return WEFT_OK;
    }
    if (a.type == b.type && (a.type == T_LIST || a.type == T_TUPLE))
        return less_lists(a.l, b.l, or_equal, out);
    if (is_set(a) && is_set(b)) {
        size_t n = a.view->dict->n, m = b.view->dict->n;
        *out = (or_equal ? n <= m : n < m) && is_subset(a.view, b.view);
        return WEFT_OK;
    }
    return cannot(a, b, or_equal);
}
