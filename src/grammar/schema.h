/* What the files of the JSON Schema bridge share. SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_SCHEMA_H
#define WEFT_GRAMMAR_SCHEMA_H

#include <jansson.h>

#include "grammar/regex.h"

/* A schema whose rule has yet to be built. Schemas are read-only; those made here are owned. */
typedef struct schema_job {
    json_t *schema;
    int32_t rule;
    const char *path; /* where it stands, "#/properties/a" */
} schema_job;

typedef struct schema {
    nfa_builder b;
    json_t *root;
    schema_job *jobs; /* all schemas that have a rule; built in order */
    size_t n_jobs, n_built, jobs_capacity;
    json_t **owned;
    size_t n_owned, owned_capacity;
    const char *path;  /* of the one that is being built, for messages */
    spelling spelling; /* of the content of strings */
    /* rules that every schema uses */
    int32_t space, character, string, number, integer, boolean, null, value, object, array;
} schema;

/* Fails with the place in front. */
weft_status schema_fail(const schema *s, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes over `made` (NULL: out of memory); it lives as long as the bridge. */
weft_status schema_own(schema *s, json_t *made);

/* merge.c: the schema without $ref and allOf, which were merged into it. *out is the bridge's. */
weft_status schema_flatten(schema *s, json_t *in, json_t **out);
/* The conjunction of two schemas that have neither. */
weft_status schema_merge(schema *s, json_t *a, json_t *b, json_t **out);
/* Whether no value can be valid against both; false when that cannot be told. */
weft_status schema_are_disjoint(schema *s, json_t *a, json_t *b, int depth, bool *out);
/* "#/..." of a $ref. */
weft_status schema_resolve(schema *s, const char *reference, json_t **out);
/* Whether the keyword does not constrain. */
bool schema_is_annotation(const char *keyword);

/* number.c: decimals (or whole numbers) between bounds given as decimal texts, NULL = none. */
typedef struct number_bounds {
    bool is_whole, has_low, has_high, is_low_open, is_high_open;
    char low[64], high[64]; /* "-12.5", no exponent */
} number_bounds;
weft_status schema_number(schema *s, const number_bounds *n, nfa_frag *f);

#endif
