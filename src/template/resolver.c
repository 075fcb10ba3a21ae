/* Names to places. Jinja decides at compile time, block by block, whether a name means a variable
 * of this block, of a block around it or of the context, and that shows: a name that a block
 * assigns anywhere first is undefined in it before (not the context's), one assigned in an `if`
 * only falls back to the context, a loop's assignments end with each round. The rules are those of
 * Jinja's identifier tracking, kept to the letter because templates depend on it.
 *
 * Two passes over each block: `note_*` collects what it reads and assigns, `place_*` writes the
 * places into the tree and opens the blocks inside. SPDX-License-Identifier: MIT */
#include <string.h>

#include "template/ast.h"
#include "template/run.h"

typedef struct symbol {
    const tstring *name;
    uint32_t slot, from_slot;
    const tframe_plan *from;
    tload_kind load;
    bool stored;
} symbol;

/* Slots by name: shared by the copies that branches make of a scope. */
typedef struct slots {
    const tstring **names;
    uint32_t *numbers;
    size_t n, names_capacity, numbers_capacity;
} slots;

typedef struct scope {
    struct scope *parent;
    tframe_plan *plan;
    slots *slots;
    symbol *symbols;
    size_t n, capacity;
} scope;

/* Where the tree walk stands. */
typedef struct position {
    template_program *program;
    scope *scope;
    tframe_plan *plan;
    bool soft;    /* inside an `if`: an unknown filter is an error only when it runs */
    bool in_for;  /* anywhere inside a loop: `loop` must not be assigned */
    bool in_loop; /* break and continue have a loop to act on */
} position;

enum { MAX_SYMBOLS = 4096 };

static void scope_free(scope *s, bool with_slots) {
    mem_free(s->symbols);
    if (!with_slots) return;
    mem_free(s->slots->names);
    mem_free(s->slots->numbers);
}

static symbol *own_symbol(const scope *s, const tstring *name) {
    for (size_t i = 0; i < s->n; i++)
        if (s->symbols[i].name == name) return &s->symbols[i];
    return NULL;
}

static const symbol *find_symbol(const scope *s, const tstring *name, const tframe_plan **plan) {
    for (; s; s = s->parent) {
        const symbol *found = own_symbol(s, name);
        if (!found) continue;
        *plan = s->plan;
        return found;
    }
    return NULL;
}

static weft_status slot_for(scope *s, const tstring *name, uint32_t *slot) {
    for (size_t i = 0; i < s->slots->n; i++)
        if (s->slots->names[i] == name) {
            *slot = s->slots->numbers[i];
            return WEFT_OK;
        }
    void *names = s->slots->names, *numbers = s->slots->numbers;
    TRY(mem_reserve(&names, &s->slots->names_capacity, s->slots->n + 1, sizeof(tstring *)));
    s->slots->names = names;
    TRY(mem_reserve(&numbers, &s->slots->numbers_capacity, s->slots->n + 1, sizeof(uint32_t)));
    s->slots->numbers = numbers;
    *slot = s->plan->n_slots++;
    s->slots->names[s->slots->n] = name;
    s->slots->numbers[s->slots->n++] = *slot;
    return WEFT_OK;
}

static weft_status define(scope *s, const tstring *name, symbol how) {
    symbol *old = own_symbol(s, name);
    how.name = name;
    TRY(slot_for(s, name, &how.slot));
    if (old) {
        how.stored = how.stored || old->stored;
        *old = how;
        return WEFT_OK;
    }
    REQUIRE(s->n < MAX_SYMBOLS, WEFT_LIMIT,
            "a block of the template uses more names than the limit of %d", (int)MAX_SYMBOLS);
    void *symbols = s->symbols;
    TRY(mem_reserve(&symbols, &s->capacity, s->n + 1, sizeof(symbol)));
    s->symbols = symbols;
    s->symbols[s->n++] = how;
    return WEFT_OK;
}

static weft_status declare(scope *s, const tstring *name) {
    return define(s, name, (symbol){.load = LOAD_PARAMETER, .stored = true});
}

