/* Operators with Python's meaning: floor division and modulo take the divisor's sign, bool
 * counts as int, texts and lists add and repeat, % formats a text, safe text escapes what it
 * meets. Integers are 64-bit; where Python's would grow beyond, an error says so.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "template/run.h"

static weft_status overflow(void) {
    return tpl_fail("integer overflow: the result does not fit 64 bits");
}
static weft_status zero(void) { return tpl_fail("division by zero"); }

static const char *const op_text[] = {
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

static weft_status cannot(tpl_op op, tvalue a, tvalue b) {
    if (a.type == T_UNDEFINED) return tpl_undefined_fail(a);
    if (b.type == T_UNDEFINED) return tpl_undefined_fail(b);
    return tpl_fail("%s does not work on '%s' and '%s'", op_text[op], tpl_type_name(a),
                    tpl_type_name(b));
}

/* ---- numbers ---- */

static weft_status int_power(int64_t a, int64_t b, tvalue *out) {
    int64_t result = 1;
    for (;;) {
        if (b & 1 && __builtin_mul_overflow(result, a, &result)) return overflow();
        b >>= 1;
        if (!b) break;
        if (__builtin_mul_overflow(a, a, &a)) return overflow();
    }
    *out = tpl_int(result);
    return WEFT_OK;
}

static weft_status float_power(double a, double b, tvalue *out) {
    if (a == 0 && b < 0) return tpl_fail("0.0 cannot be raised to a negative power");
    if (a < 0 && isfinite(a) && isfinite(b) && floor(b) != b)
        return tpl_fail("complex numbers are not supported");
    double r = pow(a, b);
    if (isinf(r) && isfinite(a) && isfinite(b))
        return tpl_fail("the result is too large for a float");
    *out = tpl_float(r);
    return WEFT_OK;
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static weft_status int_op(tpl_op op, int64_t a, int64_t b, tvalue *out) {
    int64_t r = 0;
    bool over = false;
    switch (op) {
    case OP_ADD: over = __builtin_add_overflow(a, b, &r); break;
    case OP_SUB: over = __builtin_sub_overflow(a, b, &r); break;
    case OP_MUL: over = __builtin_mul_overflow(a, b, &r); break;
    case OP_POW:
        if (b >= 0) return int_power(a, b, out);
        return float_power((double)a, (double)b, out);
    default:
        if (b == 0) return zero();
        if (op == OP_DIV) {
            *out = tpl_float((double)((long double)a / (long double)b));
            return WEFT_OK;
        }
        if (b == -1) {
            over = op == OP_FLOORDIV && __builtin_sub_overflow((int64_t)0, a, &r);
            break;
        }
        r = op == OP_FLOORDIV ? floor_div(a, b) : a - floor_div(a, b) * b;
    }
    if (over) return overflow();
    *out = tpl_int(r);
    return WEFT_OK;
}

static weft_status float_divmod(tpl_op op, double a, double b, tvalue *out) {
    if (b == 0) return zero();
    double mod = fmod(a, b), quotient = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            quotient -= 1;
        }
    } else mod = copysign(0, b);
    if (op == OP_MOD) {
        *out = tpl_float(mod);
        return WEFT_OK;
    }
    double whole = copysign(0, a / b);
    if (quotient != 0) {
        whole = floor(quotient);
        if (quotient - whole > 0.5) whole += 1;
    }
    *out = tpl_float(whole);
    return WEFT_OK;
}

static weft_status float_op(tpl_op op, double a, double b, tvalue *out) {
    switch (op) {
    case OP_ADD: *out = tpl_float(a + b); return WEFT_OK;
    case OP_SUB: *out = tpl_float(a - b); return WEFT_OK;
    case OP_MUL: *out = tpl_float(a * b); return WEFT_OK;
    case OP_POW: return float_power(a, b, out);
    case OP_DIV:
        if (b == 0) return zero();
        *out = tpl_float(a / b);
        return WEFT_OK;
    default: return float_divmod(op, a, b, out);
    }
}

weft_status tpl_negate(tvalue v, bool minus, tvalue *out) {
    int64_t i;
    if (v.type == T_FLOAT) *out = tpl_float(minus ? -v.f : v.f);
    else if (tpl_as_int(v, &i)) {
        if (minus && i == INT64_MIN) return overflow();
        *out = tpl_int(minus ? -i : i);
    } else if (v.type == T_UNDEFINED) return tpl_undefined_fail(v);
    else return tpl_fail("a sign does not work on '%s'", tpl_type_name(v));
    return WEFT_OK;
}

/* ---- texts and lists ---- */

weft_status tpl_escape(trun *R, tvalue v, tvalue *out) {
    TRY(tpl_to_string(&R->mem, v, &v));
    *out = v;
    if (v.s->safe) return WEFT_OK;
    TRY(tpl_work(R, v.s->n));
    str text = {0};
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < v.s->n && status == WEFT_OK; i++) {
        switch (v.s->data[i]) {
        case '&': status = str_text_append(&text, "&amp;"); break;
        case '<': status = str_text_append(&text, "&lt;"); break;
        case '>': status = str_text_append(&text, "&gt;"); break;
        case '\'': status = str_text_append(&text, "&#39;"); break;
        case '"': status = str_text_append(&text, "&#34;"); break;
        default: status = str_char(&text, v.s->data[i]);
        }
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, true, out);
    str_free(&text);
    return status;
}

static weft_status add_texts(trun *R, tvalue a, tvalue b, tvalue *out) {
    if (a.s->safe || b.s->safe) {
        TRY(tpl_escape(R, a, &a));
        TRY(tpl_escape(R, b, &b));
    }
    TRY(tpl_work(R, a.s->n + b.s->n));
    return tpl_concat(&R->mem, a.s, b.s, out);
}

