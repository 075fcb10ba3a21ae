/* Statements, and the entry points template_parse and template_free.
 *
 * What needs other templates (extends, include, import, block) or switches escaping on
 * (autoescape) is refused by name: a chat template stands alone. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "template/ast.h"

#undef tpl_parse_fail /* see ast.h */
weft_status tpl_parse_fail(const tparser *p, int line, const char *format, ...) {
    (void)p;
    va_list args;
    va_start(args, format);
    error_set_v(WEFT_FORMAT, format, args);
    va_end(args);
    return error_prefix(WEFT_FORMAT, "line %d of the template", line);
}

static weft_status too_deep(int line) {
    return error_set(
        WEFT_LIMIT,
        "line %d of the template: expressions or blocks are nested deeper than the limit", line);
}

weft_status tpl_node(tparser *p, tnode_kind kind, int line, tnode **out) {
    tnode *n = tpl_alloc(&p->program->mem, sizeof *n);
    if (!n) return error_status();
    n->kind = kind;
    n->line = line;
    n->depth = 1;
    n->constant = tpl_none();
    *out = n;
    return WEFT_OK;
}

weft_status tpl_adopt(tparser *p, tnode *parent, const tnode *child) {
    (void)p;
    if (child->depth + 1 > parent->depth) parent->depth = child->depth + 1;
    return parent->depth > TPL_MAX_TREE_DEPTH ? too_deep(child->line) : WEFT_OK;
}

weft_status tpl_add(tparser *p, tnode *parent, tnodes *list, tnode *child) {
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        tnode **items = tpl_array(&p->program->mem, capacity, sizeof(tnode *));
        if (!items) return error_status();
        if (list->n) memcpy(items, list->items, list->n * sizeof(tnode *));
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = child;
    return parent ? tpl_adopt(p, parent, child) : WEFT_OK;
}

weft_status tpl_enter(tparser *p) {
    return ++p->depth > TPL_MAX_PARSE_DEPTH ? too_deep(p->at->line) : WEFT_OK;
}

bool tpl_at_name(const tparser *p, const char *name) {
    return p->at->kind == K_NAME && tpl_string_is(p->at->value.s, name);
}

bool tpl_skip(tparser *p, ttoken_kind kind) {
    if (p->at->kind != kind) return false;
    p->at++;
    return true;
}

bool tpl_skip_name(tparser *p, const char *name) {
    if (!tpl_at_name(p, name)) return false;
    p->at++;
    return true;
}

static weft_status expected(const tparser *p, const char *what) {
    if (p->at->kind == K_NAME)
        return tpl_parse_fail(p, p->at->line, "expected %s, found '%.*s'", what,
                              tpl_shown(p->at->value.s->data, p->at->value.s->n, 60),
                              p->at->value.s->data);
    return tpl_parse_fail(p, p->at->line, "expected %s, found %s", what,
                          tpl_token_text(p->at->kind));
}

weft_status tpl_expect(tparser *p, ttoken_kind kind) {
    return tpl_skip(p, kind) ? WEFT_OK : expected(p, tpl_token_text(kind));
}

weft_status tpl_expect_name(tparser *p, const tstring **out) {
    if (p->at->kind != K_NAME) return expected(p, "a name");
    *out = p->at->value.s;
    p->at++;
    return WEFT_OK;
}

/* ---- statements ---- */

static weft_status parse_target_name(tparser *p, const tstring **out) {
    static const char *const fixed[] = {"true", "false", "none", "True", "False", "None"};
    int line = p->at->line;
    TRY(tpl_expect_name(p, out));
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (tpl_string_is(*out, fixed[i]))
            return tpl_parse_fail(p, line, "'%s' cannot be assigned to", fixed[i]);
    return WEFT_OK;
}

