/* Schemas by the kind of value they speak of: kinds.c for numbers and texts, values.c for enum and
 * const, lists.c and objects.c. Each builds the texts of that kind that the conditions allow.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_SCHEMA_KINDS_H
#define WEFT_GRAMMAR_SCHEMA_KINDS_H

#include "grammar/schema.h"

/* The rules that every schema uses: s->space ... s->array. */
weft_status schema_base_rules(schema *s);
/* The rule of a schema at `place` below the current one; a new one waits to be built. */
weft_status schema_rule(schema *s, json_t *one, const char *place, int32_t *rule);

weft_status schema_build_number(schema *s, const schema_flat *f, nfa_frag *out);
weft_status schema_build_string(schema *s, const schema_flat *f, nfa_frag *out);
weft_status schema_build_array(schema *s, const schema_flat *f, nfa_frag *out);
weft_status schema_build_object(schema *s, const schema_flat *f, nfa_frag *out);
/* What enum and const leave. */
weft_status schema_build_values(schema *s, const schema_flat *f, nfa_frag *out);

/* Small steps of building. */
weft_status schema_add_text(schema *s, const char *text, nfa_frag *f);
weft_status schema_add_call(schema *s, int32_t rule, nfa_frag *f);
/* Puts another way, to `to`, in front of *hub. */
weft_status schema_add_way(schema *s, int32_t to, int32_t *hub);
/* One of n texts (sorted here; equal ones go), as a prefix tree. */
weft_status schema_add_choice(schema *s, char **texts, size_t n, nfa_frag *f);

/* Languages with the automata that they are made of. */
typedef struct schema_language {
    regular made[REGULAR_MOST_PARTS];
    size_t n_made;
    regular_all all;
} schema_language;
/* What the conditions say of the content of texts, or of numbers (without exponent). */
weft_status schema_text_language(schema *s, const schema_flat *f, schema_language *out);
weft_status schema_number_language(schema *s, const schema_flat *f, schema_language *out);
/* Takes over `made` as one more condition; frees it when that fails. */
weft_status schema_language_add(schema_language *l, regular *made, bool is_not);
void schema_language_free(schema_language *l);

/* Whether values meet the conditions, but for those on lists and objects: languages are made when
 * first needed. */
typedef struct schema_fitter {
    const schema_flat *f;
    schema_language *text, *number;
} schema_fitter;
weft_status schema_fitter_has(schema *s, schema_fitter *w, const json_t *value, bool *out);
void schema_fitter_free(schema_fitter *w);

/* The expression of a format's texts as they are written here, NULL = unknown; *outer: one that no
 * valid text of the format misses, "" = none is known. */
const char *schema_format(const char *name, const char **outer);

#endif
