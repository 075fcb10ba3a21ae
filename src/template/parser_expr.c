/* Expressions, by recursive descent in Jinja's order of precedence (not Python's: filters and
 * tests bind tighter than any operator but the unary signs, `~` lies between + and *, ** is
 * left-associative, `not` below comparisons). Depth is counted: of the parser's own recursion,
 * and of the tree it builds. SPDX-License-Identifier: MIT */
#include <string.h>

#include "template/ast.h"

static weft_status parse_unary(tparser *p, bool with_filter, tnode **out);
static weft_status parse_or(tparser *p, tnode **out);

static ttoken_kind kind(const tparser *p) { return p->at->kind; }
static void next(tparser *p) {
    if (p->at->kind != K_EOF) p->at++;
}

static weft_status unexpected(const tparser *p) {
    if (p->at->kind == K_NAME)
        return tpl_parse_fail(p, p->at->line, "unexpected '%.*s'",
                              tpl_shown(p->at->value.s->data, p->at->value.s->n, 60),
                              p->at->value.s->data);
    return tpl_parse_fail(p, p->at->line, "unexpected %s", tpl_token_text(p->at->kind));
}

static weft_status adopt2(tparser *p, tnode *n, tnode *a, tnode *b) {
    n->a = a;
    n->b = b;
    TRY(tpl_adopt(p, n, a));
    return b ? tpl_adopt(p, n, b) : WEFT_OK;
}

/* Joined texts: 'a' 'b'. */
static weft_status parse_strings(tparser *p, tnode *n) {
    n->constant = p->at->value;
    next(p);
    while (kind(p) == K_STRING) {
        TRY(tpl_concat(&p->program->mem, n->constant.s, p->at->value.s, &n->constant));
        next(p);
    }
    return WEFT_OK;
}

static weft_status parse_items(tparser *p, tnode *n, ttoken_kind end) {
    next(p);
    while (kind(p) != end) {
        if (n->list.n) TRY(tpl_expect(p, K_COMMA));
        if (kind(p) == end) break;
        tnode *item;
        TRY(tpl_parse_expression(p, true, &item));
        TRY(tpl_add(p, n, &n->list, item));
        if (end == K_RBRACE) {
            TRY(tpl_expect(p, K_COLON));
            TRY(tpl_parse_expression(p, true, &item));
            TRY(tpl_add(p, n, &n->list, item));
        }
    }
    return tpl_expect(p, end);
}

static bool constant_name(const tstring *name, tvalue *value) {
    if (tpl_string_is(name, "true") || tpl_string_is(name, "True")) *value = tpl_bool(true);
    else if (tpl_string_is(name, "false") || tpl_string_is(name, "False")) *value = tpl_bool(false);
    else if (tpl_string_is(name, "none") || tpl_string_is(name, "None")) *value = tpl_none();
    else return false;
    return true;
}

static weft_status parse_name(tparser *p, bool with_namespace, tnode **out) {
    const tstring *name = p->at->value.s;
    int line = p->at->line;
    next(p);
    tvalue value;
    if (constant_name(name, &value)) {
        TRY(tpl_node(p, N_CONST, line, out));
        (*out)->constant = value;
        return WEFT_OK;
    }
    bool reference = with_namespace && kind(p) == K_DOT;
    TRY(tpl_node(p, reference ? N_NSREF : N_NAME, line, out));
    (*out)->name = name;
    if (!reference) return WEFT_OK;
    next(p);
    return tpl_expect_name(p, &(*out)->attr);
}

static weft_status parse_tuple(tparser *p, bool simple, bool with_condition, bool with_namespace,
                               bool parentheses, const char *end_name, tnode **out);

static weft_status parse_primary(tparser *p, bool with_namespace, tnode **out) {
    int line = p->at->line;
    switch (kind(p)) {
    case K_NAME: return parse_name(p, with_namespace, out);
    case K_STRING: TRY(tpl_node(p, N_CONST, line, out)); return parse_strings(p, *out);
    case K_INTEGER:
    case K_FLOAT:
        TRY(tpl_node(p, N_CONST, line, out));
        (*out)->constant = p->at->value;
        next(p);
        return WEFT_OK;
    case K_LPAREN:
        next(p);
        TRY(tpl_enter(p));
        TRY(parse_tuple(p, false, true, false, true, NULL, out));
        p->depth--;
        return tpl_expect(p, K_RPAREN);
    case K_LBRACKET: TRY(tpl_node(p, N_LIST, line, out)); return parse_items(p, *out, K_RBRACKET);
    case K_LBRACE: TRY(tpl_node(p, N_DICT, line, out)); return parse_items(p, *out, K_RBRACE);
    default: return unexpected(p);
    }
}