static const char *const
    end_set[] = {"endset", NULL},
    *const end_for[] = {"endfor", "else", NULL}, *const end_else[] = {"endfor", NULL},
    *const end_if[] = {"elif", "else", "endif", NULL}, *const end_if_else[] = {"endif", NULL},
    *const end_with[] = {"endwith", NULL}, *const end_call[] = {"endcall", NULL},
    *const end_filter[] = {"endfilter", NULL}, *const end_macro[] = {"endmacro", NULL},
    *const end_generation[] = {"endgeneration", NULL};

/* Statements up to one of `ends`, which is left standing. */
weft_status tpl_parse_statements(tparser *p, tnode *parent, tnodes *body, const char *const *ends);

static weft_status parse_body(tparser *p, tnode *parent, tnodes *body, const char *const *ends) {
    TRY(tpl_parse_statements(p, parent, body, ends));
    p->at++;
    return WEFT_OK;
}

static weft_status parse_set(tparser *p, tnode *n) {
    TRY(tpl_parse_target(p, NULL, true, &n->a));
    TRY(tpl_adopt(p, n, n->a));
    if (tpl_skip(p, K_ASSIGN)) {
        TRY(tpl_parse_tuple(p, true, NULL, &n->b));
        return tpl_adopt(p, n, n->b);
    }
    n->kind = N_SET_BLOCK;
    TRY(tpl_parse_filter(p, NULL, false, &n->b));
    if (n->b) TRY(tpl_adopt(p, n, n->b));
    return parse_body(p, n, &n->list, end_set);
}

static weft_status parse_for(tparser *p, tnode *n) {
    TRY(tpl_parse_target(p, "in", false, &n->a));
    if (!tpl_skip_name(p, "in")) return expected(p, "'in'");
    TRY(tpl_parse_tuple(p, false, "recursive", &n->b));
    TRY(tpl_adopt(p, n, n->a));
    TRY(tpl_adopt(p, n, n->b));
    if (tpl_skip_name(p, "if")) {
        TRY(tpl_parse_expression(p, true, &n->c));
        TRY(tpl_adopt(p, n, n->c));
    }
    n->flag = tpl_skip_name(p, "recursive");
    TRY(tpl_parse_statements(p, n, &n->list, end_for));
    bool has_else = tpl_at_name(p, "else");
    p->at++;
    return has_else ? parse_body(p, n, &n->list2, end_else) : WEFT_OK;
}

static weft_status parse_if(tparser *p, tnode *n) {
    tnode *branch = n;
    for (;;) {
        TRY(tpl_parse_tuple(p, false, NULL, &branch->a));
        TRY(tpl_adopt(p, branch, branch->a));
        TRY(tpl_parse_statements(p, branch, &branch->list, end_if));
        if (branch != n) TRY(tpl_adopt(p, n, branch));
        int line = p->at->line;
        if (tpl_skip_name(p, "elif")) {
            TRY(tpl_node(p, N_IF, line, &branch));
            TRY(tpl_add(p, n, &n->list2, branch));
            continue;
        }
        bool has_else = tpl_at_name(p, "else");
        p->at++;
        return has_else ? parse_body(p, n, &n->list3, end_if_else) : WEFT_OK;
    }
}

static weft_status parse_with(tparser *p, tnode *n) {
    while (p->at->kind != K_BLOCK_END) {
        if (n->list.n) TRY(tpl_expect(p, K_COMMA));
        tnode *target, *value;
        TRY(tpl_parse_target(p, NULL, false, &target));
        TRY(tpl_expect(p, K_ASSIGN));
        TRY(tpl_parse_expression(p, true, &value));
        TRY(tpl_add(p, n, &n->list, target));
        TRY(tpl_add(p, n, &n->list2, value));
    }
    return parse_body(p, n, &n->list3, end_with);
}

