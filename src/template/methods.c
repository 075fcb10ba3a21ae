/* The table of methods, and those of dicts, lists, numbers, loops and cyclers.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "template/strings.h"

static weft_status dict_get(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    uint64_t hash;
    if (!tpl_hash(a[0], &hash))
        return tpl_fail("a '%s' cannot be a key of a dict", tpl_type_name(a[0]));
    const tvalue *found = tpl_dict_get(self.d, a[0]);
    *out = found ? *found : a[1].type == T_MISSING ? tpl_none() : a[1];
    return WEFT_OK;
}

static weft_status view(trun *R, tvalue self, tpl_view_kind kind, tvalue *out) {
    tview *v = tpl_alloc(&R->mem, sizeof *v);
    if (!v) return error_status();
    *v = (tview){self.d, kind};
    *out = (tvalue){.type = T_VIEW, .view = v};
    return WEFT_OK;
}
static weft_status dict_items(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return view(R, self, VIEW_ITEMS, out);
}
static weft_status dict_keys(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return view(R, self, VIEW_KEYS, out);
}
static weft_status dict_values(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)a;
    return view(R, self, VIEW_VALUES, out);
}

/* Dicts and lists do not change, so a copy is the thing itself. */
static weft_status copy(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    (void)a;
    *out = self;
    return WEFT_OK;
}

static weft_status sequence_count(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    tbuilder items = {0};
    int64_t n = 0;
    TRY(tpl_items(R, self, &items));
    for (size_t i = 0; i < items.n; i++) {
        TRY(tpl_step(R, tpl_weight(items.items[i])));
        n += tpl_equal(items.items[i], a[0]);
    }
    *out = tpl_int(n);
    return WEFT_OK;
}

static weft_status sequence_index(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    tbuilder items = {0};
    TRY(tpl_items(R, self, &items));
    int64_t n = (int64_t)items.n, from = 0, to = n;
    if (a[1].type != T_MISSING && !tpl_as_int(a[1], &from))
        return tpl_fail("an index must be an integer");
    if (a[2].type != T_MISSING && !tpl_as_int(a[2], &to))
        return tpl_fail("an index must be an integer");
    if (from < 0) from = from + n < 0 ? 0 : from + n;
    if (to < 0) to += n;
    for (int64_t i = from; i < to && i < n; i++) {
        TRY(tpl_step(R, tpl_weight(items.items[i])));
        if (!tpl_equal(items.items[i], a[0])) continue;
        *out = tpl_int(i);
        return WEFT_OK;
    }
    return tpl_fail("the value looked for is not there");
}

static weft_status int_bit_length(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    (void)a;
    int64_t i = 0, n = 0;
    tpl_as_int(self, &i);
    for (uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i; rest; rest >>= 1) n++;
    *out = tpl_int(n);
    return WEFT_OK;
}

static weft_status float_is_integer(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    (void)a;
    *out = tpl_bool(isfinite(self.f) && floor(self.f) == self.f);
    return WEFT_OK;
}

static weft_status loop_cycle(trun *R, tvalue self, const targs *args, tvalue *out) {
    (void)R;
    if (args->n_keywords) return tpl_fail("cycle() takes no named arguments");
    if (!args->n) return tpl_fail("no items for cycling given");
    *out = args->items[(size_t)self.loop->index0 % args->n];
    return WEFT_OK;
}

static weft_status loop_changed(trun *R, tvalue self, const targs *args, tvalue *out) {
    if (args->n_keywords) return tpl_fail("changed() takes no named arguments");
    tbuilder b = {0};
    tvalue now;
    for (size_t i = 0; i < args->n; i++) TRY(tpl_push(&R->mem, &b, args->items[i]));
    TRY(tpl_build(&R->mem, &b, T_TUPLE, &now));
    TRY(tpl_step(R, tpl_weight(now)));
    *out = tpl_bool(!tpl_equal(now, self.loop->changed));
    self.loop->changed = now;
    return WEFT_OK;
}

static weft_status cycler_next(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    (void)a;
    tcycler *c = self.cycler;
    *out = c->items->items[c->at];
    c->at = (c->at + 1) % c->items->n;
    return WEFT_OK;
}

