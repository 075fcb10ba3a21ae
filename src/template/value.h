/* The values of a template: Python's, as far as templates can tell. Values are small and copied;
 * what they point to lives in one arena per render (or per program, for constants) and is never
 * changed once it can be seen, but for namespaces, loops, cyclers, joiners and half-read iterators.
 *
 * Text is UTF-8, always valid, not 0-terminated; `chars` counts code points. Every function that
 * allocates may fail. SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_VALUE_H
#define WEFT_TEMPLATE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

/* An arena with a limit. `tail` is where the last long concatenation ended: appending to that
 * very text again extends it in place, so that building a text piece by piece is linear. */
typedef struct tpl_mem {
    mem_arena arena;
    size_t used, limit;
    char *tail;
    size_t tail_room;
} tpl_mem;

/* Zeroed, or NULL with a message (out of memory, or the limit). */
void *tpl_alloc(tpl_mem *mem, size_t bytes);
void *tpl_array(tpl_mem *mem, size_t n, size_t element_bytes);

typedef enum tpl_type {
    T_MISSING, /* no value at all: never seen by a template */
    T_UNDEFINED,
    T_NONE,
    T_BOOL,
    T_INT,
    T_FLOAT,
    T_STRING,
    T_LIST,
    T_TUPLE,
    T_DICT,
    T_VIEW,
    T_RANGE,
    T_ITERATOR,
    T_METHOD,
    T_FUNCTION,
    T_MACRO,
    T_LOOP,
    T_NAMESPACE,
    T_CYCLER,
    T_JOINER
} tpl_type;

typedef struct tstring {
    const char *data;
    size_t n, chars;
    bool safe; /* Markup: text that says it is HTML already */
} tstring;

typedef struct tvalue {
    tpl_type type;
    union {
        bool b;
        int64_t i;
        double f;
        const tstring *s;
        const struct tlist *l; /* list and tuple */
        struct tdict *d;       /* dict and namespace */
        const struct tundefined *u;
        const struct tview *view;
        const struct trange *range;
        struct titerator *it;
        const struct tmethod *method;
        const struct tfunction *fn;
        const struct tmacro *macro;
        struct tloop *loop;
        struct tcycler *cycler;
        struct tjoiner *joiner;
        const void *p;
    };
} tvalue;

typedef struct tlist {
    tvalue *items;
    size_t n;
    int depth;       /* how deep lists and dicts are nested in it, itself included */
    uint64_t weight; /* what a walk over all of it costs: values, and 64-byte pieces of text */
    bool grouped;    /* a (grouper, list) pair, whose parts have names */
} tlist;

typedef struct tentry {
    tvalue key, value;
    uint64_t hash;
} tentry;

/* Keys in the order of insertion. `index` (open addressing, entry + 1) exists from 9 entries on. */
typedef struct tdict {
    tentry *entries;
    size_t n, capacity;
    uint32_t *index;
    size_t n_index;
    int depth;
    uint64_t weight;
} tdict;

/* Why it is undefined; the sentence is built only when somebody uses the value. */
typedef struct tundefined {
    const char *
        /* or NULL: `name` is not defined, or (owner set) owner has no such attribute or element */
        hint;
    const char *owner;   /* type of the object that was asked */
    const tstring *name; /* may be NULL */
    bool element;        /* name is the repr of an index */
} tundefined;

typedef enum tpl_view_kind { VIEW_KEYS, VIEW_VALUES, VIEW_ITEMS } tpl_view_kind;
typedef struct tview {
    tdict *dict;
    tpl_view_kind kind;
} tview;

typedef struct trange {
    int64_t start, stop, step, n;
} trange;

typedef struct tmethod {
    tvalue self;
    const struct tpl_method_row *row;
} tmethod;

typedef struct tcycler {
    const tlist *items;
    size_t at;
} tcycler;

typedef struct tjoiner {
    tvalue separator;
    bool used;
} tjoiner;

static inline tvalue tpl_none(void) { return (tvalue){.type = T_NONE}; }
static inline tvalue tpl_bool(bool b) { return (tvalue){.type = T_BOOL, .b = b}; }
static inline tvalue tpl_int(int64_t i) { return (tvalue){.type = T_INT, .i = i}; }
static inline tvalue tpl_float(double f) { return (tvalue){.type = T_FLOAT, .f = f}; }
static inline tvalue tpl_of_list(const tlist *l) { return (tvalue){.type = T_LIST, .l = l}; }
static inline tvalue tpl_of_tuple(const tlist *l) { return (tvalue){.type = T_TUPLE, .l = l}; }
static inline tvalue tpl_of_string(const tstring *s) { return (tvalue){.type = T_STRING, .s = s}; }
static inline tvalue tpl_of_dict(tdict *d) { return (tvalue){.type = T_DICT, .d = d}; }

