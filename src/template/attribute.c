/* object.name and object[key], as Jinja's sandbox reads them: `.` asks the object's attributes
 * first and then its items, `[ ]` the other way round; names that begin with an underscore and
 * methods that would change a list or a dict are found but unusable.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "template/run.h"

static weft_status new_method(trun *R, tvalue self, const tpl_method_row *row, tvalue *out) {
    tmethod *method = tpl_alloc(&R->mem, sizeof *method);
    if (!method) return error_status();
    *method = (tmethod){self, row};
    *out = (tvalue){.type = T_METHOD, .method = method};
    return WEFT_OK;
}

static weft_status number_attribute(tvalue v, const tstring *name, tvalue *out, bool *found) {
    bool whole = v.type != T_FLOAT;
    int64_t i = 0;
    *found = true;
    tpl_as_int(v, &i);
    if (tpl_string_is(name, "real")) *out = whole ? tpl_int(i) : v;
    else if (tpl_string_is(name, "imag")) *out = whole ? tpl_int(0) : tpl_float(0);
    else if (whole && tpl_string_is(name, "numerator")) *out = tpl_int(i);
    else if (whole && tpl_string_is(name, "denominator")) *out = tpl_int(1);
    else *found = false;
    return WEFT_OK;
}

static weft_status macro_attribute(trun *R, const tmacro *macro, const tstring *name, tvalue *out,
                                   bool *found) {
    const tnode *n = macro->node;
    *found = true;
    if (tpl_string_is(name, "name")) *out = n->name ? tpl_of_string(n->name) : tpl_none();
    else if (tpl_string_is(name, "catch_kwargs")) *out = tpl_bool(n->uses[1]);
    else if (tpl_string_is(name, "catch_varargs")) *out = tpl_bool(n->uses[2]);
    else if (tpl_string_is(name, "caller")) *out = tpl_bool(n->uses[0]);
    else if (tpl_string_is(name, "arguments")) {
        tbuilder b = {0};
        for (size_t i = 0; i < n->list.n; i++)
            TRY(tpl_push(&R->mem, &b, tpl_of_string(n->list.items[i]->name)));
        return tpl_build(&R->mem, &b, T_TUPLE, out);
    } else *found = false;
    return WEFT_OK;
}

static bool object_attribute(tvalue v, const tstring *name, tvalue *out) {
    const tvalue *found;
    switch (v.type) {
    case T_RANGE:
        if (tpl_string_is(name, "start")) *out = tpl_int(v.range->start);
        else if (tpl_string_is(name, "stop")) *out = tpl_int(v.range->stop);
        else if (tpl_string_is(name, "step")) *out = tpl_int(v.range->step);
        else return false;
        return true;
    case T_TUPLE:
        if (!v.l->grouped) return false;
        if (tpl_string_is(name, "grouper")) *out = v.l->items[0];
        else if (tpl_string_is(name, "list")) *out = v.l->items[1];
        else return false;
        return true;
    case T_CYCLER:
        if (tpl_string_is(name, "items")) *out = tpl_of_tuple(v.cycler->items);
        else if (tpl_string_is(name, "pos")) *out = tpl_int((int64_t)v.cycler->at);
        else if (tpl_string_is(name, "current")) *out = v.cycler->items->items[v.cycler->at];
        else return false;
        return true;
    case T_JOINER:
        if (tpl_string_is(name, "sep")) *out = v.joiner->separator;
        else if (tpl_string_is(name, "used")) *out = tpl_bool(v.joiner->used);
        else return false;
        return true;
    case T_NAMESPACE:
        found = tpl_dict_get(v.d, tpl_of_string(name));
        if (found) *out = *found;
        return found != NULL;
    default: return false;
    }
}

weft_status tpl_find_attribute(trun *R, tvalue v, const tstring *name, tvalue *out, bool *found) {
    *found = object_attribute(v, name, out);
    if (*found) return WEFT_OK;
    if (v.type == T_LOOP) TRY(tpl_loop_attribute(R, v.loop, name, out, found));
    else if (v.type == T_MACRO) TRY(macro_attribute(R, v.macro, name, out, found));
    else if (v.type == T_INT || v.type == T_FLOAT || v.type == T_BOOL)
        TRY(number_attribute(v, name, out, found));
    if (*found) return WEFT_OK;
    const tpl_method_row *row = tpl_find_method(v, name);
    if (!row) return WEFT_OK;
    *found = true;
    return new_method(R, v, row, out);
}

/* "__class__" and its like, which every object has; "_x" only where the object has it. */
static bool is_internal(const tstring *name) {
    return name->n > 4 && name->data[0] == '_' && name->data[1] == '_' &&
           name->data[name->n - 1] == '_' && name->data[name->n - 2] == '_';
}

static weft_status safe_attribute(trun *R, tvalue object, const tstring *name, tvalue *out,
                                  bool *found) {
    TRY(tpl_find_attribute(R, object, name, out, found));
    bool forbidden =
        *found && ((name->n && name->data[0] == '_') || tpl_is_forbidden(object, name));
    if (!*found && !is_internal(name)) return WEFT_OK;
    if (*found && !forbidden) return WEFT_OK;
    *found = true;
    return tpl_undefined(
        &R->mem, "this attribute is unsafe: internal, or it would change the object", name, out);
}

weft_status tpl_get_attribute(trun *R, tvalue object, const tstring *name, tvalue *out) {
    bool found;
    if (object.type == T_UNDEFINED && !is_internal(name)) return tpl_undefined_fail(object);
    const tvalue *item = object.type == T_DICT ? tpl_dict_get(object.d, tpl_of_string(name)) : NULL;
    if (item && (is_internal(name) || !tpl_find_method(object, name))) {
        *out = *item;
        return WEFT_OK;
    }
    TRY(safe_attribute(R, object, name, out, &found));
    return found ? WEFT_OK : tpl_undefined_of(&R->mem, object, tpl_of_string(name), out);
}