static weft_status cycler_reset(trun *R, tvalue self, const tvalue *a, tvalue *out) {
    (void)R;
    (void)a;
    self.cycler->at = 0;
    *out = tpl_none();
    return WEFT_OK;
}

/* A row without a function: Python has the method, this engine says that it has not. */
static const tpl_method_row rows[] = {
    {T_STRING, {"capitalize", "/", string_capitalize, NULL, false}},
    {T_STRING, {"casefold", "/", string_casefold, NULL, false}},
    {T_STRING, {"center", "/width,fill?", string_center, NULL, false}},
    {T_STRING, {"count", "/sub,start?,end?", string_count, NULL, false}},
    {T_STRING, {"encode", "", NULL, NULL, false}},
    {T_STRING, {"endswith", "/suffix,start?,end?", string_endswith, NULL, false}},
    {T_STRING, {"expandtabs", "tabsize?", string_expandtabs, NULL, false}},
    {T_STRING, {"find", "/sub,start?,end?", string_find, NULL, false}},
    {T_STRING, {"format", "", NULL, string_format, false}},
    {T_STRING, {"format_map", "", NULL, NULL, false}},
    {T_STRING, {"index", "/sub,start?,end?", string_index, NULL, false}},
    {T_STRING, {"isalnum", "/", string_isalnum, NULL, false}},
    {T_STRING, {"isalpha", "/", string_isalpha, NULL, false}},
    {T_STRING, {"isascii", "/", string_isascii, NULL, false}},
    {T_STRING, {"isdecimal", "/", string_isdecimal, NULL, false}},
    {T_STRING, {"isdigit", "/", string_isdigit, NULL, false}},
    {T_STRING, {"isidentifier", "/", string_isidentifier, NULL, false}},
    {T_STRING, {"islower", "/", string_islower, NULL, false}},
    {T_STRING, {"isnumeric", "/", string_isnumeric, NULL, false}},
    {T_STRING, {"isprintable", "/", string_isprintable, NULL, false}},
    {T_STRING, {"isspace", "/", string_isspace, NULL, false}},
    {T_STRING, {"istitle", "/", string_istitle, NULL, false}},
    {T_STRING, {"isupper", "/", string_isupper, NULL, false}},
    {T_STRING, {"join", "/iterable", string_join, NULL, false}},
    {T_STRING, {"ljust", "/width,fill?", string_ljust, NULL, false}},
    {T_STRING, {"lower", "/", string_lower, NULL, false}},
    {T_STRING, {"lstrip", "/chars?", string_lstrip, NULL, false}},
    {T_STRING, {"maketrans", "", NULL, NULL, false}},
    {T_STRING, {"partition", "/sep", string_partition, NULL, false}},
    {T_STRING, {"removeprefix", "/prefix", string_removeprefix, NULL, false}},
    {T_STRING, {"removesuffix", "/suffix", string_removesuffix, NULL, false}},
    {T_STRING, {"replace", "/old,new,count?", string_replace, NULL, false}},
    {T_STRING, {"rfind", "/sub,start?,end?", string_rfind, NULL, false}},
    {T_STRING, {"rindex", "/sub,start?,end?", string_rindex, NULL, false}},
    {T_STRING, {"rjust", "/width,fill?", string_rjust, NULL, false}},
    {T_STRING, {"rpartition", "/sep", string_rpartition, NULL, false}},
    {T_STRING, {"rsplit", "sep?,maxsplit?", string_rsplit, NULL, false}},
    {T_STRING, {"rstrip", "/chars?", string_rstrip, NULL, false}},
    {T_STRING, {"split", "sep?,maxsplit?", string_split, NULL, false}},
    {T_STRING, {"splitlines", "keepends?", string_splitlines, NULL, false}},
    {T_STRING, {"startswith", "/prefix,start?,end?", string_startswith, NULL, false}},
    {T_STRING, {"strip", "/chars?", string_strip, NULL, false}},
    {T_STRING, {"swapcase", "/", string_swapcase, NULL, false}},
    {T_STRING, {"title", "/", string_title, NULL, false}},
    {T_STRING, {"translate", "", NULL, NULL, false}},
    {T_STRING, {"upper", "/", string_upper, NULL, false}},
    {T_STRING, {"zfill", "/width", string_zfill, NULL, false}},
    {T_DICT, {"clear", "", NULL, NULL, false}},
    {T_DICT, {"copy", "/", copy, NULL, false}},
    {T_DICT, {"fromkeys", "", NULL, NULL, false}},
    {T_DICT, {"get", "/key,default?", dict_get, NULL, false}},
    {T_DICT, {"items", "/", dict_items, NULL, false}},
    {T_DICT, {"keys", "/", dict_keys, NULL, false}},
    {T_DICT, {"pop", "", NULL, NULL, false}},
    {T_DICT, {"popitem", "", NULL, NULL, false}},
    {T_DICT, {"setdefault", "", NULL, NULL, false}},
    {T_DICT, {"update", "", NULL, NULL, false}},
    {T_DICT, {"values", "/", dict_values, NULL, false}},
    {T_LIST, {"append", "", NULL, NULL, false}},
    {T_LIST, {"clear", "", NULL, NULL, false}},
    {T_LIST, {"copy", "/", copy, NULL, false}},
    {T_LIST, {"count", "/value", sequence_count, NULL, false}},
    {T_LIST, {"extend", "", NULL, NULL, false}},
    {T_LIST, {"index", "/value,start?,stop?", sequence_index, NULL, false}},
    {T_LIST, {"insert", "", NULL, NULL, false}},
    {T_LIST, {"pop", "", NULL, NULL, false}},
    {T_LIST, {"remove", "", NULL, NULL, false}},
    {T_LIST, {"reverse", "", NULL, NULL, false}},
    {T_LIST, {"sort", "", NULL, NULL, false}},
    {T_TUPLE, {"count", "/value", sequence_count, NULL, false}},
    {T_TUPLE, {"index", "/value,start?,stop?", sequence_index, NULL, false}},
    {T_RANGE, {"count", "/value", sequence_count, NULL, false}},
    {T_RANGE, {"index", "/value", sequence_index, NULL, false}},
    {T_VIEW, {"isdisjoint", "", NULL, NULL, false}},
    {T_INT, {"as_integer_ratio", "", NULL, NULL, false}},
    {T_INT, {"bit_count", "", NULL, NULL, false}},
    {T_INT, {"bit_length", "/", int_bit_length, NULL, false}},
    {T_INT, {"conjugate", "", NULL, NULL, false}},
    {T_INT, {"from_bytes", "", NULL, NULL, false}},
    {T_INT, {"to_bytes", "", NULL, NULL, false}},
    {T_FLOAT, {"as_integer_ratio", "", NULL, NULL, false}},
    {T_FLOAT, {"conjugate", "", NULL, NULL, false}},
    {T_FLOAT, {"fromhex", "", NULL, NULL, false}},
    {T_FLOAT, {"hex", "", NULL, NULL, false}},
    {T_FLOAT, {"is_integer", "/", float_is_integer, NULL, false}},
    {T_LOOP, {"changed", "", NULL, loop_changed, true}},
    {T_LOOP, {"cycle", "", NULL, loop_cycle, true}},
    {T_CYCLER, {"next", "/", cycler_next, NULL, true}},
    {T_CYCLER, {"reset", "/", cycler_reset, NULL, true}}};

const tpl_method_row *tpl_find_method(tvalue object, const tstring *name) {
    tpl_type type = object.type == T_BOOL ? T_INT : object.type;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type && tpl_string_is(name, rows[i].call.name)) return &rows[i];
    return NULL;
}

bool tpl_is_forbidden(tvalue object, const tstring *name) {
    static const char *const dict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    static const char *const list[] = {"append", "clear", "pop",    "reverse",
                                       "insert", "sort",  "extend", "remove"};
    const char *const *names = object.type == T_DICT ? dict : list;
    size_t n = object.type == T_DICT ? 5 : object.type == T_LIST ? 8 : 0;
    for (size_t i = 0; i < n; i++)
        if (tpl_string_is(name, names[i])) return true;
    return false;
}
