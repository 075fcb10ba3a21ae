/* Expressions: the tree walked. A failure gets the line of the innermost node that failed.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "template/run.h"

tvalue *tpl_slot(tframe *frame, tplace place) {
    for (uint32_t i = 0; i < place.hops; i++) frame = frame->outer;
    return &frame->slots[place.slot];
}

static weft_status eval_list(trun *R, tframe *f, const tnodes *list, tpl_type type, tvalue *out) {
    tbuilder b = {0};
    for (size_t i = 0; i < list->n; i++) {
        tvalue item = tpl_none();
        TRY(tpl_eval(R, f, list->items[i], &item));
        TRY(tpl_push(&R->mem, &b, item));
    }
    return tpl_build(&R->mem, &b, type, out);
}

static weft_status eval_dict(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tdict *d;
    TRY(tpl_dict_new(&R->mem, &d));
    for (size_t i = 0; i + 1 < n->list.n; i += 2) {
        tvalue key, value;
        TRY(tpl_eval(R, f, n->list.items[i], &key));
        TRY(tpl_eval(R, f, n->list.items[i + 1], &value));
        TRY(tpl_dict_set(&R->mem, d, key, value));
    }
    *out = tpl_of_dict(d);
    return WEFT_OK;
}

/* Joined texts are plain text, whatever their parts were. */
static weft_status eval_concat(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tstring so_far = {"", 0, 0, false};
    for (size_t i = 0; i < n->list.n; i++) {
        tvalue item;
        TRY(tpl_eval(R, f, n->list.items[i], &item));
        TRY(tpl_to_string(&R->mem, item, &item));
        tstring part = *item.s;
        part.safe = false;
        TRY(tpl_work(R, part.n));
        TRY(tpl_concat(&R->mem, &so_far, &part, out));
        so_far = *out->s;
    }
    return WEFT_OK;
}

static weft_status eval_compare(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue left, right;
    TRY(tpl_eval(R, f, n->a, &left));
    bool result = true;
    for (size_t i = 0; i < n->list.n && result; i++) {
        TRY(tpl_eval(R, f, n->list.items[i]->a, &right));
        TRY(tpl_compare_op(R, n->list.items[i]->op, left, right, &result));
        left = right;
    }
    *out = tpl_bool(result);
    return WEFT_OK;
}

static weft_status eval_item(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue object, part[3] = {{.type = T_NONE}, {.type = T_NONE}, {.type = T_NONE}};
    TRY(tpl_eval(R, f, n->a, &object));
    if (n->b->kind != N_SLICE) {
        TRY(tpl_eval(R, f, n->b, &part[0]));
        return tpl_get_item(R, object, part[0], out);
    }
    const tnode *from[] = {n->b->a, n->b->b, n->b->c};
    for (int i = 0; i < 3; i++)
        if (from[i]) TRY(tpl_eval(R, f, from[i], &part[i]));
    /* computed before the template runs, Jinja takes what cannot be sliced for undefined */
    bool sliceable = object.type == T_STRING || object.type == T_LIST || object.type == T_TUPLE;
    if (n->flag && !sliceable && object.type != T_UNDEFINED)
        return tpl_undefined_of(&R->mem, object, tpl_none(), out);
    return tpl_get_slice(R, object, part, out);
}

static weft_status add_dynamic_keywords(trun *R, tvalue from, tkeyword **keywords, size_t *n) {
    if (from.type != T_DICT)
        return tpl_fail("'%s' object after ** is not a mapping", tpl_type_name(from));
    tkeyword *all = tpl_array(&R->mem, *n + from.d->n, sizeof *all);
    if (!all) return error_status();
    if (*n) memcpy(all, *keywords, *n * sizeof *all);
    for (size_t i = 0; i < from.d->n; i++) {
        tvalue key = from.d->entries[i].key;
        if (key.type != T_STRING) return tpl_fail("keywords must be strings");
        for (size_t k = 0; k < *n; k++)
            if (tpl_equal(tpl_of_string(all[k].name), key))
                return tpl_fail("a keyword argument is given twice");
        all[*n + i] = (tkeyword){key.s, from.d->entries[i].value};
    }
    *n += from.d->n;
    *keywords = all;
    return WEFT_OK;
}

weft_status tpl_eval_arguments(trun *R, tframe *f, const tnode *n, targs *out) {
    tbuilder b = {0};
    for (size_t i = 0; i < n->list.n; i++) {
        tvalue item;
        TRY(tpl_eval(R, f, n->list.items[i], &item));
        TRY(tpl_push(&R->mem, &b, item));
    }
    tkeyword *keywords = NULL;
    size_t n_keywords = n->list2.n;
    if (n_keywords) {
        keywords = tpl_array(&R->mem, n_keywords, sizeof *keywords);
        if (!keywords) return error_status();
    }
    for (size_t i = 0; i < n_keywords; i++) {
        keywords[i].name = n->list2.items[i]->name;
        TRY(tpl_eval(R, f, n->list2.items[i]->a, &keywords[i].value));
    }
    if (n->dyn_args) {
        tvalue more;
        TRY(tpl_eval(R, f, n->dyn_args, &more));
        TRY(tpl_items(R, more, &b));
    }
    if (n->dyn_kwargs) {
        tvalue more;
        TRY(tpl_eval(R, f, n->dyn_kwargs, &more));
        TRY(add_dynamic_keywords(R, more, &keywords, &n_keywords));
    }
    *out = (targs){b.items, b.n, keywords, n_keywords};
    return WEFT_OK;
}