static weft_status note_load(scope *s, const tstring *name) {
    const tframe_plan *plan = NULL;
    return find_symbol(s, name, &plan) ? WEFT_OK : define(s, name, (symbol){.load = LOAD_RESOLVE});
}

static weft_status note_store(scope *s, const tstring *name) {
    symbol *own = own_symbol(s, name);
    if (own) {
        own->stored = true;
        return WEFT_OK;
    }
    const tframe_plan *plan = NULL;
    const symbol *outer = find_symbol(s->parent, name, &plan);
    if (outer)
        return define(
            s, name,
            (symbol){.load = LOAD_ALIAS, .from = plan, .from_slot = outer->slot, .stored = true});
    return define(s, name, (symbol){.load = LOAD_UNDEFINED, .stored = true});
}

/* ---- first pass ---- */

static weft_status note(scope *s, const tnode *n);

static weft_status note_list(scope *s, const tnodes *list) {
    for (size_t i = 0; i < list->n; i++) TRY(note(s, list->items[i]));
    return WEFT_OK;
}

static weft_status note_target(scope *s, const tnode *n, bool parameter) {
    if (n->kind == N_TUPLE) {
        for (size_t i = 0; i < n->list.n; i++) TRY(note_target(s, n->list.items[i], parameter));
        return WEFT_OK;
    }
    if (n->kind == N_NSREF) return note_load(s, n->name);
    return parameter ? declare(s, n->name) : note_store(s, n->name);
}

static weft_status copy_scope(const scope *s, scope *copy) {
    *copy = *s;
    copy->symbols = mem_array(s->n + 8, sizeof(symbol));
    if (!copy->symbols) return error_status();
    copy->capacity = s->n + 8;
    if (s->n) memcpy(copy->symbols, s->symbols, s->n * sizeof(symbol));
    return WEFT_OK;
}

/* Takes over what the branches saw; what only they assigned falls back to outside where a branch
 * did not run. */
static weft_status join_branches(scope *s, const scope *branches, size_t n_branches) {
    size_t before = s->n;
    bool *stored = mem_array(before + 1, sizeof(bool));
    if (!stored) return error_status();
    for (size_t i = 0; i < before; i++) stored[i] = s->symbols[i].stored;
    weft_status status = WEFT_OK;
    for (size_t b = 0; b < n_branches && status == WEFT_OK; b++)
        for (size_t i = 0; i < branches[b].n && status == WEFT_OK; i++)
            status = define(s, branches[b].symbols[i].name, branches[b].symbols[i]);
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++) {
        symbol *own = &s->symbols[i];
        if (!own->stored || (i < before && stored[i])) continue;
        const tframe_plan *plan;
        const symbol *outer = find_symbol(s->parent, own->name, &plan);
        own->load = outer ? LOAD_ALIAS : LOAD_RESOLVE;
        if (outer) {
            own->from = plan;
            own->from_slot = outer->slot;
        }
    }
    mem_free(stored);
    return status;
}

static weft_status note_if(scope *s, const tnode *n) {
    TRY(note(s, n->a));
    const tnodes *bodies[] = {&n->list, &n->list2, &n->list3};
    scope branches[3] = {{0}};
    weft_status status = WEFT_OK;
    for (int i = 0; i < 3 && status == WEFT_OK; i++) {
        status = copy_scope(s, &branches[i]);
        if (status == WEFT_OK) status = note_list(&branches[i], bodies[i]);
    }
    if (status == WEFT_OK) status = join_branches(s, branches, 3);
    for (int i = 0; i < 3; i++) scope_free(&branches[i], false);
    return status;
}

static weft_status note_optional(scope *s, const tnode *n) { return n ? note(s, n) : WEFT_OK; }