static weft_status add_lists(trun *R, tvalue a, tvalue b, tvalue *out) {
    size_t n = a.l->n + b.l->n;
    REQUIRE(n <= TPL_MAX_ITEMS, WEFT_LIMIT, "a list has more items than the limit of %d",
            (int)TPL_MAX_ITEMS);
    TRY(tpl_step(R, n));
    tbuilder sum = {tpl_array(&R->mem, n, sizeof(tvalue)), n, n};
    if (!sum.items) return error_status();
    if (a.l->n) memcpy(sum.items, a.l->items, a.l->n * sizeof(tvalue));
    if (b.l->n) memcpy(sum.items + a.l->n, b.l->items, b.l->n * sizeof(tvalue));
    return tpl_build(&R->mem, &sum, a.type, out);
}

weft_status tpl_repeat(trun *R, tvalue v, int64_t n, tvalue *out) {
    if (n < 0) n = 0;
    uint64_t total;
    if (v.type == T_STRING) {
        if (!mul_u64(v.s->n, (uint64_t)n, &total)) total = SIZE_MAX;
        char *text;
        TRY(tpl_string_room(&R->mem, total, &text));
        TRY(tpl_work(R, total));
        for (size_t at = 0; at < total; at += v.s->n) memcpy(text + at, v.s->data, v.s->n);
        return tpl_string_take(&R->mem, text, total, v.s->safe, out);
    }
    if (!mul_u64(v.l->n, (uint64_t)n, &total)) total = SIZE_MAX;
    REQUIRE(total <= TPL_MAX_ITEMS, WEFT_LIMIT,
            "a list of %llu items is longer than the limit of %d", (unsigned long long)total,
            (int)TPL_MAX_ITEMS);
    TRY(tpl_step(R, total));
    tbuilder b = {tpl_array(&R->mem, total, sizeof(tvalue)), total, total};
    if (!b.items) return error_status();
    for (size_t i = 0; i < total; i++) b.items[i] = v.l->items[i % v.l->n];
    return tpl_build(&R->mem, &b, v.type, out);
}

static bool is_sequence(tvalue v) {
    return v.type == T_STRING || v.type == T_LIST || v.type == T_TUPLE;
}

weft_status tpl_binary(trun *R, tpl_op op, tvalue a, tvalue b, tvalue *out) {
    int64_t i, j;
    double x, y;
    if (tpl_as_int(a, &i) && tpl_as_int(b, &j)) return int_op(op, i, j, out);
    if (tpl_as_float(a, &x) && tpl_as_float(b, &y)) return float_op(op, x, y, out);
    if (op == OP_ADD && a.type == b.type) {
        if (a.type == T_STRING) return add_texts(R, a, b, out);
        if (a.type == T_LIST || a.type == T_TUPLE) return add_lists(R, a, b, out);
    }
    if (op == OP_MUL && is_sequence(a) && tpl_as_int(b, &j)) return tpl_repeat(R, a, j, out);
    if (op == OP_MUL && is_sequence(b) && tpl_as_int(a, &i)) return tpl_repeat(R, b, i, out);
    if (op == OP_MOD && a.type == T_STRING) return tpl_percent(R, a.s, b, out);
    return cannot(op, a, b);
}

/* ---- comparison ---- */

static weft_status contains_text(trun *R, const tstring *needle, const tstring *s, bool *out) {
    TRY(tpl_work(R, s->n + needle->n));
    *out = needle->n == 0 ||
           (needle->n <= s->n && memmem(s->data, s->n, needle->data, needle->n) != NULL);
    return WEFT_OK;
}

weft_status tpl_contains(trun *R, tvalue needle, tvalue v, bool *out) {
    uint64_t hash;
    *out = false;
    if (v.type == T_STRING) {
        if (needle.type != T_STRING)
            return tpl_fail("'in' on a text needs a text, not '%s'", tpl_type_name(needle));
        return contains_text(R, needle.s, v.s, out);
    }
    if (v.type == T_DICT || (v.type == T_VIEW && v.view->kind == VIEW_KEYS)) {
        if (!tpl_hash(needle, &hash))
            return tpl_fail("a '%s' cannot be a key of a dict", tpl_type_name(needle));
        *out = tpl_dict_get(v.type == T_DICT ? v.d : v.view->dict, needle) != NULL;
        return WEFT_OK;
    }
    titerator *it;
    TRY(tpl_iterate(R, v, &it));
    for (;;) {
        tvalue item;
        bool end;
        TRY(tpl_next(R, it, &item, &end));
        if (end) return WEFT_OK;
        TRY(tpl_step(R, tpl_weight(item)));
        *out = tpl_equal(item, needle);
        if (*out) return WEFT_OK;
    }
}

weft_status tpl_compare_op(trun *R, tpl_op op, tvalue a, tvalue b, bool *out) {
    uint64_t wa = tpl_weight(a), wb = tpl_weight(b);
    if (op != OP_IN && op != OP_NOT_IN) TRY(tpl_step(R, wa < wb ? wa : wb));
    switch (op) {
    case OP_EQ: *out = tpl_equal(a, b); return WEFT_OK;
    case OP_NE: *out = !tpl_equal(a, b); return WEFT_OK;
    case OP_LT: return tpl_less(a, b, false, out);
    case OP_LE: return tpl_less(a, b, true, out);
    case OP_GT: return tpl_less(b, a, false, out);
    case OP_GE: return tpl_less(b, a, true, out);
    case OP_IN: return tpl_contains(R, a, b, out);
    default:
        TRY(tpl_contains(R, a, b, out));
        *out = !*out;
        return WEFT_OK;
    }
}
