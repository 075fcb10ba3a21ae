/* Schemas by the kind of value they speak of: kinds.c for plain values, containers.c for lists and
 * objects. Each builds the texts of that kind that the schema (flattened) allows.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_SCHEMA_KINDS_H
#define WEFT_GRAMMAR_SCHEMA_KINDS_H

#include "grammar/schema.h"

/* The rules that every schema uses: s->space ... s->array. */
weft_status schema_base_rules(schema *s);
/* The rule of a schema at `place` below the current one; a new one waits to be built. */
weft_status schema_rule(schema *s, json_t *one, const char *place, int32_t *rule);

weft_status schema_build_number(schema *s, json_t *one, bool is_whole, nfa_frag *f);
weft_status schema_build_string(schema *s, json_t *one, nfa_frag *f);
weft_status schema_build_array(schema *s, json_t *one, nfa_frag *f);
weft_status schema_build_object(schema *s, json_t *one, nfa_frag *f);

/* A count such as minItems; `missing` where there is none. */
weft_status schema_count(const schema *s, json_t *one, const char *key, int64_t missing,
                         int64_t *out);

#endif