static weft_status note(scope *s, const tnode *n) {
    switch (n->kind) {
    case N_NAME: return note_load(s, n->name);
    case N_SET: TRY(note(s, n->b)); return note_target(s, n->a, false);
    case N_SET_BLOCK: return note_target(s, n->a, false);
    case N_FOR: return note(s, n->b);
    case N_IF: return note_if(s, n);
    case N_MACRO: return note_store(s, n->name);
    case N_CALL_BLOCK:
    case N_FILTER_BLOCK: return note_optional(s, n->a);
    case N_WITH: return note_list(s, &n->list2);
    default: break;
    }
    TRY(note_optional(s, n->a));
    TRY(note_optional(s, n->b));
    TRY(note_optional(s, n->c));
    TRY(note_list(s, &n->list));
    TRY(note_list(s, &n->list2));
    TRY(note_optional(s, n->dyn_args));
    return note_optional(s, n->dyn_kwargs);
}

/* ---- names that a macro or a loop gets unasked ---- */

typedef struct search {
    const char *names[3];
    bool gone[3], found[3];
} search;

static void look(search *q, const tnode *n, bool target);

static void look_list(search *q, const tnodes *list, bool target) {
    for (size_t i = 0; i < list->n; i++) look(q, list->items[i], target);
}

/* In the order in which Jinja looks: an assignment seen first makes the name an ordinary one. */
static void look(search *q, const tnode *n, bool target) {
    if (!n) return;
    if (n->kind == N_NAME) {
        for (int i = 0; i < 3; i++) {
            if (!q->names[i] || !tpl_string_is(n->name, q->names[i])) continue;
            if (target) q->gone[i] = true;
            else if (!q->gone[i]) q->found[i] = true;
        }
        return;
    }
    bool binds = n->kind == N_SET || n->kind == N_SET_BLOCK || n->kind == N_FOR;
    bool names = n->kind == N_MACRO || n->kind == N_CALL_BLOCK || n->kind == N_WITH;
    if (n->kind == N_FILTER_BLOCK) look_list(q, &n->list, false);
    look(q, n->a, binds || (target && n->kind == N_TUPLE));
    look(q, n->b, false);
    if (n->kind != N_FOR) look(q, n->c, false);
    if (n->kind != N_FILTER_BLOCK) look_list(q, &n->list, names || (target && n->kind == N_TUPLE));
    look_list(q, &n->list2, false);
    look_list(q, &n->list3, false);
    if (n->kind == N_FOR) {
        look(q, n->c, false);
        return;
    }
    look(q, n->dyn_args, false);
    look(q, n->dyn_kwargs, false);
}

/* ---- second pass ---- */

static weft_status place(position *at, tnode *n);

static weft_status place_list(position *at, const tnodes *list) {
    for (size_t i = 0; i < list->n; i++) TRY(place(at, list->items[i]));
    return WEFT_OK;
}

static weft_status place_optional(position *at, tnode *n) { return n ? place(at, n) : WEFT_OK; }

static uint32_t hops(const tframe_plan *from, const tframe_plan *to) {
    uint32_t n = 0;
    for (; from != to; from = from->outer) n++;
    return n;
}

static weft_status place_name(position *at, const tstring *name, tplace *out) {
    const tframe_plan *plan = NULL;
    const symbol *found = find_symbol(at->scope, name, &plan);
    if (!found) {
        TRY(note_load(at->scope, name));
        found = find_symbol(at->scope, name, &plan);
    }
    *out = (tplace){hops(at->plan, plan), found->slot};
    return WEFT_OK;
}

static weft_status place_target(position *at, tnode *n) {
    if (n->kind == N_TUPLE) {
        for (size_t i = 0; i < n->list.n; i++) TRY(place_target(at, n->list.items[i]));
        return WEFT_OK;
    }
    if (n->kind == N_NAME && at->in_for && tpl_string_is(n->name, "loop"))
        return error_set(WEFT_FORMAT,
                         "line %d of the template: 'loop' cannot be assigned to inside a loop",
                         n->line);
    return place_name(at, n->name, &n->place);
}