static bool tuple_end(const tparser *p, const char *end_name) {
    ttoken_kind k = p->at->kind;
    return k == K_VARIABLE_END || k == K_BLOCK_END || k == K_RPAREN ||
           (end_name && tpl_at_name(p, end_name));
}

static weft_status parse_tuple(tparser *p, bool simple, bool with_condition, bool with_namespace,
                               bool parentheses, const char *end_name, tnode **out) {
    tnode *tuple, *item = NULL;
    bool is_tuple = false;
    TRY(tpl_node(p, N_TUPLE, p->at->line, &tuple));
    for (;;) {
        if (tuple->list.n) TRY(tpl_expect(p, K_COMMA));
        if (tuple_end(p, end_name)) break;
        if (simple) TRY(parse_primary(p, with_namespace, &item));
        else TRY(tpl_parse_expression(p, with_condition, &item));
        TRY(tpl_add(p, tuple, &tuple->list, item));
        if (kind(p) != K_COMMA) break;
        is_tuple = true;
    }
    *out = tuple;
    if (is_tuple) return WEFT_OK;
    if (tuple->list.n) *out = item;
    else if (!parentheses) return unexpected(p);
    return WEFT_OK;
}

weft_status tpl_parse_tuple(tparser *p, bool with_condition, const char *end_name, tnode **out) {
    return parse_tuple(p, false, with_condition, false, false, end_name, out);
}

static bool can_assign(const tnode *n) {
    if (n->kind == N_NAME || n->kind == N_NSREF) return true;
    if (n->kind != N_TUPLE) return false;
    for (size_t i = 0; i < n->list.n; i++)
        if (!can_assign(n->list.items[i])) return false;
    return true;
}

weft_status tpl_parse_target(tparser *p, const char *end_name, bool with_namespace, tnode **out) {
    int line = p->at->line;
    TRY(parse_tuple(p, true, true, with_namespace, false, end_name, out));
    if (!can_assign(*out)) return tpl_parse_fail(p, line, "this cannot be assigned to");
    return WEFT_OK;
}

/* ---- postfix: .name [item] (call) |filter `is test` ---- */

static weft_status parse_slice_part(tparser *p, tnode *slice, tnode **part) {
    if (kind(p) == K_COLON || kind(p) == K_RBRACKET || kind(p) == K_COMMA) return WEFT_OK;
    TRY(tpl_parse_expression(p, true, part));
    return tpl_adopt(p, slice, *part);
}

static weft_status parse_subscribed(tparser *p, tnode **out) {
    int line = p->at->line;
    tnode *first = NULL, *slice;
    if (kind(p) != K_COLON) {
        TRY(tpl_parse_expression(p, true, &first));
        if (kind(p) != K_COLON) {
            *out = first;
            return WEFT_OK;
        }
    }
    next(p);
    TRY(tpl_node(p, N_SLICE, line, &slice));
    slice->a = first;
    if (first) TRY(tpl_adopt(p, slice, first));
    TRY(parse_slice_part(p, slice, &slice->b));
    if (kind(p) == K_COLON) {
        next(p);
        TRY(parse_slice_part(p, slice, &slice->c));
    }
    *out = slice;
    return WEFT_OK;
}

static weft_status parse_subscript(tparser *p, tnode *object, tnode **out) {
    int line = p->at->line;
    tnode *item, *tuple;
    if (kind(p) == K_DOT) {
        next(p);
        if (kind(p) == K_NAME) {
            TRY(tpl_node(p, N_ATTRIBUTE, line, out));
            (*out)->name = p->at->value.s;
            next(p);
            return adopt2(p, *out, object, NULL);
        }
        if (kind(p) != K_INTEGER)
            return tpl_parse_fail(p, p->at->line, "a name or a number must follow the dot");
        TRY(tpl_node(p, N_CONST, line, &item));
        item->constant = p->at->value;
        next(p);
    } else {
        next(p);
        TRY(tpl_node(p, N_TUPLE, line, &tuple));
        while (kind(p) != K_RBRACKET) {
            if (tuple->list.n) TRY(tpl_expect(p, K_COMMA));
            TRY(parse_subscribed(p, &item));
            TRY(tpl_add(p, tuple, &tuple->list, item));
        }
        TRY(tpl_expect(p, K_RBRACKET));
        for (size_t i = 0; tuple->list.n > 1 && i < tuple->list.n; i++)
            if (tuple->list.items[i]->kind == N_SLICE)
                return tpl_parse_fail(p, line, "a slice cannot be part of a tuple");
        item = tuple->list.n == 1 ? tuple->list.items[0] : tuple;
    }
    TRY(tpl_node(p, N_ITEM, line, out));
    return adopt2(p, *out, object, item);
}

