/* The context from JSON text: the one file that uses jansson. Keys keep their order, integers
 * are 64-bit, a number with a point or an exponent is a float. SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>
#endif

#include "template/run.h"

#ifdef WEFT_HAVE_JANSSON
static weft_status convert(tpl_mem *mem, json_t *json, int depth, tvalue *out) {
    REQUIRE(depth <= TPL_MAX_NESTING, WEFT_LIMIT,
            "the context is nested deeper than the limit of %d", (int)TPL_MAX_NESTING);
    switch (json_typeof(json)) {
    case JSON_NULL: *out = tpl_none(); return WEFT_OK;
    case JSON_TRUE: *out = tpl_bool(true); return WEFT_OK;
    case JSON_FALSE: *out = tpl_bool(false); return WEFT_OK;
    case JSON_INTEGER: *out = tpl_int(json_integer_value(json)); return WEFT_OK;
    case JSON_REAL: *out = tpl_float(json_real_value(json)); return WEFT_OK;
    case JSON_STRING:
        return tpl_string(mem, json_string_value(json), json_string_length(json), out);
    case JSON_ARRAY: {
        tbuilder b = {0};
        for (size_t i = 0; i < json_array_size(json); i++) {
            tvalue item;
            TRY(convert(mem, json_array_get(json, i), depth + 1, &item));
            TRY(tpl_push(mem, &b, item));
        }
        return tpl_build(mem, &b, T_LIST, out);
    }
    case JSON_OBJECT: break;
    }
    tdict *d;
    TRY(tpl_dict_new(mem, &d));
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        tvalue key, value;
        TRY(tpl_string(mem, json_object_iter_key(at), json_object_iter_key_len(at), &key));
        TRY(convert(mem, json_object_iter_value(at), depth + 1, &value));
        TRY(tpl_dict_set(mem, d, key, value));
    }
    *out = tpl_of_dict(d);
    return WEFT_OK;
}
#endif

weft_status tpl_context(tpl_mem *mem, const char *text, size_t n, tdict **out) {
#ifdef WEFT_HAVE_JANSSON
    json_error_t why;
    json_t *json = json_loadb(text, n, JSON_ALLOW_NUL, &why);
    REQUIRE(json, WEFT_FORMAT, "the template's context is no JSON: line %d, column %d: %s",
            why.line, why.column, why.text);
    weft_status status;
    tvalue v = {.type = T_NONE};
    if (json_is_object(json)) status = convert(mem, json, 1, &v);
    else status = error_set(WEFT_FORMAT, "the template's context must be a JSON object");
    json_decref(json);
    if (status == WEFT_OK) *out = v.d;
    return status;
#else
    (void)mem;
    (void)text;
    (void)n;
    (void)out;
    return error_set(WEFT_UNSUPPORTED,
                     "this build has no JSON library (jansson), so templates cannot be rendered");
#endif
}
