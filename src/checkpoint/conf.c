/* See conf.h: the one file of this folder that knows jansson. Numbers are whole where jansson read
 * them as whole, or where a real number has no fraction (1e6 in some files).
 * SPDX-License-Identifier: MIT */
#include "checkpoint/conf.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

enum { MAX_FILE = 1 << 28 };

/* *root is NULL where it is no JSON. Texts with whole numbers beyond 64 bits are read again, with
 * those as real ones. */
static weft_status load(const char *text, size_t n, json_t **root, json_error_t *why) {
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, why);
    if (*root || json_error_code(why) != json_error_numeric_overflow) return WEFT_OK;
    str wide = {0};
    weft_status status = json_widen(text, n, &wide);
    if (status == WEFT_OK) *root = json_loadb(wide.data, wide.n, JSON_REJECT_DUPLICATES, why);
    str_free(&wide);
    return status;
}

weft_status conf_open(const char *path, conf_value **out) {
    char *text = NULL;
    size_t n = 0;
    json_error_t why;
    *out = NULL;
    TRY(file_read(path, MAX_FILE, &text, &n));
    json_t *root;
    weft_status status = load(text, n, &root, &why);
    mem_free(text);
    TRY(status);
    REQUIRE(root, WEFT_FORMAT, "%s: no JSON: line %d, column %d: %s", path, why.line, why.column,
            why.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return error_set(WEFT_FORMAT, "%s: no JSON object", path);
    }
    *out = root;
    return WEFT_OK;
}

void conf_close(conf_value *root) { json_decref(root); }

const conf_value *conf_find(const conf_value *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value) ? value : NULL;
}

bool conf_int(const conf_value *value, int64_t *out) {
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    double x = json_is_real(value) ? json_real_value(value) : NAN;
    if (!(fabs(x) <= 9007199254740992.0) || x != floor(x)) return false;
    *out = (int64_t)x;
    return true;
}

bool conf_real(const conf_value *value, double *out) {
    if (!json_is_number(value)) return false;
    *out = json_number_value(value);
    return true;
}

weft_status conf_get_int(const conf_value *object, const char *key, int64_t least, int64_t most,
                         int64_t otherwise, int64_t *out) {
    const conf_value *value = conf_find(object, key);
    *out = otherwise;
    if (!value) {
        REQUIRE(otherwise != INT64_MIN, WEFT_FORMAT, "key '%s' is missing", key);
        return WEFT_OK;
    }
    REQUIRE(conf_int(value, out), WEFT_FORMAT, "key '%s' is no whole number", key);
    REQUIRE(*out >= least && *out <= most, WEFT_FORMAT,
            "key '%s' is %" PRId64 ", expected %" PRId64 " to %" PRId64, key, *out, least, most);
    return WEFT_OK;
}

weft_status conf_get_number(const conf_value *object, const char *key, double otherwise,
                            double *out) {
    const conf_value *value = conf_find(object, key);
    *out = otherwise;
    if (!value) {
        REQUIRE(otherwise != 0, WEFT_FORMAT, "key '%s' is missing", key);
        return WEFT_OK;
    }
    REQUIRE(json_is_number(value), WEFT_FORMAT, "key '%s' is no number", key);
    *out = json_number_value(value);
    REQUIRE(*out > 0 && *out < 1e30, WEFT_FORMAT, "key '%s' is %g, expected a positive number", key,
            *out);
    return WEFT_OK;
}

weft_status conf_get_bool(const conf_value *object, const char *key, bool otherwise, bool *out) {
    const conf_value *value = conf_find(object, key);
    *out = otherwise;
    if (!value) return WEFT_OK;
    REQUIRE(json_is_boolean(value), WEFT_FORMAT, "key '%s' is neither true nor false", key);
    *out = json_is_true(value);
    return WEFT_OK;
}

weft_status conf_get_text(const conf_value *object, const char *key, const char **out) {
    const conf_value *value = conf_find(object, key);
    *out = NULL;
    if (!value) return WEFT_OK;
    REQUIRE(json_is_string(value), WEFT_FORMAT, "key '%s' is no string", key);
    *out = json_string_value(value);
    return WEFT_OK;
}

weft_status conf_get_object(const conf_value *object, const char *key, const conf_value **out) {
    *out = conf_find(object, key);
    REQUIRE(!*out || json_is_object(*out), WEFT_FORMAT, "key '%s' is no object", key);
    return WEFT_OK;
}

weft_status conf_get_array(const conf_value *object, const char *key, const conf_value **out,
                           size_t *n) {
    *out = conf_find(object, key);
    *n = json_array_size(*out);
    REQUIRE(!*out || json_is_array(*out), WEFT_FORMAT, "key '%s' is no array", key);
    return WEFT_OK;
}

bool conf_is_array(const conf_value *value) { return json_is_array(value); }
const conf_value *conf_at(const conf_value *array, size_t i) { return json_array_get(array, i); }
const char *conf_text(const conf_value *value) { return json_string_value(value); }

bool conf_is_set(const conf_value *value) {
    if (!value || json_is_null(value) || json_is_false(value)) return false;
    if (json_is_string(value)) return json_string_length(value) > 0;
    if (json_is_array(value)) return json_array_size(value) > 0;
    if (json_is_object(value)) return json_object_size(value) > 0;
    return !json_is_number(value) || json_number_value(value) != 0;
}

void *conf_next(const conf_value *object, void *at) {
    json_t *walked = (json_t *)(uintptr_t)object; /* jansson's iterators do not take const */
    return at ? json_object_iter_next(walked, at) : json_object_iter(walked);
}

const char *conf_key(void *at) { return json_object_iter_key(at); }
const conf_value *conf_value_at(void *at) { return json_object_iter_value(at); }
