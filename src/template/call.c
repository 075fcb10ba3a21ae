/* Calls: arguments bound to parameters, macros, and what else can be called.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "template/run.h"

/* The next name of a parameter list: its length, and whether it may be left out. 0 at the end. */
static size_t parameter(const char **at, const char **name, bool *optional) {
    while (**at == ',' || **at == '/') (*at)++;
    *name = *at;
    size_t n = strcspn(*at, ",?");
    *at += n;
    *optional = **at == '?';
    if (*optional) (*at)++;
    return n;
}

static weft_status bind_keyword(const tpl_row *row, const tkeyword *k, tvalue *bound,
                                bool positional_only) {
    const char *at = row->params, *name;
    bool optional;
    size_t n;
    for (size_t i = 0; !positional_only && (n = parameter(&at, &name, &optional)); i++) {
        if (k->name->n != n || memcmp(k->name->data, name, n) != 0) continue;
        if (bound[i].type != T_MISSING)
            return tpl_fail("%s() got the argument '%.*s' twice", row->name, (int)n, name);
        bound[i] = k->value;
        return WEFT_OK;
    }
    return tpl_fail("%s() has no argument named '%.*s'", row->name,
                    tpl_shown(k->name->data, k->name->n, 60), k->name->data);
}

static weft_status bind(const tpl_row *row, const targs *args, tvalue bound[TPL_MAX_PARAMS]) {
    memset(bound, 0, TPL_MAX_PARAMS * sizeof *bound);
    const char *at = row->params, *name;
    bool optional, missing = false;
    size_t n = 0;
    while (parameter(&at, &name, &optional)) n++;
    if (args->n > n)
        return tpl_fail("%s() takes at most %zu arguments, %zu were given", row->name, n, args->n);
    if (args->n) memcpy(bound, args->items, args->n * sizeof *bound);
    for (size_t i = 0; i < args->n_keywords; i++)
        TRY(bind_keyword(row, &args->keywords[i], bound, row->params[0] == '/'));
    at = row->params;
    for (size_t i = 0; i < n && !missing; i++) {
        size_t length = parameter(&at, &name, &optional);
        if (!optional && bound[i].type == T_MISSING)
            return tpl_fail("%s() needs the argument '%.*s'", row->name, (int)length, name);
    }
    return WEFT_OK;
}

weft_status tpl_call_row(trun *R, const tpl_row *row, tvalue self, const targs *args, tvalue *out) {
    if (row->raw) return row->raw(R, self, args, out);
    if (!row->fn)
        return error_set(WEFT_UNSUPPORTED, "'%s' is not supported in chat templates", row->name);
    tvalue bound[TPL_MAX_PARAMS];
    TRY(bind(row, args, bound));
    return row->fn(R, self, bound, out);
}

/* ---- macros ---- */

static bool take_keyword(const targs *args, bool *used, const tstring *name, tvalue *out) {
    for (size_t i = 0; i < args->n_keywords; i++) {
        if (used[i] || !tpl_equal(tpl_of_string(args->keywords[i].name), tpl_of_string(name)))
            continue;
        used[i] = true;
        *out = args->keywords[i].value;
        return true;
    }
    return false;
}

static weft_status macro_fail(const tmacro *macro, const char *what, const tstring *name) {
    const tstring *n = macro->node->name;
    return tpl_fail("the macro '%.*s' %s '%.*s'", n ? tpl_shown(n->data, n->n, 60) : 6,
                    n ? n->data : "caller", what, tpl_shown(name->data, name->n, 60), name->data);
}