static weft_status parse_signature(tparser *p, tnode *n) {
    TRY(tpl_expect(p, K_LPAREN));
    while (p->at->kind != K_RPAREN) {
        if (n->list.n) TRY(tpl_expect(p, K_COMMA));
        tnode *argument = NULL, *value;
        int line = p->at->line;
        TRY(tpl_node(p, N_NAME, line, &argument));
        TRY(parse_target_name(p, &argument->name));
        for (size_t i = 0; i < n->list.n; i++)
            if (n->list.items[i]->name == argument->name)
                return tpl_parse_fail(p, line, "the parameter '%.*s' is there twice",
                                      tpl_shown(argument->name->data, argument->name->n, 60),
                                      argument->name->data);
        if (tpl_skip(p, K_ASSIGN)) {
            TRY(tpl_parse_expression(p, true, &value));
            TRY(tpl_add(p, n, &n->list2, value));
        } else if (n->list2.n)
            return tpl_parse_fail(p, line, "a parameter without default follows one with");
        TRY(tpl_add(p, n, &n->list, argument));
    }
    return tpl_expect(p, K_RPAREN);
}

static weft_status parse_macro(tparser *p, tnode *n) {
    TRY(parse_target_name(p, &n->name));
    TRY(parse_signature(p, n));
    return parse_body(p, n, &n->list3, end_macro);
}

static weft_status parse_call_block(tparser *p, tnode *n) {
    if (p->at->kind == K_LPAREN) TRY(parse_signature(p, n));
    int line = p->at->line;
    TRY(tpl_parse_expression(p, true, &n->a));
    if (n->a->kind != N_CALL) return tpl_parse_fail(p, line, "a call must follow 'call'");
    TRY(tpl_adopt(p, n, n->a));
    return parse_body(p, n, &n->list3, end_call);
}

static weft_status parse_filter_block(tparser *p, tnode *n) {
    TRY(tpl_parse_filter(p, NULL, true, &n->a));
    TRY(tpl_adopt(p, n, n->a));
    return parse_body(p, n, &n->list, end_filter);
}

static weft_status parse_generation(tparser *p, tnode *n) {
    return parse_body(p, n, &n->list3, end_generation);
}

static weft_status parse_print(tparser *p, tnode *n) {
    while (p->at->kind != K_BLOCK_END) {
        if (n->list.n) TRY(tpl_expect(p, K_COMMA));
        tnode *item;
        TRY(tpl_parse_expression(p, true, &item));
        TRY(tpl_add(p, n, &n->list, item));
    }
    return WEFT_OK;
}

static weft_status parse_nothing(tparser *p, tnode *n) {
    (void)p;
    (void)n;
    return WEFT_OK;
}

static const struct {
    const char *tag;
    tnode_kind kind;
    weft_status (*parse)(tparser *p, tnode *n); /* NULL: Jinja has it, this engine has not */
} statements[] = {{"if", N_IF, parse_if},
                  {"set", N_SET, parse_set},
                  {"for", N_FOR, parse_for},
                  {"macro", N_MACRO, parse_macro},
                  {"call", N_CALL_BLOCK, parse_call_block},
                  {"filter", N_FILTER_BLOCK, parse_filter_block},
                  {"with", N_WITH, parse_with},
                  {"print", N_OUTPUT, parse_print},
                  {"break", N_BREAK, parse_nothing},
                  {"continue", N_CONTINUE, parse_nothing},
                  {"generation", N_CALL_BLOCK, parse_generation},
                  {"extends", N_SCOPE, NULL},
                  {"include", N_SCOPE, NULL},
                  {"import", N_SCOPE, NULL},
                  {"from", N_SCOPE, NULL},
                  {"block", N_SCOPE, NULL},
                  {"autoescape", N_SCOPE, NULL}};

static weft_status parse_statement(tparser *p, tnode **out) {
    int line = p->at->line;
    if (p->at->kind != K_NAME) return expected(p, "the name of a tag");
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (!tpl_at_name(p, statements[i].tag)) continue;
        if (!statements[i].parse)
            return error_set(WEFT_UNSUPPORTED,
                             "line %d of the template: '%s' is not supported in chat templates",
                             line, statements[i].tag);
        p->at++;
        TRY(tpl_node(p, statements[i].kind, line, out));
        TRY(tpl_enter(p));
        TRY(statements[i].parse(p, *out));
        p->depth--;
        return WEFT_OK;
    }
    return tpl_parse_fail(p, line, "unknown tag '%.*s'",
                          tpl_shown(p->at->value.s->data, p->at->value.s->n, 60),
                          p->at->value.s->data);
}

