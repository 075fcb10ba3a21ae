/* A render in progress: the evaluator's state, what calls look like, and the functions its files
 * share. SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_RUN_H
#define WEFT_TEMPLATE_RUN_H

#include "template/ast.h"
#include "template/value.h"

typedef struct tframe {
    tvalue *slots;
    struct tframe *outer;
} tframe;

typedef struct tmacro {
    const tnode *node;
    tframe *closure;
} tmacro;

typedef struct trun {
    const template_program *program;
    tpl_mem mem;
    tdict *context;
    const struct tm *clock;
    uint64_t steps, max_steps;
    int depth, max_depth;
    str *out; /* where output goes now */
    size_t max_output;
    bool located; /* the message has its line */
} trun;

/* Arguments of a call as written. */
typedef struct tkeyword {
    const tstring *name;
    tvalue value;
} tkeyword;
typedef struct targs {
    const tvalue *items;
    size_t n;
    const tkeyword *keywords;
    size_t n_keywords;
} targs;

/* A function of the engine: `fn` gets its parameters in the order of `params`, T_MISSING where
 * not given; `raw` gets the arguments as written. params: names with commas; "?" after a name:
 * may be left out; a leading "/": by position only. */
enum { TPL_MAX_PARAMS = 8 };
typedef weft_status tpl_fn(trun *R, tvalue self, const tvalue *args, tvalue *out);
typedef weft_status tpl_raw_fn(trun *R, tvalue self, const targs *args, tvalue *out);
typedef struct tpl_row {
    const char *name, *params;
    tpl_fn *fn;
    tpl_raw_fn *raw;
    bool dynamic; /* needs the running template: never a constant */
} tpl_row;
typedef struct tpl_method_row {
    tpl_type type;
    tpl_row call;
} tpl_method_row;
typedef struct tfunction {
    tpl_row call;
    const char *repr;
} tfunction;

/* Iteration: one source of values after another, read once. */
typedef struct titerator {
    weft_status (*next)(trun *R, struct titerator *it, tvalue *out, bool *end);
    struct titerator *source;
    tvalue over;  /* what is iterated, or a callback's parameter */
    tvalue state; /* the kind's own */
    size_t at, count;
    int depth;
    bool flag, negate, finished;
    const tpl_row *row;
    targs args;
    tvalue name; /* map(attribute=): its parts; a filter or test by name */
    void *extra;
} titerator;

typedef struct tloop {
    titerator *it;
    tvalue iterable, current, before, after, changed;
    bool has_after, after_end;
    int64_t index0, length; /* length -1: not known yet */
    int64_t depth0;
    const tnode *recursive; /* the loop's node, or NULL */
    tframe *outer;
} tloop;

/* ---- run.c ---- */
weft_status tpl_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* WEFT_INVALID */
#ifdef __clang_analyzer__                  /* static analysis is told so */
#define tpl_fail(...) (tpl_fail(__VA_ARGS__), WEFT_INVALID)
#endif
weft_status tpl_step(trun *R, uint64_t cost);
/* `bytes` of text about to be made or searched. */
weft_status tpl_work(trun *R, size_t bytes);
weft_status tpl_enter_call(trun *R); /* pairs with R->depth-- */
weft_status tpl_write(trun *R, const char *data, size_t n);

/* ---- eval.c, exec.c ---- */
weft_status tpl_eval(trun *R, tframe *frame, const tnode *n, tvalue *out);
weft_status tpl_eval_arguments(trun *R, tframe *frame, const tnode *n, targs *out);
weft_status tpl_apply_filter(trun *R, tframe *frame, const tnode *n, tvalue input, tvalue *out);
typedef enum tflow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE } tflow;
weft_status tpl_exec(trun *R, tframe *frame, const tnodes *body, tflow *flow);
weft_status tpl_frame(trun *R, const tframe_plan *plan, tframe *outer, tframe **out);
void tpl_enter_scope(trun *R, tframe *frame, const tscope *scope);
tvalue *tpl_slot(tframe *frame, tplace place);
weft_status tpl_assign(trun *R, tframe *frame, const tnode *target, tvalue value);
weft_status tpl_capture(trun *R, tframe *frame, const tnodes *body, tflow *flow, tvalue *out);

/* ---- loop.c ---- */
weft_status tpl_exec_for(trun *R, tframe *frame, const tnode *n, tflow *flow);
weft_status tpl_loop_length(trun *R, tloop *loop, int64_t *n);
weft_status tpl_loop_attribute(trun *R, tloop *loop, const tstring *name, tvalue *out, bool *found);
weft_status tpl_loop_call(trun *R, tloop *loop, const targs *args, tvalue *out);

