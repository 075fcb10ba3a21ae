/* Statements. Output goes to R->out; what is captured (set and filter blocks, macros) goes to a
 * text of its own, which is thrown away when a break or a failure leaves the block.
 * SPDX-License-Identifier: MIT */
#include "template/run.h"

weft_status tpl_frame(trun *R, const tframe_plan *plan, tframe *outer, tframe **out) {
    *out = tpl_alloc(&R->mem, sizeof **out);
    if (!*out) return error_status();
    (*out)->outer = outer;
    (*out)->slots = tpl_array(&R->mem, plan->n_slots, sizeof(tvalue));
    return (*out)->slots ? WEFT_OK : error_status();
}

void tpl_enter_scope(trun *R, tframe *frame, const tscope *scope) {
    for (size_t i = 0; i < scope->n; i++) {
        const tload *load = &scope->loads[i];
        tvalue *to = &frame->slots[load->slot];
        if (load->kind == LOAD_ALIAS) *to = *tpl_slot(frame, load->from);
        else *to = (tvalue){.type = T_MISSING};
        if (load->kind != LOAD_RESOLVE) continue;
        const tvalue *found = tpl_dict_find(R->context, load->name->data, load->name->n);
        const tfunction *global = found ? NULL : tpl_find_global(load->name->data, load->name->n);
        if (found) *to = *found;
        else if (global) *to = (tvalue){.type = T_FUNCTION, .fn = global};
    }
}

static weft_status exec_output(trun *R, tframe *f, const tnode *n) {
    for (size_t i = 0; i < n->list.n; i++) {
        const tnode *item = n->list.items[i];
        tvalue v = item->constant;
        if (item->kind != N_DATA) TRY(tpl_eval(R, f, item, &v));
        if (v.type == T_STRING) {
            TRY(tpl_write(R, v.s->data, v.s->n));
            continue;
        }
        TRY(tpl_step(R, tpl_weight(v)));
        TRY(tpl_to_string(&R->mem, v, &v));
        TRY(tpl_write(R, v.s->data, v.s->n));
    }
    return WEFT_OK;
}

weft_status tpl_capture(trun *R, tframe *f, const tnodes *body, tflow *flow, tvalue *out) {
    str text = {0}, *outer = R->out;
    R->out = &text;
    weft_status status = tpl_exec(R, f, body, flow);
    R->out = outer;
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}

static weft_status unpack(trun *R, tframe *f, const tnode *target, tvalue value) {
    tbuilder items = {0};
    TRY(tpl_items(R, value, &items));
    if (items.n != target->list.n)
        return tpl_fail("%zu values cannot be unpacked into %zu names", items.n, target->list.n);
    for (size_t i = 0; i < items.n; i++)
        TRY(tpl_assign(R, f, target->list.items[i], items.items[i]));
    return WEFT_OK;
}

weft_status tpl_assign(trun *R, tframe *f, const tnode *target, tvalue value) {
    if (target->kind == N_TUPLE) return unpack(R, f, target, value);
    tvalue *slot = tpl_slot(f, target->place);
    if (target->kind == N_NAME) {
        *slot = value;
        return WEFT_OK;
    }
    if (slot->type != T_NAMESPACE) return tpl_fail("an attribute can be set on a namespace only");
    return tpl_dict_set(&R->mem, slot->d, tpl_of_string(target->attr), value);
}

/* Python looks at all namespaces of the target before it computes the value. */
static weft_status check_namespaces(tframe *f, const tnode *target) {
    if (target->kind == N_NSREF && tpl_slot(f, target->place)->type != T_NAMESPACE)
        return tpl_fail("an attribute can be set on a namespace only");
    for (size_t i = 0; target->kind == N_TUPLE && i < target->list.n; i++)
        TRY(check_namespaces(f, target->list.items[i]));
    return WEFT_OK;
}

static weft_status exec_set(trun *R, tframe *f, const tnode *n) {
    tvalue value;
    TRY(check_namespaces(f, n->a));
    TRY(tpl_eval(R, f, n->b, &value));
    return tpl_assign(R, f, n->a, value);
}

/* a|b|c: the innermost filter has no input of its own. */
static weft_status apply_chain(trun *R, tframe *f, const tnode *filter, tvalue text, tvalue *out) {
    if (filter->a) TRY(apply_chain(R, f, filter->a, text, &text));
    return tpl_apply_filter(R, f, filter, text, out);
}

/* Blocks write what they got without str(): only texts can be written. */
static weft_status write_text(trun *R, tvalue v) {
    if (v.type != T_STRING) return tpl_fail("a text is needed here, not a '%s'", tpl_type_name(v));
    return tpl_write(R, v.s->data, v.s->n);
}

