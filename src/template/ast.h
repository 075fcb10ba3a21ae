/* The tree of a parsed template, its names resolved to places, and the interfaces of lexer, parser
 * and resolver.
 *
 * Jinja compiles a template to Python functions, and which value a name shows follows from how
 * it does that. So do we: a `tframe_plan` is one such function (the root, a macro, a call block,
 * a recursive loop, a loop's filter) with a number of slots; a `tscope` is a block inside it and
 * says what its slots hold when the block is entered. SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_AST_H
#define WEFT_TEMPLATE_AST_H

#include "base/map.h"
#include "template/template.h"
#include "template/value.h"

typedef enum tnode_kind {
    /* expressions */
    N_CONST, /* constant */
    N_NAME,  /* name, place */
    N_TUPLE, /* list */
    N_LIST,  /* list */
    N_DICT,  /* list: key, value, key, value, ... */
    N_POSITIVE,
    N_NEGATIVE,
    N_NOT,    /* a */
    N_BINARY, /* op on a, b */
    N_AND,
    N_OR,        /* a, b */
    N_CONCAT,    /* list */
    N_COMPARE,   /* a, then list of N_OPERAND */
    N_OPERAND,   /* op, a */
    N_CONDITION, /* a if b else c (c may be NULL) */
    N_ATTRIBUTE, /* a.name */
    N_ITEM,      /* a[b] */
    N_SLICE,     /* a:b:c, each may be NULL; only as b of N_ITEM */
    N_CALL,      /* a(list, list2 of N_KEYWORD, *dyn_args, **dyn_kwargs) */
    N_KEYWORD,   /* name = a */
    N_FILTER,    /* a|name(arguments as N_CALL); a NULL: the text of the block */
    N_TEST,      /* a is name(arguments) */
    /* statements */
    N_OUTPUT,       /* list of expressions and N_DATA */
    N_DATA,         /* constant text */
    N_SET,          /* a = b */
    N_SET_BLOCK,    /* a = list, through the filter b */
    N_FOR,          /* for a in b if c: list, else list2; flag: recursive */
    N_IF,           /* if a: list, then list2 of N_IF (elif), else list3 */
    N_MACRO,        /* name(list of N_NAME, defaults list2): list3 */
    N_CALL_BLOCK,   /* as N_MACRO; a: the call, NULL for `generation` */
    N_FILTER_BLOCK, /* a: filter, list */
    N_WITH,         /* list of targets, list2 of values, list3 */
    N_SCOPE,        /* list */
    N_BREAK,
    N_CONTINUE,
    N_NSREF /* name.attr as a target; place */
} tnode_kind;

typedef enum tpl_op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOT_IN
} tpl_op;

typedef struct tnodes {
    struct tnode **items;
    size_t n, capacity;
} tnodes;

/* Where a name's value lies: `hops` frames outwards, at `slot`. */
typedef struct tplace {
    uint32_t hops, slot;
} tplace;

typedef enum tload_kind { LOAD_PARAMETER, LOAD_RESOLVE, LOAD_ALIAS, LOAD_UNDEFINED } tload_kind;
typedef struct tload {
    tload_kind kind;
    uint32_t slot;
    tplace from;         /* LOAD_ALIAS */
    const tstring *name; /* LOAD_RESOLVE: from the context */
} tload;

typedef struct tscope {
    tload *loads;
    size_t n;
} tscope;

typedef struct tframe_plan {
    struct tframe_plan *outer;
    uint32_t n_slots;
} tframe_plan;

typedef struct tnode {
    tnode_kind kind;
    tpl_op op;
    int line, depth;
    bool flag;
    const tstring *name, *attr;
    tvalue constant;
    struct tnode *a, *b, *c, *dyn_args, *dyn_kwargs;
    tnodes list, list2, list3;
    /* from the resolver */
    tplace place, special[3]; /* a macro's caller, kwargs, varargs; a loop's `loop` in special[0] */
    bool uses[3];             /* which of them exist */
    tscope scope, scope2, scope3; /* of the body; of a loop's else; of a loop's filter */
    tframe_plan *frame, *frame2;  /* N_MACRO, N_CALL_BLOCK, recursive N_FOR; a loop's filter */
    const struct tpl_row *row;    /* N_FILTER, N_TEST; NULL: no such name, an error when it runs */
} tnode;