/* caller, kwargs, varargs: those the macro uses. */
static weft_status bind_special(trun *R, const tmacro *macro, tframe *f, const targs *args,
                                bool *used) {
    static const tstring name = {"caller", 6, 6, false};
    const tnode *n = macro->node;
    tvalue v;
    if (n->uses[0]) {
        if (!take_keyword(args, used, &name, &v) || v.type == T_NONE)
            TRY(tpl_undefined(&R->mem, "no caller defined", &name, &v));
        *tpl_slot(f, n->special[0]) = v;
    }
    tdict *kwargs;
    TRY(tpl_dict_new(&R->mem, &kwargs));
    for (size_t i = 0; i < args->n_keywords; i++) {
        if (used[i]) continue;
        if (!n->uses[1])
            return macro_fail(macro, "takes no keyword argument", args->keywords[i].name);
        TRY(tpl_dict_set(&R->mem, kwargs, tpl_of_string(args->keywords[i].name),
                         args->keywords[i].value));
    }
    if (n->uses[1]) *tpl_slot(f, n->special[1]) = tpl_of_dict(kwargs);
    size_t extra = args->n > n->list.n ? args->n - n->list.n : 0;
    if (n->uses[2]) {
        tbuilder b = {0};
        for (size_t i = 0; i < extra; i++) TRY(tpl_push(&R->mem, &b, args->items[n->list.n + i]));
        TRY(tpl_build(&R->mem, &b, T_TUPLE, tpl_slot(f, n->special[2])));
    } else if (extra) {
        return tpl_fail("the macro '%.*s' takes at most %zu arguments, %zu were given",
                        n->name ? tpl_shown(n->name->data, n->name->n, 60) : 6,
                        n->name ? n->name->data : "caller", n->list.n, args->n);
    }
    return WEFT_OK;
}

/* Arguments left out: the default, computed in the macro's own frame, or undefined. */
static weft_status fill_defaults(trun *R, const tnode *n, tframe *f) {
    for (size_t i = 0; i < n->list.n; i++) {
        tvalue *slot = tpl_slot(f, n->list.items[i]->place), v;
        if (slot->type != T_MISSING) continue;
        size_t required = n->list.n - n->list2.n;
        if (i >= required) TRY(tpl_eval(R, f, n->list2.items[i - required], &v));
        else {
            str hint = {0};
            weft_status status =
                str_format(&hint, "parameter '%.*s' was not provided",
                           tpl_shown(n->list.items[i]->name->data, n->list.items[i]->name->n, 60),
                           n->list.items[i]->name->data);
            tvalue text;
            if (status == WEFT_OK) status = str_char(&hint, 0);
            if (status == WEFT_OK) status = tpl_string(&R->mem, str_text(&hint), hint.n, &text);
            str_free(&hint);
            TRY(status);
            TRY(tpl_undefined(&R->mem, text.s->data, n->list.items[i]->name, &v));
        }
        *slot = v;
    }
    return WEFT_OK;
}

weft_status tpl_call_macro(trun *R, const tmacro *macro, const targs *args, tvalue *out) {
    const tnode *n = macro->node;
    tframe *f;
    tflow flow;
    TRY(tpl_frame(R, n->frame, macro->closure, &f));
    bool *used = tpl_array(&R->mem, args->n_keywords, sizeof *used);
    if (!used) return error_status();
    for (size_t i = 0; i < n->list.n; i++) {
        tvalue *slot = tpl_slot(f, n->list.items[i]->place);
        if (i < args->n) *slot = args->items[i];
        else if (!take_keyword(args, used, n->list.items[i]->name, slot)) slot->type = T_MISSING;
    }
    TRY(bind_special(R, macro, f, args, used));
    tpl_enter_scope(R, f, &n->scope);
    TRY(fill_defaults(R, n, f));
    return tpl_capture(R, f, &n->list3, &flow, out);
}

/* ---- all callables ---- */

static weft_status call(trun *R, tvalue f, const targs *args, tvalue *out) {
    switch (f.type) {
    case T_FUNCTION: return tpl_call_row(R, &f.fn->call, tpl_none(), args, out);
    case T_METHOD: return tpl_call_row(R, &f.method->row->call, f.method->self, args, out);
    case T_MACRO: return tpl_call_macro(R, f.macro, args, out);
    case T_LOOP: return tpl_loop_call(R, f.loop, args, out);
    case T_UNDEFINED: return tpl_undefined_fail(f);
    case T_JOINER:
        if (args->n || args->n_keywords) return tpl_fail("a joiner takes no arguments");
        if (f.joiner->used) *out = f.joiner->separator;
        else TRY(tpl_string(&R->mem, "", 0, out));
        f.joiner->used = true;
        return WEFT_OK;
    default: return tpl_fail("'%s' object is not callable", tpl_type_name(f));
    }
}

weft_status tpl_call(trun *R, tvalue f, const targs *args, tvalue *out) {
    TRY(tpl_enter_call(R));
    weft_status status = call(R, f, args, out);
    R->depth--;
    return status;
}