static weft_status parse_argument(tparser *p, tnode *call) {
    int line = p->at->line;
    tnode *value, *keyword;
    static const char wrong[] =
        "arguments are in the wrong order (positions, names, *list, **dict)";
    if (tpl_skip(p, K_MUL)) {
        if (call->dyn_args || call->dyn_kwargs) return tpl_parse_fail(p, line, "%s", wrong);
        TRY(tpl_parse_expression(p, true, &call->dyn_args));
        return tpl_adopt(p, call, call->dyn_args);
    }
    if (tpl_skip(p, K_POW)) {
        if (call->dyn_kwargs) return tpl_parse_fail(p, line, "%s", wrong);
        TRY(tpl_parse_expression(p, true, &call->dyn_kwargs));
        return tpl_adopt(p, call, call->dyn_kwargs);
    }
    if (kind(p) == K_NAME && p->at[1].kind == K_ASSIGN) {
        if (call->dyn_kwargs) return tpl_parse_fail(p, line, "%s", wrong);
        TRY(tpl_node(p, N_KEYWORD, line, &keyword));
        keyword->name = p->at->value.s;
        for (size_t i = 0; i < call->list2.n; i++)
            if (call->list2.items[i]->name == keyword->name)
                return tpl_parse_fail(p, line, "the argument '%.*s' is given twice",
                                      tpl_shown(keyword->name->data, keyword->name->n, 60),
                                      keyword->name->data);
        p->at += 2;
        TRY(tpl_parse_expression(p, true, &value));
        TRY(adopt2(p, keyword, value, NULL));
        return tpl_add(p, call, &call->list2, keyword);
    }
    if (call->dyn_args || call->dyn_kwargs || call->list2.n)
        return tpl_parse_fail(p, line, "%s", wrong);
    TRY(tpl_parse_expression(p, true, &value));
    return tpl_add(p, call, &call->list, value);
}

static weft_status parse_arguments(tparser *p, tnode *call) {
    TRY(tpl_expect(p, K_LPAREN));
    for (bool first = true; kind(p) != K_RPAREN; first = false) {
        if (!first) TRY(tpl_expect(p, K_COMMA));
        if (kind(p) == K_RPAREN) break;
        TRY(parse_argument(p, call));
    }
    return tpl_expect(p, K_RPAREN);
}

static weft_status parse_call(tparser *p, tnode *function, tnode **out) {
    TRY(tpl_node(p, N_CALL, p->at->line, out));
    TRY(adopt2(p, *out, function, NULL));
    return parse_arguments(p, *out);
}

static weft_status parse_postfix(tparser *p, tnode **node) {
    for (;;) {
        if (kind(p) == K_DOT || kind(p) == K_LBRACKET) TRY(parse_subscript(p, *node, node));
        else if (kind(p) == K_LPAREN) TRY(parse_call(p, *node, node));
        else return WEFT_OK;
    }
}

/* a, a.b, a.b.c */
static weft_status parse_dotted(tparser *p, const tstring **out) {
    TRY(tpl_expect_name(p, out));
    while (tpl_skip(p, K_DOT)) {
        const tstring *more;
        tvalue dot, joined;
        TRY(tpl_expect_name(p, &more));
        TRY(tpl_string(&p->program->mem, ".", 1, &dot));
        TRY(tpl_concat(&p->program->mem, *out, dot.s, &joined));
        TRY(tpl_concat(&p->program->mem, joined.s, more, &joined));
        TRY(tpl_intern(p->program, joined.s->data, joined.s->n, out));
    }
    return WEFT_OK;
}

