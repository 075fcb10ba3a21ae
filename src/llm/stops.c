/* Stop strings in a stream. The answer is the text before the earliest place where a stop string
 * begins, however the text was cut into tokens; so text is held back exactly as long as a stop
 * string could still begin in it.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "llm/llm.h"

enum { NONE, PARTLY, WHOLLY };

/* Whether text[0..n) begins with a stop string, or is the beginning of one. */
static int match(const stops *s, const char *text, size_t n) {
    int best = NONE;
    for (size_t i = 0; i < s->n_stop && best != WHOLLY; i++) {
        size_t length = s->stop[i] ? strlen(s->stop[i]) : 0;
        if (!length) continue;
        if (length <= n && !memcmp(text, s->stop[i], length)) best = WHOLLY;
        else if (length > n && !memcmp(text, s->stop[i], n)) best = PARTLY;
    }
    return best;
}

static weft_status give(stops *s, size_t n, str *out) {
    TRY(str_append(out, s->pending.data, n));
    memmove(s->pending.data, s->pending.data + n, s->pending.n - n);
    s->pending.n -= n;
    s->pending.data[s->pending.n] = 0;
    return WEFT_OK;
}

/* Gives out pending text up to the first place where a match stands (wholly) or may come (partly,
 * unless is_over). */
static weft_status scan(stops *s, bool is_over, str *out) {
    for (size_t at = 0; at < s->pending.n; at++) {
        int found = match(s, s->pending.data + at, s->pending.n - at);
        if (found == WHOLLY) {
            s->is_found = true;
            TRY(give(s, at, out));
            str_clear(&s->pending);
            return WEFT_OK;
        }
        if (found == PARTLY && !is_over) return at ? give(s, at, out) : WEFT_OK;
    }
    return s->pending.n ? give(s, s->pending.n, out) : WEFT_OK;
}

weft_status stops_feed(stops *s, const char *text, size_t n, str *out) {
    if (s->is_found || !n) return WEFT_OK;
    TRY(str_append(&s->pending, text, n));
    return scan(s, false, out);
}

weft_status stops_end(stops *s, str *out) { return s->is_found ? WEFT_OK : scan(s, true, out); }

void stops_free(stops *s) { str_free(&s->pending); }