static weft_status exec_block(trun *R, tframe *f, const tnode *n, tflow *flow) {
    tvalue text;
    const tnode *filter = n->kind == N_SET_BLOCK ? n->b : n->a;
    tpl_enter_scope(R, f, &n->scope);
    TRY(tpl_capture(R, f, &n->list, flow, &text));
    if (*flow != FLOW_NEXT) return WEFT_OK;
    if (filter) TRY(apply_chain(R, f, filter, text, &text));
    if (n->kind == N_SET_BLOCK) return tpl_assign(R, f, n->a, text);
    return write_text(R, text);
}

static weft_status exec_if(trun *R, tframe *f, const tnode *n, tflow *flow) {
    tvalue test;
    TRY(tpl_eval(R, f, n->a, &test));
    if (tpl_truth(test)) return tpl_exec(R, f, &n->list, flow);
    for (size_t i = 0; i < n->list2.n; i++) {
        const tnode *branch = n->list2.items[i];
        TRY(tpl_eval(R, f, branch->a, &test));
        if (tpl_truth(test)) return tpl_exec(R, f, &branch->list, flow);
    }
    return tpl_exec(R, f, &n->list3, flow);
}

static weft_status exec_with(trun *R, tframe *f, const tnode *n, tflow *flow) {
    tpl_enter_scope(R, f, &n->scope);
    for (size_t i = 0; i < n->list.n; i++) {
        tvalue value;
        TRY(tpl_eval(R, f, n->list2.items[i], &value));
        TRY(tpl_assign(R, f, n->list.items[i], value));
    }
    return tpl_exec(R, f, &n->list3, flow);
}

static weft_status new_macro(trun *R, tframe *f, const tnode *n, tvalue *out) {
    tmacro *macro = tpl_alloc(&R->mem, sizeof *macro);
    if (!macro) return error_status();
    *macro = (tmacro){n, f};
    *out = (tvalue){.type = T_MACRO, .macro = macro};
    return WEFT_OK;
}

static weft_status exec_call_block(trun *R, tframe *f, const tnode *n) {
    tvalue caller, function, text;
    TRY(new_macro(R, f, n, &caller));
    if (!n->a) { /* generation: the body, as it is */
        TRY(tpl_call_macro(R, caller.macro, &(targs){0}, &text));
        return tpl_write(R, text.s->data, text.s->n);
    }
    static const tstring name = {"caller", 6, 6, false};
    targs args;
    TRY(tpl_eval(R, f, n->a->a, &function));
    TRY(tpl_eval_arguments(R, f, n->a, &args));
    tkeyword *keywords = tpl_array(&R->mem, args.n_keywords + 1, sizeof *keywords);
    if (!keywords) return error_status();
    for (size_t i = 0; i < args.n_keywords; i++) {
        keywords[i] = args.keywords[i];
        if (tpl_string_is(keywords[i].name, "caller"))
            return tpl_fail("the argument 'caller' is given twice");
    }
    keywords[args.n_keywords++] = (tkeyword){&name, caller};
    args.keywords = keywords;
    TRY(tpl_call(R, function, &args, &text));
    return write_text(R, text);
}

static weft_status exec_one(trun *R, tframe *f, const tnode *n, tflow *flow) {
    switch (n->kind) {
    case N_OUTPUT: return exec_output(R, f, n);
    case N_SET: return exec_set(R, f, n);
    case N_SET_BLOCK:
    case N_FILTER_BLOCK: return exec_block(R, f, n, flow);
    case N_FOR: return tpl_exec_for(R, f, n, flow);
    case N_IF: return exec_if(R, f, n, flow);
    case N_MACRO: return new_macro(R, f, n, tpl_slot(f, n->place));
    case N_CALL_BLOCK: return exec_call_block(R, f, n);
    case N_WITH: return exec_with(R, f, n, flow);
    case N_BREAK: *flow = FLOW_BREAK; return WEFT_OK;
    case N_CONTINUE: *flow = FLOW_CONTINUE; return WEFT_OK;
    default: return tpl_fail("this cannot be run");
    }
}

weft_status tpl_exec(trun *R, tframe *f, const tnodes *body, tflow *flow) {
    *flow = FLOW_NEXT;
    for (size_t i = 0; i < body->n && *flow == FLOW_NEXT; i++) {
        const tnode *n = body->items[i];
        weft_status status = tpl_enter_call(R);
        if (status == WEFT_OK) {
            status = tpl_step(R, 1);
            if (status == WEFT_OK) status = exec_one(R, f, n, flow);
            R->depth--;
        }
        if (status == WEFT_OK) continue;
        if (!R->located) error_prefix(status, "line %d", n->line);
        R->located = true;
        return status;
    }
    return WEFT_OK;
}