weft_status tpl_parse_filter(tparser *p, tnode *input, bool start, tnode **out) {
    *out = input;
    while (start || kind(p) == K_PIPE) {
        if (!start) next(p);
        start = false;
        tnode *filter;
        TRY(tpl_node(p, N_FILTER, p->at->line, &filter));
        TRY(parse_dotted(p, &filter->name));
        filter->a = *out;
        if (*out) TRY(tpl_adopt(p, filter, *out));
        if (kind(p) == K_LPAREN) TRY(parse_arguments(p, filter));
        *out = filter;
    }
    return WEFT_OK;
}

static bool argument_follows(const tparser *p) {
    switch (p->at->kind) {
    case K_NAME: return !tpl_at_name(p, "else") && !tpl_at_name(p, "or") && !tpl_at_name(p, "and");
    case K_STRING:
    case K_INTEGER:
    case K_FLOAT:
    case K_LBRACKET:
    case K_LBRACE: return true;
    default: return false;
    }
}

static weft_status parse_test(tparser *p, tnode *input, tnode **out) {
    int line = p->at->line;
    next(p);
    bool negated = tpl_skip_name(p, "not");
    tnode *test, *argument;
    TRY(tpl_node(p, N_TEST, line, &test));
    TRY(adopt2(p, test, input, NULL));
    TRY(parse_dotted(p, &test->name));
    if (kind(p) == K_LPAREN) TRY(parse_arguments(p, test));
    else if (argument_follows(p)) {
        if (tpl_at_name(p, "is"))
            return tpl_parse_fail(p, line, "tests cannot be chained with 'is'");
        TRY(parse_primary(p, false, &argument));
        TRY(parse_postfix(p, &argument));
        TRY(tpl_add(p, test, &test->list, argument));
    }
    *out = test;
    if (!negated) return WEFT_OK;
    TRY(tpl_node(p, N_NOT, line, out));
    return adopt2(p, *out, test, NULL);
}

static weft_status parse_filters(tparser *p, tnode **node) {
    for (;;) {
        if (kind(p) == K_PIPE) TRY(tpl_parse_filter(p, *node, false, node));
        else if (tpl_at_name(p, "is")) TRY(parse_test(p, *node, node));
        else if (kind(p) == K_LPAREN) TRY(parse_call(p, *node, node));
        else return WEFT_OK;
    }
}

/* ---- operators ---- */

static weft_status parse_unary(tparser *p, bool with_filter, tnode **out) {
    int line = p->at->line;
    if (kind(p) == K_SUB || kind(p) == K_ADD) {
        tnode *n, *operand;
        TRY(tpl_node(p, kind(p) == K_SUB ? N_NEGATIVE : N_POSITIVE, line, &n));
        next(p);
        TRY(tpl_enter(p));
        TRY(parse_unary(p, false, &operand));
        p->depth--;
        TRY(adopt2(p, n, operand, NULL));
        *out = n;
    } else TRY(parse_primary(p, false, out));
    TRY(parse_postfix(p, out));
    return with_filter ? parse_filters(p, out) : WEFT_OK;
}

static weft_status binary(tparser *p, int line, tpl_op op, tnode *a, tnode *b, tnode **out) {
    TRY(tpl_node(p, N_BINARY, line, out));
    (*out)->op = op;
    return adopt2(p, *out, a, b);
}

static weft_status parse_pow(tparser *p, tnode **out) {
    TRY(parse_unary(p, true, out));
    while (kind(p) == K_POW) {
        int line = p->at->line;
        tnode *right;
        next(p);
        TRY(parse_unary(p, true, &right));
        TRY(binary(p, line, OP_POW, *out, right, out));
    }
    return WEFT_OK;
}

static weft_status parse_product(tparser *p, tnode **out) {
    TRY(parse_pow(p, out));
    for (;;) {
        int line = p->at->line;
        tpl_op op;
        switch (kind(p)) {
        case K_MUL: op = OP_MUL; break;
        case K_DIV: op = OP_DIV; break;
        case K_FLOORDIV: op = OP_FLOORDIV; break;
        case K_MOD: op = OP_MOD; break;
        default: return WEFT_OK;
        }
        tnode *right;
        next(p);
        TRY(parse_pow(p, &right));
        TRY(binary(p, line, op, *out, right, out));
    }
}

