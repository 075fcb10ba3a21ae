/* JSON files of a model's folder, read with jansson: every getter checks the kind and the range of
 * a value and names the key when it does not fit. A key that is absent or null counts as absent.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_CHECKPOINT_CONF_H
#define WEFT_CHECKPOINT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct json_t conf_value; /* jansson's */

/* Reads a file that must be an object; the caller closes it. Names the file when it fails. */
weft_status conf_open(const char *path, conf_value **out);
void conf_close(conf_value *root);

/* The value of a key; NULL when it is absent or null, or when `object` is NULL. */
const conf_value *conf_find(const conf_value *object, const char *key);

/* An integer from `least` to `most`; `otherwise` when absent (INT64_MIN: the key is required). */
weft_status conf_get_int(const conf_value *object, const char *key, int64_t least, int64_t most,
                         int64_t otherwise, int64_t *out);
/* A finite number above 0 and below 1e30; `otherwise` when absent (0: the key is required). */
weft_status conf_get_number(const conf_value *object, const char *key, double otherwise,
                            double *out);
weft_status conf_get_bool(const conf_value *object, const char *key, bool otherwise, bool *out);
/* The object's own text, NULL when absent. */
weft_status conf_get_text(const conf_value *object, const char *key, const char **out);
/* An object, NULL when absent. */
weft_status conf_get_object(const conf_value *object, const char *key, const conf_value **out);
/* An array (*n 0 and NULL when absent), and its elements. */
weft_status conf_get_array(const conf_value *object, const char *key, const conf_value **out,
                           size_t *n);
bool conf_is_array(const conf_value *value);
const conf_value *conf_at(const conf_value *array, size_t i);

const char *conf_text(const conf_value *value); /* NULL for anything but a string */
bool conf_int(const conf_value *value, int64_t *out);
bool conf_real(const conf_value *value, double *out);
/* Neither absent nor null, false, 0, "" or empty: what switches something on. */
bool conf_is_set(const conf_value *value);

/* Walks an object in its own order. Start with NULL; the end is NULL again. */
void *conf_next(const conf_value *object, void *at);
const char *conf_key(void *at);
const conf_value *conf_value_at(void *at);

#endif