/* Python's name of the type, as in "'dict object' has no ...": "dict", "str", ... */
const char *tpl_type_name(tvalue v);

/* Text. tpl_string copies; tpl_string_take wraps bytes that live in the arena; tpl_string_new
 * gives room to write n bytes into (set chars by tpl_string_take afterwards). All check the
 * limit of one text. */
weft_status tpl_string(tpl_mem *mem, const char *data, size_t n, tvalue *out);
weft_status tpl_string_take(tpl_mem *mem, const char *data, size_t n, bool safe, tvalue *out);
weft_status tpl_string_room(tpl_mem *mem, size_t n, char **out);
weft_status tpl_concat(tpl_mem *mem, const tstring *a, const tstring *b, tvalue *out);
bool tpl_string_is(const tstring *s, const char *text);
/* How much of a text a message shows: at most `limit` bytes, whole characters. For "%.*s". */
int tpl_shown(const char *data, size_t n, size_t limit);
size_t tpl_count_chars(const char *data, size_t n);
/* Byte offset of code point `at` (0..chars). */
size_t tpl_char_offset(const tstring *s, size_t at);

/* Lists under construction: grow in the arena. */
typedef struct tbuilder {
    tvalue *items;
    size_t n, capacity;
} tbuilder;
weft_status tpl_push(tpl_mem *mem, tbuilder *b, tvalue v);
weft_status tpl_build(tpl_mem *mem, const tbuilder *b, tpl_type list_or_tuple, tvalue *out);
weft_status tpl_pair(tpl_mem *mem, tvalue a, tvalue b, tvalue *out);

/* Dicts. A key that cannot be hashed is an error of tpl_dict_set and "not found" of
 * tpl_dict_get. */
weft_status tpl_dict_new(tpl_mem *mem, tdict **out);
weft_status tpl_dict_set(tpl_mem *mem, tdict *d, tvalue key, tvalue value);
const tvalue *tpl_dict_get(const tdict *d, tvalue key);
const tvalue *tpl_dict_find(const tdict *d, const char *key, size_t n);
/* False for lists, dicts, sets of them: not usable as keys. */
bool tpl_hash(tvalue v, uint64_t *hash);

/* Undefined values. Arguments must outlive the arena (constants or arena texts). */
weft_status tpl_undefined(tpl_mem *mem, const char *hint, const tstring *name, tvalue *out);
weft_status tpl_undefined_of(tpl_mem *mem, tvalue owner, tvalue name, tvalue *out);
/* Sets the message of a use of an undefined value. */
weft_status tpl_undefined_fail(tvalue v);

bool tpl_truth(tvalue v);
/* False when the type has no length (numbers, none, iterators, ...). */
bool tpl_length(tvalue v, int64_t *n);
/* How deep containers are nested in it, at most TPL_MAX_NESTING, and what a walk over it costs,
 * at most TPL_MAX_WEIGHT (shared parts count each time): so recursion over values ends, and
 * soon. */
int tpl_depth(tvalue v);
uint64_t tpl_weight(tvalue v);
weft_status tpl_check_container(int depth, uint64_t weight);
/* == of Python. */
bool tpl_equal(tvalue a, tvalue b);
/* a < b, a <= b: numbers, texts, lists and tuples; else an error that names the types. */
weft_status tpl_less(tvalue a, tvalue b, bool or_equal, bool *out);
/* Numbers (bool is one): false for other types. */
bool tpl_as_int(tvalue v, int64_t *i);
bool tpl_as_float(tvalue v, double *f);

/* str() and repr() appended. */
weft_status tpl_str(tvalue v, str *out);
weft_status tpl_repr(tvalue v, str *out);
/* str() as a value; a text stays itself (and safe). */
weft_status tpl_to_string(tpl_mem *mem, tvalue v, tvalue *out);
weft_status tpl_from_str(tpl_mem *mem, str *text, bool safe,
                         tvalue *out); /* copies and frees `text` */
/* Python's repr of a float. */
weft_status tpl_float_text(double f, str *out);
weft_status tpl_string_repr(const tstring *s, str *out);

enum {
    TPL_MAX_STRING = 64 << 20,
    TPL_MAX_ITEMS = 4 << 20,
    TPL_MAX_NESTING = 200,
    TPL_MAX_WEIGHT = 1 << 25,
    TPL_MAX_RANGE = 100000
};

#endif