static weft_status eval_call(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue function;
    targs args;
    TRY(tpl_eval(R, f, n->a, &function));
    TRY(tpl_eval_arguments(R, f, n, &args));
    return tpl_call(R, function, &args, out);
}

weft_status tpl_apply_filter(trun *R, tframe *f, const tnode *n, tvalue input, tvalue *out) {
    targs args;
    if (!n->row)
        return tpl_fail("no %s is named '%.*s'", n->kind == N_FILTER ? "filter" : "test",
                        tpl_shown(n->name->data, n->name->n, 60), n->name->data);
    TRY(tpl_eval_arguments(R, f, n, &args));
    return tpl_call_row(R, n->row, input, &args, out);
}

static weft_status eval_filter(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue input;
    TRY(tpl_eval(R, f, n->a, &input));
    return tpl_apply_filter(R, f, n, input, out);
}

static weft_status eval_condition(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue test;
    TRY(tpl_eval(R, f, n->b, &test));
    if (tpl_truth(test)) return tpl_eval(R, f, n->a, out);
    if (n->c) return tpl_eval(R, f, n->c, out);
    return tpl_undefined(&R->mem, "the inline if-expression was false and has no else", NULL, out);
}

static weft_status eval_binary(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue a, b;
    TRY(tpl_eval(R, f, n->a, &a));
    TRY(tpl_eval(R, f, n->b, &b));
    bool negative = (a.type == T_INT && a.i < 0) || (a.type == T_FLOAT && a.f < 0);
    if (!n->flag || !negative) return tpl_binary(R, n->op, a, b, out);
    TRY(tpl_negate(a, true, &a)); /* see the resolver */
    TRY(tpl_binary(R, n->op, a, b, out));
    return tpl_negate(*out, true, out);
}

static weft_status eval_logic(trun *R, tframe *f, const tnode *n, tvalue *out) {
    TRY(tpl_eval(R, f, n->a, out));
    if (tpl_truth(*out) == (n->kind == N_AND)) return tpl_eval(R, f, n->b, out);
    return WEFT_OK;
}

static weft_status eval_name(trun *R, tframe *f, const tnode *n, tvalue *out) {
    *out = *tpl_slot(f, n->place);
    return out->type == T_MISSING ? tpl_undefined(&R->mem, NULL, n->name, out) : WEFT_OK;
}

static weft_status eval_unary(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tvalue a;
    TRY(tpl_eval(R, f, n->a, &a));
    switch (n->kind) {
    case N_ATTRIBUTE: return tpl_get_attribute(R, a, n->name, out);
    case N_NOT: *out = tpl_bool(!tpl_truth(a)); return WEFT_OK;
    default: return tpl_negate(a, n->kind == N_NEGATIVE, out);
    }
}

static weft_status eval(trun *R, tframe *f, const tnode *n, tvalue *out) {
    switch (n->kind) {
    case N_CONST: *out = n->constant; return WEFT_OK;
    case N_NAME: return eval_name(R, f, n, out);
    case N_TUPLE: return eval_list(R, f, &n->list, T_TUPLE, out);
    case N_LIST: return eval_list(R, f, &n->list, T_LIST, out);
    case N_DICT: return eval_dict(R, f, n, out);
    case N_ATTRIBUTE:
    case N_POSITIVE:
    case N_NEGATIVE:
    case N_NOT: return eval_unary(R, f, n, out);
    case N_BINARY: return eval_binary(R, f, n, out);
    case N_AND:
    case N_OR: return eval_logic(R, f, n, out);
    case N_CONCAT: return eval_concat(R, f, n, out);
    case N_COMPARE: return eval_compare(R, f, n, out);
    case N_CONDITION: return eval_condition(R, f, n, out);
    case N_ITEM: return eval_item(R, f, n, out);
    case N_CALL: return eval_call(R, f, n, out);
    case N_FILTER:
    case N_TEST: return eval_filter(R, f, n, out);
    default: return tpl_fail("this cannot be evaluated");
    }
}

weft_status tpl_eval(trun *R, tframe *f, const tnode *n, tvalue *out) {
    weft_status status = tpl_enter_call(R);
    if (status == WEFT_OK) {
        status = tpl_step(R, 1);
        if (status == WEFT_OK) status = eval(R, f, n, out);
        R->depth--;
    }
    if (status != WEFT_OK && !R->located) {
        R->located = true;
        error_prefix(status, "line %d", n->line);
    }
    return status;
}