static bool at_any(const tparser *p, const char *const *names) {
    for (; names && *names; names++)
        if (tpl_at_name(p, *names)) return true;
    return false;
}

/* Text, {{ }} and statements; stops at one of `ends` (its tag begun), or at the end of the
 * template. */
static weft_status parse_until(tparser *p, tnode *parent, tnodes *body, const char *const *ends) {
    tnode *output = NULL, *n = NULL;
    for (;;) {
        int line = p->at->line;
        if (p->at->kind == K_EOF) return WEFT_OK;
        if (p->at->kind == K_BLOCK_BEGIN) {
            p->at++;
            if (at_any(p, ends)) return WEFT_OK;
            TRY(parse_statement(p, &n));
            TRY(tpl_add(p, parent, body, n));
            TRY(tpl_expect(p, K_BLOCK_END));
            output = NULL;
            continue;
        }
        if (p->at->kind == K_DATA) {
            TRY(tpl_node(p, N_DATA, line, &n));
            n->constant = p->at->value;
            p->at++;
        } else {
            p->at++;
            TRY(tpl_parse_tuple(p, true, NULL, &n));
            TRY(tpl_expect(p, K_VARIABLE_END));
        }
        if (!output) {
            TRY(tpl_node(p, N_OUTPUT, line, &output));
            TRY(tpl_add(p, NULL, body, output));
        }
        TRY(tpl_add(p, output, &output->list, n));
        if (parent) TRY(tpl_adopt(p, parent, output));
    }
}

weft_status tpl_parse_statements(tparser *p, tnode *parent, tnodes *body, const char *const *ends) {
    int line = parent->line;
    tpl_skip(p, K_COLON);
    TRY(tpl_expect(p, K_BLOCK_END));
    TRY(parse_until(p, parent, body, ends));
    if (p->at->kind == K_EOF)
        return tpl_parse_fail(p, line, "the block that begins here has no '%s'",
                              ends[1] ? ends[ends[2] ? 2 : 0] : ends[0]);
    return WEFT_OK;
}

static weft_status parse(template_program *program, const char *source, size_t n) {
    REQUIRE(n <= TPL_MAX_SOURCE, WEFT_LIMIT,
            "a template of %zu bytes is longer than the limit of %d bytes", n, (int)TPL_MAX_SOURCE);
    for (size_t i = 0; i < n;) {
        int32_t code;
        i += (size_t)utf8_decode(source + i, n - i, &code);
        REQUIRE(code != UTF8_BAD, WEFT_FORMAT, "the template is not UTF-8 at byte %zu", i - 1);
    }
    ttokens tokens = {0};
    weft_status status = tpl_lex(program, source, n, &tokens);
    if (status == WEFT_OK) {
        tparser p = {.program = program, .at = tokens.items};
        status = parse_until(&p, NULL, &program->body, NULL);
    }
    mem_free(tokens.items);
    return status == WEFT_OK ? tpl_resolve(program) : status;
}

weft_status template_parse(const char *source, size_t n, template_program **out) {
    *out = NULL;
    template_program *program = mem_alloc(sizeof *program);
    if (!program) return error_status();
    program->mem.limit = (size_t)1 << 30;
    weft_status status = parse(program, source, n);
    if (status != WEFT_OK) {
        template_free(program);
        return status;
    }
    *out = program;
    return WEFT_OK;
}

void template_free(template_program *program) {
    if (!program) return;
    map_free(&program->names);
    mem_free(program->interned);
    arena_free(&program->mem.arena);
    mem_free(program);
}
