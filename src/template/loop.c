/* Loops, and the `loop` object. A loop with a filter reads through it lazily, in a frame of the
 * filter's own; a recursive loop is a function of its own. The else part runs when no round
 * ended by running through: a first round left by break or continue counts as none, as in Jinja.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "template/run.h"

typedef struct filtered {
    const tnode *node;
    tframe *frame;
} filtered;

static weft_status next_filtered(trun *R, titerator *it, tvalue *out, bool *end) {
    filtered *x = it->extra;
    for (;;) {
        tvalue test;
        TRY(tpl_next(R, it->source, out, end));
        if (*end) return WEFT_OK;
        TRY(tpl_assign(R, x->frame, x->node->dyn_args, *out));
        TRY(tpl_eval(R, x->frame, x->node->c, &test));
        if (tpl_truth(test)) return WEFT_OK;
    }
}

static weft_status filter_loop(trun *R, tframe *outer, const tnode *n, titerator **it) {
    filtered *x = tpl_alloc(&R->mem, sizeof *x);
    if (!x) return error_status();
    x->node = n;
    TRY(tpl_frame(R, n->frame2, outer, &x->frame));
    tpl_enter_scope(R, x->frame, &n->scope3);
    TRY(tpl_iterator_new(R, *it, it));
    (*it)->next = next_filtered;
    (*it)->extra = x;
    return WEFT_OK;
}

static weft_status loop_next(trun *R, tloop *loop, tvalue *out, bool *end) {
    *end = false;
    if (loop->has_after) {
        *out = loop->after;
        loop->has_after = false;
    } else TRY(tpl_next(R, loop->it, out, end));
    if (*end) return WEFT_OK;
    loop->index0++;
    loop->before = loop->current;
    loop->current = *out;
    return WEFT_OK;
}

static weft_status new_loop(trun *R, tframe *outer, const tnode *n, tvalue iterable, titerator *it,
                            int64_t depth0, tloop **out) {
    *out = NULL;
    if (!n->uses[0]) return WEFT_OK;
    tloop *loop = tpl_alloc(&R->mem, sizeof *loop);
    if (!loop) return error_status();
    *loop = (tloop){.it = it,
                    .iterable = n->c ? tpl_of_iterator(it) : iterable,
                    .index0 = -1,
                    .length = -1,
                    .depth0 = depth0,
                    .recursive = n->flag ? n : NULL,
                    .outer = outer};
    *out = loop;
    return WEFT_OK;
}

/* The rounds, in `f`; `outer` is the frame around a recursive loop (else `f`). */
static weft_status run_loop(trun *R, tframe *f, tframe *outer, const tnode *n, tvalue iterable,
                            int64_t depth0, tflow *flow) {
    titerator *it;
    tloop *loop;
    TRY(tpl_iterate(R, iterable, &it));
    if (n->c) TRY(filter_loop(R, outer, n, &it));
    TRY(new_loop(R, outer, n, iterable, it, depth0, &loop));
    bool none = true;
    for (;;) {
        tvalue item;
        bool end;
        if (loop) TRY(loop_next(R, loop, &item, &end));
        else TRY(tpl_next(R, it, &item, &end));
        if (end) break;
        TRY(tpl_assign(R, f, n->a, item));
        if (loop) *tpl_slot(f, n->special[0]) = (tvalue){.type = T_LOOP, .loop = loop};
        tpl_enter_scope(R, f, &n->scope);
        TRY(tpl_exec(R, f, &n->list, flow));
        if (*flow == FLOW_BREAK) break;
        if (*flow == FLOW_NEXT) none = false;
    }
    *flow = FLOW_NEXT;
    if (!none || !n->list2.n) return WEFT_OK;
    tpl_enter_scope(R, f, &n->scope2);
    return tpl_exec(R, f, &n->list2, flow);
}

