/* Fields of JSON objects by their expected type, with an error that names the field. See hub.h.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include "tokenizer/hub.h"

#include <string.h>

/* NULL where the field is absent or null. */
static json_t *find(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

weft_status hub_bool(const json_t *object, const char *key, bool *out) {
    const json_t *value = find(object, key);
    if (!value) return WEFT_OK;
    REQUIRE(json_is_boolean(value), WEFT_FORMAT, "%s is neither true nor false", key);
    *out = json_is_true(value);
    return WEFT_OK;
}

weft_status hub_text(const json_t *object, const char *key, token_text *out) {
    const json_t *value = find(object, key);
    if (!value) return WEFT_OK;
    REQUIRE(json_is_string(value), WEFT_FORMAT, "%s is no text", key);
    *out = (token_text){json_string_value(value), json_string_length(value)};
    return WEFT_OK;
}

weft_status hub_count(const json_t *object, const char *key, size_t most, size_t *out) {
    const json_t *value = find(object, key);
    if (!value) return WEFT_OK;
    REQUIRE(json_is_integer(value) && json_integer_value(value) >= 0, WEFT_FORMAT,
            "%s is no whole number >= 0", key);
    uint64_t n = (uint64_t)json_integer_value(value);
    *out = n < most ? (size_t)n : most;
    return WEFT_OK;
}

weft_status hub_object(const json_t *object, const char *key, json_t **out) {
    *out = find(object, key);
    REQUIRE(!*out || json_is_object(*out), WEFT_FORMAT, "%s is no object", key);
    return WEFT_OK;
}

weft_status hub_list(const json_t *object, const char *key, json_t **out) {
    *out = find(object, key);
    REQUIRE(!*out || json_is_array(*out), WEFT_FORMAT, "%s is no list", key);
    return WEFT_OK;
}

weft_status hub_id(const json_t *value, const char *what, int32_t *out) {
    REQUIRE(json_is_integer(value), WEFT_FORMAT, "%s is no whole number", what);
    json_int_t id = json_integer_value(value);
    REQUIRE(id >= 0, WEFT_FORMAT, "%s is %lld, which is no token's id", what, (long long)id);
    REQUIRE(id < HUB_MAX_TOKENS, WEFT_LIMIT, "%s is %lld: ids end at %d here", what, (long long)id,
            HUB_MAX_TOKENS - 1);
    *out = (int32_t)id;
    return WEFT_OK;
}

weft_status hub_choice(const json_t *object, const char *key, const char *const *names, int *out) {
    token_text text = {0};
    TRY(hub_text(object, key, &text));
    if (!text.data) return WEFT_OK;
    for (int i = 0; names[i]; i++) {
        if (strlen(names[i]) != text.n || memcmp(names[i], text.data, text.n) != 0) continue;
        *out = i;
        return WEFT_OK;
    }
    return error_set(WEFT_UNSUPPORTED, "%s \"%.40s\" is unknown", key, text.data);
}
#endif
