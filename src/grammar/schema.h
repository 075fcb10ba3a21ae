/* What the files of the JSON Schema bridge share.
 *
 * A schema is read into a schema_flat: $ref and allOf are followed, `not`, if/then/else and
 * dependencies become schemas without them, and what is left is conditions by kind of value. Lists
 * in it are JSON arrays that the bridge owns; NULL is an empty one.
 * SPDX-License-Identifier: MIT */
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

/* A place that a $ref may name: a schema with an $id or an $anchor, or, for the $ref itself, the
 * text of which is `one`, what it is relative to. */
typedef struct schema_place {
    json_t *one;
    const char *uri;
} schema_place;

typedef struct schema {
    nfa_builder b;
    json_t *root;
    schema_job *jobs; /* all schemas that have a rule; built in order */
    size_t n_jobs, n_built, jobs_capacity;
    sequences job_keys; /* addresses of the jobs' schemas */
    json_t **owned;
    size_t n_owned, owned_capacity;
    sequences both_keys; /* addresses of the members of conjunctions */
    json_t **both;       /* the conjunction of each */
    size_t n_both, both_capacity;
    schema_place *places, *references; /* refs.c */
    size_t n_places, places_capacity, n_references, references_capacity;
    sequences walked, reference_keys;
    const char *path;         /* of the one that is being built, for messages */
    spelling spelling, plain; /* of the content of strings, and of numbers */
    size_t work;
    /* rules that every schema uses */
    int32_t space, character, string, number, integer, boolean, null, value, object, array;
} schema;

/* Kinds of value; a number has one of two. */
enum {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_WHOLE = 4,
    TYPE_FRACTION = 8,
    TYPE_NUMBER = 12,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ALL = 127
};

/* Keywords of schemas made here; no schema of a user's may have them. */
#define SCHEMA_TYPES "\1types"              /* bits */
#define SCHEMA_NOT_VALUES "\1notValues"     /* a list of plain values */
#define SCHEMA_NOT_MULTIPLE "\1notMultiple" /* a number */
#define SCHEMA_NOT_PATTERN "\1notPattern"   /* an expression */
#define SCHEMA_FROM "\1from" /* beside contains: only items from this one on are counted */
#define SCHEMA_HAS "\1has"   /* {"key": K, "value": V}: some member is of both schemas */

/* number.c: decimals (or whole numbers) between bounds given as decimal texts. */
enum { NUMBER_SIZE = 96 };
typedef struct number_bounds {
    bool is_whole, has_low, has_high, is_low_open, is_high_open;
    char low[NUMBER_SIZE], high[NUMBER_SIZE]; /* "-12.5", no exponent */
} number_bounds;
weft_status schema_number(nfa_builder *b, const number_bounds *n, nfa_frag *f);
/* < 0, 0, > 0 as a is less than, equal to, greater than b. */
int schema_number_compare(const char *a, const char *b);
/* The texts without exponent of the multiples of a decimal > 0. */
weft_status schema_multiples(const char *text, regular *out);

typedef struct schema_flat {
    unsigned types;
    json_t *values, *not_values; /* values: NULL = any */
    number_bounds bounds;
    json_t *multiples, *not_multiples;
    int64_t min_length, max_length; /* here and below: most < 0: none */
    json_t *patterns, *not_patterns, *formats;
    int64_t min_items, max_items;
    bool is_unique;
    json_t *lists;    /* schemas with prefixItems or items */
    json_t *contains; /* schemas with contains */
    int64_t min_properties, max_properties;
    json_t *objects; /* schemas with properties, patternProperties or additionalProperties */
    json_t *names;   /* of propertyNames */
    json_t *has;     /* of SCHEMA_HAS */
    json_t *required, *is_required; /* the names as a list, and as an object's keys */
    json_t *any_of, *one_of;        /* lists of lists of schemas */
    json_t *parts;                  /* schemas that say all of this but any_of and one_of */
    bool has_choice;                /* an applicator other than $ref and allOf was met */
} schema_flat;

/* Fails with the place in front. */
weft_status schema_fail(const schema *s, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a message that is there, unless it has its place already. */
weft_status schema_where(const schema *s, weft_status status, const char *part);
/* Takes over `made` (NULL: out of memory); it lives as long as the bridge. */
weft_status schema_own(schema *s, json_t *made);
/* Appends to a list, which is made if it is NULL. */
weft_status schema_push(schema *s, json_t **list, json_t *item);
/* The schema that says what all of a list say: true, false, one of them, or an allOf. */
weft_status schema_both(schema *s, json_t *list, json_t **out);
/* Counts a step; WEFT_LIMIT when there were too many. */
weft_status schema_step(schema *s);

/* flat.c */
weft_status schema_flatten(schema *s, json_t *in, schema_flat *out);
bool schema_is_keyword(const char *name);
/* Whether the keyword does not constrain. */
bool schema_is_annotation(const char *keyword);
unsigned schema_type_of(const json_t *value);
/* As JSON Schema has it: 1 equals 1.0. */
bool schema_equal(const json_t *a, const json_t *b);
bool schema_list_has(const json_t *list, const json_t *value);
bool schema_names(const json_t *list, const char *name); /* a list of texts */
/* A number as a decimal without an exponent: the shortest that reads back as the same. */
weft_status schema_decimal(const schema *s, const json_t *value, const char *key,
                           char out[NUMBER_SIZE]);

/* negate.c: a schema for the values that are not valid against one. */
weft_status schema_negate(schema *s, json_t *in, json_t **out);
/* A schema for the values equal to a list or object. */
weft_status schema_structure(schema *s, json_t *value, json_t **out);

/* empty.c: true where no value can be valid; false when that cannot be told. */
weft_status schema_is_empty(schema *s, json_t *in, int depth, bool *out);

/* refs.c: finds the places in the document, once; then where a $ref's text leads. */
weft_status schema_find_places(schema *s);
weft_status schema_resolve(schema *s, json_t *reference, json_t **out);

#endif