/* The loads a block starts with. */
static weft_status close_scope(position *at, const scope *s, tscope *out) {
    out->loads = tpl_array(&at->program->mem, s->n, sizeof(tload));
    if (!out->loads) return error_status();
    for (size_t i = 0; i < s->n; i++) {
        const symbol *from = &s->symbols[i];
        if (from->load == LOAD_PARAMETER) continue;
        tload *to = &out->loads[out->n++];
        *to = (tload){.kind = from->load, .slot = from->slot, .name = from->name};
        if (from->load == LOAD_ALIAS)
            to->from = (tplace){hops(s->plan, from->from), from->from_slot};
    }
    return WEFT_OK;
}

static weft_status new_plan(position *at, tframe_plan **out) {
    *out = tpl_alloc(&at->program->mem, sizeof **out);
    if (!*out) return error_status();
    (*out)->outer = at->plan;
    return WEFT_OK;
}

static position inner(const position *at, scope *s) {
    position p = *at;
    p.scope = s;
    p.plan = s->plan;
    p.soft = false;
    return p;
}

/* A block of its own in the same frame: set, filter. */
static weft_status place_block(position *at, tnode *n) {
    slots slots = {0};
    scope s = {.parent = at->scope, .plan = at->plan, .slots = &slots};
    position in = inner(at, &s);
    tnode *filter = n->kind == N_SET_BLOCK ? n->b : n->kind == N_FILTER_BLOCK ? n->a : NULL;
    weft_status status = note_list(&s, &n->list);
    if (status == WEFT_OK) status = note_optional(&s, filter);
    if (status == WEFT_OK) status = place_list(&in, &n->list);
    if (status == WEFT_OK) status = place_optional(&in, filter);
    if (status == WEFT_OK) status = close_scope(at, &s, &n->scope);
    scope_free(&s, true);
    return status == WEFT_OK && n->kind == N_SET_BLOCK ? place_target(at, n->a) : status;
}

static weft_status place_with(position *at, tnode *n) {
    TRY(place_list(at, &n->list2));
    slots slots = {0};
    scope s = {.parent = at->scope, .plan = at->plan, .slots = &slots};
    position in = inner(at, &s);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < n->list.n && status == WEFT_OK; i++)
        status = note_target(&s, n->list.items[i], true);
    if (status == WEFT_OK) status = note_list(&s, &n->list3);
    in.in_for = false; /* targets of `with` are parameters, `loop` is allowed */
    for (size_t i = 0; i < n->list.n && status == WEFT_OK; i++)
        status = place_target(&in, n->list.items[i]);
    in.in_for = at->in_for;
    if (status == WEFT_OK) status = place_list(&in, &n->list3);
    if (status == WEFT_OK) status = close_scope(at, &s, &n->scope);
    scope_free(&s, true);
    return status;
}

static const char *const special_names[] = {"caller", "kwargs", "varargs"};

static weft_status declare_special(position *at, scope *s, tnode *n) {
    search q = {.names = {special_names[0], special_names[1], special_names[2]}};
    look_list(&q, &n->list3, false);
    for (int i = 0; i < 3; i++) {
        if (!q.found[i]) continue;
        const tstring *name;
        TRY(tpl_intern(at->program, special_names[i], strlen(special_names[i]), &name));
        size_t explicit_at = 0;
        while (explicit_at < n->list.n && n->list.items[explicit_at]->name != name) explicit_at++;
        if (explicit_at < n->list.n) {
            if (i == 0 && explicit_at + n->list2.n < n->list.n)
                return error_set(WEFT_FORMAT,
                                 "line %d of the template: the parameter 'caller' needs a default",
                                 n->line);
            continue;
        }
        n->uses[i] = true;
        TRY(declare(s, name));
        TRY(place_name(&(position){.scope = s, .plan = s->plan}, name, &n->special[i]));
    }
    return WEFT_OK;
}

static weft_status fill_macro(position *at, scope *s, tnode *n) {
    position in = inner(at, s);
    in.in_loop = false;
    for (size_t i = 0; i < n->list.n; i++) TRY(declare(s, n->list.items[i]->name));
    TRY(declare_special(at, s, n));
    TRY(note_list(s, &n->list2));
    TRY(note_list(s, &n->list3));
    for (size_t i = 0; i < n->list.n; i++)
        TRY(place_name(&in, n->list.items[i]->name, &n->list.items[i]->place));
    TRY(place_list(&in, &n->list2));
    TRY(place_list(&in, &n->list3));
    return close_scope(at, s, &n->scope);
}