static weft_status run_recursive(trun *R, tframe *outer, const tnode *n, tvalue iterable,
                                 int64_t depth0, tvalue *out) {
    tframe *f;
    tflow flow;
    str text = {0}, *output = R->out;
    TRY(tpl_frame(R, n->frame, outer, &f));
    R->out = &text;
    weft_status status = run_loop(R, f, outer, n, iterable, depth0, &flow);
    R->out = output;
    if (status == WEFT_OK) return tpl_from_str(&R->mem, &text, false, out);
    str_free(&text);
    return status;
}

weft_status tpl_exec_for(trun *R, tframe *f, const tnode *n, tflow *flow) {
    tvalue iterable, text;
    TRY(tpl_eval(R, f, n->b, &iterable));
    if (!n->flag) return run_loop(R, f, f, n, iterable, 0, flow);
    TRY(run_recursive(R, f, n, iterable, 0, &text));
    return tpl_write(R, text.s->data, text.s->n);
}

weft_status tpl_loop_call(trun *R, tloop *loop, const targs *args, tvalue *out) {
    if (args->n != 1 || args->n_keywords) return tpl_fail("loop() takes one argument");
    if (!loop->recursive)
        return tpl_fail("the loop must have the 'recursive' marker to be called recursively");
    TRY(tpl_enter_call(R));
    weft_status status =
        run_recursive(R, loop->outer, loop->recursive, args->items[0], loop->depth0 + 1, out);
    R->depth--;
    return status;
}

/* ---- the loop object ---- */

/* Without a length of its own, what is left is read ahead. */
weft_status tpl_loop_length(trun *R, tloop *loop, int64_t *n) {
    if (loop->length < 0 && !tpl_length(loop->iterable, &loop->length)) {
        tbuilder rest = {0};
        tvalue list;
        TRY(tpl_items(R, tpl_of_iterator(loop->it), &rest));
        TRY(tpl_build(&R->mem, &rest, T_LIST, &list));
        TRY(tpl_iterate(R, list, &loop->it));
        loop->length = (int64_t)rest.n + loop->index0 + 1 + loop->has_after;
    }
    *n = loop->length;
    return WEFT_OK;
}

static weft_status peek(trun *R, tloop *loop) {
    if (loop->has_after) return WEFT_OK;
    bool end;
    TRY(tpl_next(R, loop->it, &loop->after, &end));
    loop->has_after = !end;
    return WEFT_OK;
}

weft_status tpl_loop_attribute(trun *R, tloop *loop, const tstring *name, tvalue *out,
                               bool *found) {
    static const char *const names[] = {"index", "index0",   "depth",    "depth0",
                                        "first", "length",   "revindex", "revindex0",
                                        "last",  "nextitem", "previtem"};
    size_t i = 0, n_names = sizeof names / sizeof *names;
    while (i < n_names && !tpl_string_is(name, names[i])) i++;
    *found = i < n_names;
    int64_t n;
    switch (i) {
    case 0: *out = tpl_int(loop->index0 + 1); break;
    case 1: *out = tpl_int(loop->index0); break;
    case 2: *out = tpl_int(loop->depth0 + 1); break;
    case 3: *out = tpl_int(loop->depth0); break;
    case 4: *out = tpl_bool(loop->index0 == 0); break;
    case 5:
    case 6:
    case 7:
        TRY(tpl_loop_length(R, loop, &n));
        *out = tpl_int(i == 5 ? n : i == 6 ? n - loop->index0 : n - loop->index0 - 1);
        break;
    case 8:
        TRY(peek(R, loop));
        *out = tpl_bool(!loop->has_after);
        break;
    case 9:
        TRY(peek(R, loop));
        if (!loop->has_after) return tpl_undefined(&R->mem, "there is no next item", NULL, out);
        *out = loop->after;
        break;
    case 10:
        if (loop->index0 == 0)
            return tpl_undefined(&R->mem, "there is no previous item", NULL, out);
        *out = loop->before;
        break;
    default: break;
    }
    return WEFT_OK;
}