struct template_program {
    tpl_mem mem;
    map names; /* interned names to their number in `interned` */
    const tstring **interned;
    size_t n_interned, interned_capacity;
    tnodes body;
    tscope scope;
    tframe_plan *frame;
};

/* ---- lexer.c ---- */

typedef enum ttoken_kind {
    K_DATA,
    K_VARIABLE_BEGIN,
    K_VARIABLE_END,
    K_BLOCK_BEGIN,
    K_BLOCK_END,
    K_NAME,
    K_STRING,
    K_INTEGER,
    K_FLOAT,
    K_ADD,
    K_SUB,
    K_DIV,
    K_FLOORDIV,
    K_MUL,
    K_MOD,
    K_POW,
    K_TILDE,
    K_LBRACKET,
    K_RBRACKET,
    K_LPAREN,
    K_RPAREN,
    K_LBRACE,
    K_RBRACE,
    K_EQ,
    K_NE,
    K_GT,
    K_GE,
    K_LT,
    K_LE,
    K_ASSIGN,
    K_DOT,
    K_COLON,
    K_PIPE,
    K_COMMA,
    K_SEMICOLON,
    K_EOF
} ttoken_kind;

typedef struct ttoken {
    ttoken_kind kind;
    int line;
    tvalue value; /* data, name and string: a text; numbers */
} ttoken;

typedef struct ttokens {
    ttoken *items; /* ends with K_EOF */
    size_t n, capacity;
} ttokens;

/* Tokens are allocated with mem_*; their texts live in the program. `source` is valid UTF-8. */
weft_status tpl_lex(template_program *program, const char *source, size_t n, ttokens *out);
/* The one copy of a name: equal names are the same pointer. */
weft_status tpl_intern(template_program *program, const char *data, size_t n, const tstring **out);
const char *tpl_token_text(ttoken_kind kind);

/* ---- parser.c, parser_expr.c ---- */

typedef struct tparser {
    template_program *program;
    const ttoken *at;
    int depth;
} tparser;

enum { TPL_MAX_PARSE_DEPTH = 200, TPL_MAX_TREE_DEPTH = 400, TPL_MAX_SOURCE = 4 << 20 };

weft_status tpl_parse_fail(const tparser *p, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* static analysis is told that it fails */
#define tpl_parse_fail(...) (tpl_parse_fail(__VA_ARGS__), WEFT_FORMAT)
#endif
weft_status tpl_node(tparser *p, tnode_kind kind, int line, tnode **out);
/* Adds a child to a list, and its depth to the parent's. */
weft_status tpl_add(tparser *p, tnode *parent, tnodes *list, tnode *child);
weft_status tpl_adopt(tparser *p, tnode *parent, const tnode *child);
weft_status tpl_expect(tparser *p, ttoken_kind kind);
bool tpl_at_name(const tparser *p, const char *name);
bool tpl_skip(tparser *p, ttoken_kind kind);
bool tpl_skip_name(tparser *p, const char *name);
weft_status tpl_expect_name(tparser *p, const tstring **out);
weft_status tpl_enter(tparser *p);

weft_status tpl_parse_expression(tparser *p, bool with_condition, tnode **out);
/* An expression, or a tuple when commas follow; `end_name`: a name that ends it. */
weft_status tpl_parse_tuple(tparser *p, bool with_condition, const char *end_name, tnode **out);
weft_status tpl_parse_target(tparser *p, const char *end_name, bool with_namespace, tnode **out);
/* `start`: the filter's name comes at once, without a bar. Gives NULL when there is no filter. */
weft_status tpl_parse_filter(tparser *p, tnode *input, bool start, tnode **out);
weft_status tpl_parse_statements(tparser *p, tnode *parent, tnodes *body, const char *const *ends);

/* ---- resolver.c ---- */
weft_status tpl_resolve(template_program *program);

#endif