static weft_status place_macro(position *at, tnode *n) {
    slots slots = {0};
    scope s = {.parent = at->scope, .slots = &slots};
    TRY(new_plan(at, &n->frame));
    s.plan = n->frame;
    weft_status status = fill_macro(at, &s, n);
    scope_free(&s, true);
    TRY(status);
    if (n->kind == N_CALL_BLOCK) return place_optional(at, n->a);
    return place_name(at, n->name, &n->place);
}

/* ---- loops ---- */

static weft_status clone_target(position *at, const tnode *n, tnode **out) {
    tparser p = {.program = at->program};
    TRY(tpl_node(&p, n->kind, n->line, out));
    (*out)->name = n->name;
    for (size_t i = 0; i < n->list.n; i++) {
        tnode *item;
        TRY(clone_target(at, n->list.items[i], &item));
        TRY(tpl_add(&p, *out, &(*out)->list, item));
    }
    return WEFT_OK;
}

static weft_status fill_loop(position *at, scope *s, tnode *n) {
    position in = inner(at, s);
    in.in_for = in.in_loop = true;
    search q = {.names = {"loop"}};
    look_list(&q, &n->list, false);
    n->uses[0] = q.found[0] || n->flag;
    if (n->uses[0]) {
        const tstring *name;
        TRY(tpl_intern(at->program, "loop", 4, &name));
        TRY(declare(s, name));
        TRY(place_name(&in, name, &n->special[0]));
    }
    TRY(note_target(s, n->a, true));
    TRY(note_list(s, &n->list));
    TRY(place_target(&in, n->a));
    TRY(place_list(&in, &n->list));
    return close_scope(at, s, &n->scope);
}

static weft_status fill_else(position *at, scope *s, tnode *n) {
    position in = inner(at, s);
    in.in_for = true;
    if (n->flag) in.in_loop = false;
    TRY(note_list(s, &n->list2));
    TRY(place_list(&in, &n->list2));
    return close_scope(at, s, &n->scope2);
}

/* The filter runs in a frame of its own, and sets the loop's target there: dyn_args is that copy
 * of the target. */
static weft_status fill_filter(position *at, scope *s, tnode *n) {
    position in = inner(at, s);
    in.in_for = true;
    TRY(clone_target(at, n->a, &n->dyn_args));
    TRY(note_target(s, n->dyn_args, true));
    TRY(note(s, n->c));
    TRY(place_target(&in, n->dyn_args));
    TRY(place(&in, n->c));
    return close_scope(at, s, &n->scope3);
}

static weft_status place_for(position *at, tnode *n) {
    tframe_plan *plan = at->plan;
    TRY(place(at, n->b));
    if (n->flag) {
        TRY(new_plan(at, &n->frame));
        plan = n->frame;
    }
    slots slots[3] = {{0}};
    scope loop = {.parent = at->scope, .plan = plan, .slots = &slots[0]};
    scope other = {.parent = at->scope, .plan = plan, .slots = &slots[1]};
    scope filter = {.parent = at->scope, .slots = &slots[2]};
    weft_status status = fill_loop(at, &loop, n);
    if (status == WEFT_OK && n->list2.n) status = fill_else(at, &other, n);
    if (status == WEFT_OK && n->c) {
        status = new_plan(at, &n->frame2);
        filter.plan = n->frame2;
        if (status == WEFT_OK) status = fill_filter(at, &filter, n);
    }
    scope_free(&loop, true);
    scope_free(&other, true);
    scope_free(&filter, true);
    return status;
}

/* ---- the rest ---- */