static weft_status parse_concat(tparser *p, tnode **out) {
    TRY(parse_product(p, out));
    if (kind(p) != K_TILDE) return WEFT_OK;
    tnode *n, *item = *out;
    TRY(tpl_node(p, N_CONCAT, p->at->line, &n));
    TRY(tpl_add(p, n, &n->list, item));
    while (tpl_skip(p, K_TILDE)) {
        TRY(parse_product(p, &item));
        TRY(tpl_add(p, n, &n->list, item));
    }
    *out = n;
    return WEFT_OK;
}

static weft_status parse_sum(tparser *p, tnode **out) {
    TRY(parse_concat(p, out));
    while (kind(p) == K_ADD || kind(p) == K_SUB) {
        int line = p->at->line;
        tpl_op op = kind(p) == K_ADD ? OP_ADD : OP_SUB;
        tnode *right;
        next(p);
        TRY(parse_concat(p, &right));
        TRY(binary(p, line, op, *out, right, out));
    }
    return WEFT_OK;
}

static bool comparison(tparser *p, tpl_op *op) {
    switch (kind(p)) {
    case K_EQ: *op = OP_EQ; break;
    case K_NE: *op = OP_NE; break;
    case K_LT: *op = OP_LT; break;
    case K_LE: *op = OP_LE; break;
    case K_GT: *op = OP_GT; break;
    case K_GE: *op = OP_GE; break;
    default:
        if (tpl_skip_name(p, "in")) {
            *op = OP_IN;
            return true;
        }
        if (!tpl_at_name(p, "not") || p->at[1].kind != K_NAME ||
            !tpl_string_is(p->at[1].value.s, "in"))
            return false;
        *op = OP_NOT_IN;
        next(p);
    }
    next(p);
    return true;
}

static weft_status parse_compare(tparser *p, tnode **out) {
    TRY(parse_sum(p, out));
    tnode *n = NULL, *operand, *right;
    for (;;) {
        int line = p->at->line;
        tpl_op op;
        if (!comparison(p, &op)) return WEFT_OK;
        if (!n) {
            TRY(tpl_node(p, N_COMPARE, line, &n));
            TRY(adopt2(p, n, *out, NULL));
            *out = n;
        }
        TRY(parse_sum(p, &right));
        TRY(tpl_node(p, N_OPERAND, line, &operand));
        operand->op = op;
        TRY(adopt2(p, operand, right, NULL));
        TRY(tpl_add(p, n, &n->list, operand));
    }
}

static weft_status parse_not(tparser *p, tnode **out) {
    if (!tpl_at_name(p, "not")) return parse_compare(p, out);
    tnode *n, *operand;
    TRY(tpl_node(p, N_NOT, p->at->line, &n));
    next(p);
    TRY(tpl_enter(p));
    TRY(parse_not(p, &operand));
    p->depth--;
    *out = n;
    return adopt2(p, n, operand, NULL);
}

static weft_status parse_and(tparser *p, tnode **out) {
    TRY(parse_not(p, out));
    while (tpl_at_name(p, "and")) {
        tnode *n, *right;
        TRY(tpl_node(p, N_AND, p->at->line, &n));
        next(p);
        TRY(parse_not(p, &right));
        TRY(adopt2(p, n, *out, right));
        *out = n;
    }
    return WEFT_OK;
}

static weft_status parse_or(tparser *p, tnode **out) {
    TRY(parse_and(p, out));
    while (tpl_at_name(p, "or")) {
        tnode *n, *right;
        TRY(tpl_node(p, N_OR, p->at->line, &n));
        next(p);
        TRY(parse_and(p, &right));
        TRY(adopt2(p, n, *out, right));
        *out = n;
    }
    return WEFT_OK;
}

weft_status tpl_parse_expression(tparser *p, bool with_condition, tnode **out) {
    TRY(tpl_enter(p));
    TRY(parse_or(p, out));
    while (with_condition && tpl_at_name(p, "if")) {
        tnode *n;
        TRY(tpl_node(p, N_CONDITION, p->at->line, &n));
        next(p);
        TRY(parse_or(p, &n->b));
        TRY(adopt2(p, n, *out, n->b));
        if (tpl_skip_name(p, "else")) {
            TRY(tpl_parse_expression(p, true, &n->c));
            TRY(tpl_adopt(p, n, n->c));
        }
        *out = n;
    }
    p->depth--;
    return WEFT_OK;
}