/* ---- call.c ---- */
weft_status tpl_call(trun *R, tvalue f, const targs *args, tvalue *out);
weft_status tpl_call_row(trun *R, const tpl_row *row, tvalue self, const targs *args, tvalue *out);
weft_status tpl_call_macro(trun *R, const tmacro *macro, const targs *args, tvalue *out);

/* ---- attribute.c ---- */
weft_status tpl_get_attribute(trun *R, tvalue object, const tstring *name, tvalue *out);
weft_status tpl_get_item(trun *R, tvalue object, tvalue key, tvalue *out);
weft_status tpl_get_slice(trun *R, tvalue object, const tvalue part[3], tvalue *out);
/* Only what getattr() of Python finds. */
weft_status tpl_find_attribute(trun *R, tvalue object, const tstring *name, tvalue *out,
                               bool *found);

/* ---- iterate.c ---- */
weft_status tpl_iterate(trun *R, tvalue v, titerator **out);
weft_status tpl_next(trun *R, titerator *it, tvalue *out, bool *end);
/* All items, copied. A text gives its characters. */
weft_status tpl_items(trun *R, tvalue v, tbuilder *out);
bool tpl_is_iterable(tvalue v);
weft_status tpl_iterator_new(trun *R, titerator *source, titerator **out);
tvalue tpl_of_iterator(titerator *it);

/* ---- operators.c ---- */
weft_status tpl_binary(trun *R, tpl_op op, tvalue a, tvalue b, tvalue *out);
weft_status tpl_negate(tvalue v, bool minus, tvalue *out);
weft_status tpl_compare_op(trun *R, tpl_op op, tvalue a, tvalue b, bool *out);
weft_status tpl_contains(trun *R, tvalue needle, tvalue container, bool *out);
weft_status tpl_repeat(trun *R, tvalue v, int64_t n, tvalue *out);
weft_status tpl_escape(trun *R, tvalue v, tvalue *out); /* HTML; safe text stays */

/* ---- tables ---- */
const tpl_row *tpl_find_filter(const char *name, size_t n);
const tpl_row *tpl_find_test(const char *name, size_t n);
const tfunction *tpl_find_global(const char *name, size_t n);
const tpl_method_row *tpl_find_method(tvalue object, const tstring *name);
/* "append" of a list and its like: exists, must not be used. */
bool tpl_is_forbidden(tvalue object, const tstring *name);

/* ---- text.c, number.c: Python's text and number functions ---- */
bool tpl_is_space(int32_t code);
typedef enum tpl_case { CASE_LOWER, CASE_UPPER, CASE_TITLE, CASE_FOLD } tpl_case;
/* The full mapping of the character at text[at], appended; gives the bytes read. */
weft_status tpl_map_case(const tstring *s, size_t at, tpl_case to, str *out, size_t *read);
weft_status tpl_change_case(trun *R, const tstring *s, tpl_case to, tvalue *out);
typedef enum tpl_class {
    CLASS_ALPHA,
    CLASS_ALNUM,
    CLASS_DECIMAL,
    CLASS_DIGIT,
    CLASS_NUMERIC,
    CLASS_SPACE,
    CLASS_PRINTABLE,
    CLASS_LOWER,
    CLASS_UPPER,
    CLASS_TITLE,
    CLASS_ID_START,
    CLASS_ID_CONTINUE,
    CLASS_CASED,
    CLASS_WORD
} tpl_class;
bool tpl_is_class(int32_t code, tpl_class which);
/* Python's int(text, base) and float(text): false when they raise ValueError. */
weft_status tpl_parse_int(const tstring *s, int64_t base, int64_t *out, bool *ok);
bool tpl_parse_float(const tstring *s, double *out);
weft_status tpl_round(trun *R, double f, int64_t digits, double *out);
weft_status tpl_float_to_int(double f, int64_t *out);

/* ---- percent.c, format.c, json.c, context.c ---- */
weft_status tpl_percent(trun *R, const tstring *format, tvalue values, tvalue *out);
weft_status tpl_str_format(trun *R, const tstring *format, const targs *args, tvalue *out);
weft_status tpl_to_json(trun *R, tvalue v, const tvalue *options, tvalue *out);
weft_status tpl_context(tpl_mem *mem, const char *json, size_t n, tdict **out);
/* A number by printf's letter, padded by nothing: digits of `format` spec such as 'e' with
 * precision. */
weft_status tpl_format_float(double f, char letter, int precision, bool alternate, str *out);

#endif