static weft_status character(trun *R, const tstring *s, size_t at, size_t n, tvalue *out) {
    size_t from = tpl_char_offset(s, at);
    tstring rest = {s->data + from, s->n - from, s->chars - at, false};
    TRY(tpl_work(R, s->chars == s->n ? n : s->n));
    return tpl_string_take(&R->mem, rest.data, tpl_char_offset(&rest, n), s->safe, out);
}

static bool position(int64_t at, int64_t n, int64_t *out) {
    if (at < 0) at += n;
    *out = at;
    return at >= 0 && at < n;
}

weft_status tpl_get_item(trun *R, tvalue object, tvalue key, tvalue *out) {
    int64_t at, n;
    if (object.type == T_UNDEFINED) return tpl_undefined_fail(object);
    if (object.type == T_DICT) {
        const tvalue *item = tpl_dict_get(object.d, key);
        if (item) {
            *out = *item;
            return WEFT_OK;
        }
    } else if (tpl_as_int(key, &at) && tpl_length(object, &n) && object.type != T_VIEW &&
               position(at, n, &at)) {
        if (object.type == T_STRING) return character(R, object.s, (size_t)at, 1, out);
        *out = object.type == T_RANGE ? tpl_int(object.range->start + at * object.range->step)
                                      : object.l->items[at];
        return WEFT_OK;
    }
    bool found = false;
    if (key.type == T_STRING) TRY(safe_attribute(R, object, key.s, out, &found));
    return found ? WEFT_OK : tpl_undefined_of(&R->mem, object, key, out);
}

/* ---- slices ---- */

static weft_status slice_bound(tvalue part, int64_t n, int64_t step, int64_t missing,
                               int64_t *out) {
    if (part.type == T_NONE) {
        *out = missing;
        return WEFT_OK;
    }
    if (part.type == T_UNDEFINED || !tpl_as_int(part, out))
        return tpl_fail("slice indices must be integers or none");
    if (*out < 0) {
        *out += n;
        if (*out < 0) *out = step < 0 ? -1 : 0;
    } else if (*out >= n) *out = step < 0 ? n - 1 : n;
    return WEFT_OK;
}

static weft_status slice_text(trun *R, const tstring *s, int64_t from, int64_t step, int64_t count,
                              tvalue *out) {
    if (step == 1) return character(R, s, (size_t)from, (size_t)count, out);
    str text = {0};
    weft_status status = tpl_work(R, s->n);
    if (s->chars == s->n) {
        for (int64_t i = 0; i < count && status == WEFT_OK; i++)
            status = str_char(&text, s->data[from + i * step]);
    } else if (count > 0 && status == WEFT_OK) {
        size_t *offsets = mem_array(s->chars + 1, sizeof *offsets);
        if (!offsets) return error_status();
        size_t k = 0;
        for (size_t i = 0; i < s->n; i++)
            if (((unsigned char)s->data[i] & 0xC0) != 0x80) offsets[k++] = i;
        offsets[k] = s->n;
        for (int64_t i = 0; i < count && status == WEFT_OK; i++) {
            size_t at = (size_t)(from + i * step);
            status = str_append(&text, s->data + offsets[at], offsets[at + 1] - offsets[at]);
        }
        mem_free(offsets);
    }
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, s->safe, out);
    str_free(&text);
    return status;
}

weft_status tpl_get_slice(trun *R, tvalue object, const tvalue part[3], tvalue *out) {
    int64_t n, step = 1, from, to;
    if (object.type == T_UNDEFINED) return tpl_undefined_fail(object);
    bool sliceable = object.type == T_STRING || object.type == T_LIST || object.type == T_TUPLE ||
                     object.type == T_RANGE;
    if (!sliceable || !tpl_length(object, &n))
        return tpl_fail("'%s' object cannot be sliced", tpl_type_name(object));
    if (part[2].type != T_NONE && (part[2].type == T_UNDEFINED || !tpl_as_int(part[2], &step)))
        return tpl_fail("slice indices must be integers or none");
    if (step == 0) return tpl_fail("a slice's step cannot be zero");
    if (step == INT64_MIN) step++;
    TRY(slice_bound(part[0], n, step, step < 0 ? n - 1 : 0, &from));
    TRY(slice_bound(part[1], n, step, step < 0 ? -1 : n, &to));
    int64_t count = 0;
    if (step > 0 && from < to) count = (to - from - 1) / step + 1;
    if (step < 0 && from > to) count = (from - to - 1) / -step + 1;
    if (object.type == T_STRING) return slice_text(R, object.s, count ? from : 0, step, count, out);
    if (object.type == T_RANGE) {
        trange *r = tpl_alloc(&R->mem, sizeof *r);
        if (!r) return error_status();
        const trange *o = object.range;
        int64_t scaled, first, last;
        if (__builtin_mul_overflow(o->step, step, &scaled) ||
            __builtin_mul_overflow(o->step, from, &first) ||
            __builtin_mul_overflow(o->step, to, &last) ||
            __builtin_add_overflow(o->start, first, &first) ||
            __builtin_add_overflow(o->start, last, &last))
            return tpl_fail("integer overflow: the range does not fit 64 bits");
        *r = (trange){first, last, scaled, count};
        *out = (tvalue){.type = T_RANGE, .range = r};
        return WEFT_OK;
    }
    tbuilder b = {0};
    TRY(tpl_step(R, (uint64_t)count));
    for (int64_t i = 0; i < count; i++)
        TRY(tpl_push(&R->mem, &b, object.l->items[from + i * step]));
    return tpl_build(&R->mem, &b, object.type, out);
}