/* Could Jinja have computed this before the template ran? */
static bool is_constant(const tnode *n) {
    if (!n) return true;
    switch (n->kind) {
    case N_NAME:
    case N_CALL: return false;
    case N_CONDITION:
        if (!n->c) return false;
        break;
    case N_FILTER:
    case N_TEST:
        if (!n->row || n->row->dynamic) return false;
        break;
    default: break;
    }
    for (size_t i = 0; i < n->list.n; i++)
        if (!is_constant(n->list.items[i])) return false;
    for (size_t i = 0; i < n->list2.n; i++)
        if (!is_constant(n->list2.items[i])) return false;
    return is_constant(n->a) && is_constant(n->b) && is_constant(n->c) &&
           is_constant(n->dyn_args) && is_constant(n->dyn_kwargs);
}

/* Output that Jinja computes beforehand: there, slicing what cannot be sliced gives undefined. */
static void mark_folded(tnode *n) {
    if (!n) return;
    n->flag = n->flag || (n->kind == N_ITEM && n->b->kind == N_SLICE);
    mark_folded(n->a);
    mark_folded(n->b);
    mark_folded(n->c);
    for (size_t i = 0; i < n->list.n; i++) mark_folded(n->list.items[i]);
    for (size_t i = 0; i < n->list2.n; i++) mark_folded(n->list2.items[i]);
}

static weft_status place_row(position *at, tnode *n) {
    bool filter = n->kind == N_FILTER;
    n->row = filter ? tpl_find_filter(n->name->data, n->name->n)
                    : tpl_find_test(n->name->data, n->name->n);
    if (!n->row && !at->soft)
        return error_set(WEFT_FORMAT, "line %d of the template: no %s is named '%.*s'", n->line,
                         filter ? "filter" : "test", tpl_shown(n->name->data, n->name->n, 60),
                         n->name->data);
    return WEFT_OK;
}

static weft_status place_children(position *at, tnode *n) {
    TRY(place_optional(at, n->a));
    TRY(place_optional(at, n->b));
    TRY(place_optional(at, n->c));
    TRY(place_list(at, &n->list));
    TRY(place_list(at, &n->list2));
    TRY(place_list(at, &n->list3));
    TRY(place_optional(at, n->dyn_args));
    return place_optional(at, n->dyn_kwargs);
}

static weft_status place(position *at, tnode *n) {
    position soft = *at;
    soft.soft = true;
    switch (n->kind) {
    case N_NAME: return place_name(at, n->name, &n->place);
    case N_SET: TRY(place(at, n->b)); return place_target(at, n->a);
    case N_SET_BLOCK:
    case N_FILTER_BLOCK: return place_block(at, n);
    case N_WITH: return place_with(at, n);
    case N_MACRO:
    case N_CALL_BLOCK: return place_macro(at, n);
    case N_FOR: return place_for(at, n);
    case N_IF:
    case N_CONDITION: return place_children(&soft, n);
    case N_BREAK:
    case N_CONTINUE:
        REQUIRE(at->in_loop, WEFT_FORMAT, "line %d of the template: '%s' outside a loop", n->line,
                n->kind == N_BREAK ? "break" : "continue");
        return WEFT_OK;
    case N_FILTER:
    case N_TEST: TRY(place_row(at, n)); return place_children(at, n);
    case N_BINARY:
        TRY(place_children(at, n));
        /* Jinja writes a computed -2 into `-2 ** x`, which Python then reads as -(2 ** x). */
        n->flag = n->op == OP_POW && is_constant(n->a) && !is_constant(n->b);
        return WEFT_OK;
    case N_OUTPUT:
        TRY(place_children(at, n));
        for (size_t i = 0; i < n->list.n; i++)
            if (is_constant(n->list.items[i])) mark_folded(n->list.items[i]);
        return WEFT_OK;
    default: return place_children(at, n);
    }
}

weft_status tpl_resolve(template_program *program) {
    position at = {.program = program};
    TRY(new_plan(&at, &program->frame));
    at.plan = program->frame;
    slots slots = {0};
    scope root = {.plan = program->frame, .slots = &slots};
    at.scope = &root;
    weft_status status = note_list(&root, &program->body);
    if (status == WEFT_OK) status = place_list(&at, &program->body);
    if (status == WEFT_OK) status = close_scope(&at, &root, &program->scope);
    scope_free(&root, true);
    return status;
}
