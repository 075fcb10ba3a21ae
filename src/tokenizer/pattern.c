/* PCRE2 with our memory, limits and errors. The subject is always valid UTF-8, so PCRE2 need not
 * check it; '.' and '$' know '\n' alone as a newline. See pattern.h.
 * SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MATCH_LIMIT = 50000000 };

struct pattern {
    pcre2_general_context *memory;
    pcre2_code *code;
    bool is_jit;
};

struct pattern_work {
    pcre2_general_context *memory;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static void *allocate(size_t n, void *context) {
    (void)context;
    return mem_alloc(n);
}

static void release(void *block, void *context) {
    (void)context;
    mem_free(block);
}

static weft_status compile(pattern *p, const char *expression, size_t n) {
    pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
    if (!context) return error_set(WEFT_NO_MEMORY, "no memory for a regular expression");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int error = 0;
    PCRE2_SIZE at = 0;
    p->code = pcre2_compile((PCRE2_SPTR)expression, n,
                            PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE,
                            &error, &at, context);
    pcre2_compile_context_free(context);
    if (p->code) return WEFT_OK;
    if (error == PCRE2_ERROR_HEAP_FAILED)
        return error_set(WEFT_NO_MEMORY, "no memory for a regular expression");
    char why[128] = "";
    pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
    return error_set(WEFT_UNSUPPORTED, "PCRE2 refuses the expression \"%.*s\" at byte %zu: %s",
                     (int)(n < 100 ? n : 100), expression, (size_t)at, why);
}

weft_status pattern_open(const char *expression, size_t n, bool jit, pattern **out) {
    *out = NULL;
    const char *wish = getenv("WEFT_JIT");
    pattern *p = mem_alloc(sizeof *p);
    if (!p) return WEFT_NO_MEMORY;
    p->memory = pcre2_general_context_create(allocate, release, NULL);
    weft_status status = p->memory ? compile(p, expression, n) : WEFT_NO_MEMORY;
    if (status != WEFT_OK) {
        pattern_close(p);
        return status;
    }
    jit = jit && !(wish && !strcmp(wish, "off"));
    p->is_jit = jit && pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0;
    *out = p;
    return WEFT_OK;
}

void pattern_close(pattern *p) {
    if (!p) return;
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->memory);
    mem_free(p);
}

weft_status pattern_work_open(pattern_work **out) {
    *out = NULL;
    pattern_work *w = mem_alloc(sizeof *w);
    if (!w) return WEFT_NO_MEMORY;
    w->memory = pcre2_general_context_create(allocate, release, NULL);
    if (w->memory) {
        w->match = pcre2_match_data_create(1, w->memory);
        w->limits = pcre2_match_context_create(w->memory);
    }
    if (!w->match || !w->limits) {
        pattern_work_close(w);
        return WEFT_NO_MEMORY;
    }
    pcre2_set_match_limit(w->limits, MATCH_LIMIT);
    *out = w;
    return WEFT_OK;
}

void pattern_work_close(pattern_work *w) {
    if (!w) return;
    pcre2_match_data_free(w->match);
    pcre2_match_context_free(w->limits);
    pcre2_general_context_free(w->memory);
    mem_free(w);
}

weft_status pattern_find(const pattern *p, const pattern_work *w, const char *text, size_t n,
                         size_t at, bool *found, size_t *from, size_t *to) {
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (p->is_jit)
        result = pcre2_jit_match(p->code, (PCRE2_SPTR)text, n, at, 0, w->match, w->limits);
    /* The interpreter keeps its stack on the heap, so it can do what the machine code's stack
     * cannot. */
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
        result = pcre2_match(p->code, (PCRE2_SPTR)text, n, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                             w->match, w->limits);
    *found = result >= 0;
    if (result == PCRE2_ERROR_NOMATCH) return WEFT_OK;
    REQUIRE(result != PCRE2_ERROR_NOMEMORY, WEFT_NO_MEMORY, "no memory to split a text");
    REQUIRE(result >= 0, WEFT_LIMIT,
            "a regular expression gave up on a piece of %zu bytes (PCRE2 error %d)", n, result);
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(w->match);
    *from = range[0];
    *to = range[1];
    return WEFT_OK;
}
