/* The tests of `is`. SPDX-License-Identifier: MIT */
#include <string.h>

#include "template/run.h"
#include "template/strings.h"

static weft_status modulo_is(trun *R, tvalue v, tvalue divisor, int64_t wanted, tvalue *out) {
    tvalue rest;
    TRY(tpl_binary(R, OP_MOD, v, divisor, &rest));
    *out = tpl_bool(tpl_equal(rest, tpl_int(wanted)));
    return WEFT_OK;
}

static weft_status is_odd(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    return modulo_is(R, v, tpl_int(2), 1, out);
}
static weft_status is_even(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)args;
    return modulo_is(R, v, tpl_int(2), 0, out);
}
static weft_status is_divisible(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return modulo_is(R, v, args[0], 0, out);
}

static weft_status is_lower(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    TRY(tpl_to_string(&R->mem, v, &v));
    return string_islower(R, v, args, out);
}
static weft_status is_upper(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    TRY(tpl_to_string(&R->mem, v, &v));
    return string_isupper(R, v, args, out);
}

static weft_status is_defined(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type != T_UNDEFINED);
    return WEFT_OK;
}
static weft_status is_undefined(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_UNDEFINED);
    return WEFT_OK;
}
static weft_status is_none(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_NONE);
    return WEFT_OK;
}
static weft_status is_boolean(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_BOOL);
    return WEFT_OK;
}
static weft_status is_false(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_BOOL && !v.b);
    return WEFT_OK;
}
static weft_status is_true(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_BOOL && v.b);
    return WEFT_OK;
}
static weft_status is_integer(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_INT);
    return WEFT_OK;
}
static weft_status is_float(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_FLOAT);
    return WEFT_OK;
}
static weft_status is_string(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_STRING);
    return WEFT_OK;
}
static weft_status is_mapping(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_DICT);
    return WEFT_OK;
}
static weft_status is_number(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_INT || v.type == T_FLOAT || v.type == T_BOOL);
    return WEFT_OK;
}
static weft_status is_iterable(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(tpl_is_iterable(v));
    return WEFT_OK;
}
static weft_status is_escaped(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    *out = tpl_bool(v.type == T_STRING && v.s->safe);
    return WEFT_OK;
}

/* Has a length and can be indexed: dicts too. */
static weft_status is_sequence(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    int64_t n;
    *out = tpl_bool(v.type != T_VIEW && tpl_length(v, &n));
    return WEFT_OK;
}

static weft_status is_callable(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    switch (v.type) {
    case T_METHOD:
    case T_FUNCTION:
    case T_MACRO:
    case T_LOOP:
    case T_JOINER:
    case T_UNDEFINED: *out = tpl_bool(true); break;
    default: *out = tpl_bool(false);
    }
    return WEFT_OK;
}

static weft_status is_same(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    tvalue o = args[0];
    bool same = v.type == o.type;
    switch (v.type) {
    case T_NONE: break;
    case T_BOOL:
    case T_INT:
    case T_FLOAT: same = same && tpl_equal(v, o); break;
    case T_STRING: same = same && v.s->safe == o.s->safe && tpl_equal(v, o); break;
    default: same = same && v.p == o.p;
    }
    *out = tpl_bool(same);
    return WEFT_OK;
}

static weft_status is_in(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    bool found;
    TRY(tpl_contains(R, v, args[0], &found));
    *out = tpl_bool(found);
    return WEFT_OK;
}

static weft_status is_filter(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    uint64_t hash;
    if (!tpl_hash(v, &hash)) return tpl_fail("a '%s' cannot be a name", tpl_type_name(v));
    *out = tpl_bool(v.type == T_STRING && tpl_find_filter(v.s->data, v.s->n));
    return WEFT_OK;
}

static weft_status is_test(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    (void)R;
    (void)args;
    uint64_t hash;
    if (!tpl_hash(v, &hash)) return tpl_fail("a '%s' cannot be a name", tpl_type_name(v));
    *out = tpl_bool(v.type == T_STRING && tpl_find_test(v.s->data, v.s->n));
    return WEFT_OK;
}

static weft_status compare(trun *R, tpl_op op, tvalue v, const tvalue *args, tvalue *out) {
    bool result;
    TRY(tpl_compare_op(R, op, v, args[0], &result));
    *out = tpl_bool(result);
    return WEFT_OK;
}
static weft_status is_eq(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return compare(R, OP_EQ, v, args, out);
}
static weft_status is_ne(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return compare(R, OP_NE, v, args, out);
}
static weft_status is_lt(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return compare(R, OP_LT, v, args, out);
}
static weft_status is_le(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return compare(R, OP_LE, v, args, out);
}
static weft_status is_gt(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return compare(R, OP_GT, v, args, out);
}
static weft_status is_ge(trun *R, tvalue v, const tvalue *args, tvalue *out) {
    return compare(R, OP_GE, v, args, out);
}

static const tpl_row rows[] = {{"odd", "", is_odd, NULL, false},
                               {"even", "", is_even, NULL, false},
                               {"divisibleby", "num", is_divisible, NULL, false},
                               {"defined", "", is_defined, NULL, false},
                               {"undefined", "", is_undefined, NULL, false},
                               {"filter", "", is_filter, NULL, false},
                               {"test", "", is_test, NULL, false},
                               {"none", "", is_none, NULL, false},
                               {"boolean", "", is_boolean, NULL, false},
                               {"false", "", is_false, NULL, false},
                               {"true", "", is_true, NULL, false},
                               {"integer", "", is_integer, NULL, false},
                               {"float", "", is_float, NULL, false},
                               {"string", "", is_string, NULL, false},
                               {"mapping", "", is_mapping, NULL, false},
                               {"number", "", is_number, NULL, false},
                               {"iterable", "", is_iterable, NULL, false},
                               {"escaped", "", is_escaped, NULL, false},
                               {"lower", "", is_lower, NULL, false},
                               {"upper", "", is_upper, NULL, false},
                               {"sequence", "", is_sequence, NULL, false},
                               {"callable", "", is_callable, NULL, false},
                               {"sameas", "other", is_same, NULL, false},
                               {"in", "seq", is_in, NULL, false},
                               {"==", "/other", is_eq, NULL, false},
                               {"eq", "/other", is_eq, NULL, false},
                               {"equalto", "/other", is_eq, NULL, false},
                               {"!=", "/other", is_ne, NULL, false},
                               {"ne", "/other", is_ne, NULL, false},
                               {">", "/other", is_gt, NULL, false},
                               {"gt", "/other", is_gt, NULL, false},
                               {"greaterthan", "/other", is_gt, NULL, false},
                               {">=", "/other", is_ge, NULL, false},
                               {"ge", "/other", is_ge, NULL, false},
                               {"<", "/other", is_lt, NULL, false},
                               {"lt", "/other", is_lt, NULL, false},
                               {"lessthan", "/other", is_lt, NULL, false},
                               {"<=", "/other", is_le, NULL, false},
                               {"le", "/other", is_le, NULL, false}};

const tpl_row *tpl_find_test(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) return &rows[i];
    return NULL;
}
