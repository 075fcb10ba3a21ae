/* Numbers between bounds, digit by digit. A state is a position and two facts: whether the digits
 * so far equal the lower bound's, and the upper's. Numbers are split by sign and by how many digits
 * stand before the point; states are made from the last position to the first, so that an edge's
 * target exists when it is drawn. Exponents are not written where there is a bound.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <string.h>

#include "grammar/schema.h"

/* A bound's digits, without sign; fractions end in no 0. */
typedef struct decimal {
    bool is_there, is_open;
    char whole[NUMBER_SIZE], fraction[NUMBER_SIZE];
    int n_whole, n_fraction;
} decimal;

typedef struct ranges {
    nfa_builder *b;
    const decimal *low, *high; /* magnitudes */
    bool is_whole;
    int32_t out;
} ranges;

static decimal split_text(const char *text, bool is_open) {
    decimal d = {.is_there = true, .is_open = is_open};
    if (*text == '-') text++;
    for (; *text && *text != '.'; text++) d.whole[d.n_whole++] = (char)(*text - '0');
    if (*text == '.')
        for (text++; *text; text++) d.fraction[d.n_fraction++] = (char)(*text - '0');
    while (d.n_fraction && !d.fraction[d.n_fraction - 1]) d.n_fraction--;
    return d;
}

static bool is_zero(const decimal *d) { return d->n_whole == 1 && !d->whole[0] && !d->n_fraction; }

/* Puts one more choice in front of *hub: a digit of lo..hi, then `to`. */
static weft_status add_digits(ranges *r, int lo, int hi, int32_t to, int32_t *hub) {
    int32_t digit = 0;
    if (lo > hi || to == NFA_NONE) return WEFT_OK;
    TRY(nfa_add(r->b, NFA_RANGE, to, NFA_NONE, &digit));
    r->b->nodes[digit].lo = (uint8_t)('0' + lo);
    r->b->nodes[digit].hi = (uint8_t)('0' + hi);
    return nfa_add(r->b, NFA_SPLIT, digit, *hub, hub);
}

/* A digit of least..most; `to` by whether it equals the lower (1) and the upper bound's (2) digit:
 * those that are tight now. */
static weft_status add_choices(ranges *r, int tight, int least, int most, const int32_t to[4],
                               int32_t *hub) {
    if (least > most) return WEFT_OK;
    if (least == most) return add_digits(r, least, most, to[tight], hub);
    int first = least + (tight & 1), last = most - (tight >> 1);
    if (tight & 1) TRY(add_digits(r, least, least, to[1], hub));
    if (tight & 2) TRY(add_digits(r, most, most, to[2], hub));
    return add_digits(r, first, last, to[0], hub);
}

/* Whether a number may end after i digits of the fraction. */
static bool may_end(const ranges *r, int tight, int i) {
    if (tight & 1 && (i < r->low->n_fraction || r->low->is_open)) return false;
    return !(tight & 2 && i >= r->high->n_fraction && r->high->is_open);
}

/* The states right after the digits before the point, into at[4]. */
static weft_status build_fraction(ranges *r, int32_t at[4]) {
    int n_low = r->low->n_fraction, n_high = r->high->n_fraction;
    int n = n_low > n_high ? n_low : n_high;
    int32_t next[4], here[4];
    if (n < 1) n = 1;
    for (int t = 0; t < 4; t++) TRY(nfa_add(r->b, NFA_SPLIT, NFA_NONE, NFA_NONE, &next[t]));
    for (int i = n; i >= 0; i--) { /* at n, where `next` is the state itself: more digits */
        for (int t = 0; t < 4; t++) {
            int least = t & 1 && i < n_low ? r->low->fraction[i] : 0, most = 9;
            if (t & 2) most = i < n_high ? r->high->fraction[i] : 0;
            here[t] = NFA_NONE;
            TRY(add_choices(r, t, least, most, next, &here[t]));
            if (i > 0 && may_end(r, t, i)) TRY(nfa_add(r->b, NFA_SPLIT, r->out, here[t], &here[t]));
        }
        if (i < n) {
            memcpy(next, here, sizeof next);
            continue;
        }
        for (int t = 0; t < 4; t++) /* close the loop */
            if (here[t] != NFA_NONE) r->b->nodes[next[t]].next = here[t];
            else r->b->nodes[next[t]].kind = NFA_FAIL;
    }
    for (int t = 0; t < 4; t++) {
        at[t] = NFA_NONE;
        if (!r->is_whole && next[t] != NFA_NONE) {
            TRY(nfa_add(r->b, NFA_RANGE, next[t], NFA_NONE, &at[t]));
            r->b->nodes[at[t]].lo = r->b->nodes[at[t]].hi = '.';
        }
        if (may_end(r, t, 0)) TRY(nfa_add(r->b, NFA_SPLIT, r->out, at[t], &at[t]));
    }
    return WEFT_OK;
}

/* Numbers with n digits before the point, as one more choice in front of *hub. */
static weft_status build_whole(ranges *r, int n, const int32_t end[4], int32_t *hub) {
    int tight = (r->low->is_there && n == r->low->n_whole ? 1 : 0) |
                (r->high->is_there && n == r->high->n_whole ? 2 : 0);
    int32_t next[4], here[4];
    memcpy(next, end, sizeof next);
    for (int i = n - 1; i >= 0; i--) {
        for (int t = 0; t < 4; t++) {
            here[t] = NFA_NONE;
            if (t & ~tight) continue;
            int least = i == 0 && n > 1 ? 1 : 0, most = 9;
            if (t & 1) least = (unsigned char)r->low->whole[i];
            if (t & 2) most = (unsigned char)r->high->whole[i];
            TRY(add_choices(r, t, least, most, next, &here[t]));
        }
        memcpy(next, here, sizeof next);
    }
    if (next[tight] == NFA_NONE) return WEFT_OK;
    return nfa_add(r->b, NFA_SPLIT, next[tight], *hub, hub);
}

/* All magnitudes between the bounds. */
static weft_status build_magnitude(ranges *r, int32_t *hub) {
    int32_t end[4], loop = 0, digit = 0;
    int first = r->low->is_there ? r->low->n_whole : 1;
    int last = r->high->is_there ? r->high->n_whole : first;
    TRY(build_fraction(r, end));
    for (int n = first; n <= last; n++) TRY(build_whole(r, n, end, hub));
    if (r->high->is_there) return WEFT_OK;
    /* longer ones are larger: 1-9, `last` digits, and more */
    int32_t to = NFA_NONE;
    TRY(nfa_add(r->b, NFA_RANGE, NFA_NONE, NFA_NONE, &digit));
    r->b->nodes[digit].lo = '0';
    r->b->nodes[digit].hi = '9';
    TRY(nfa_add(r->b, NFA_SPLIT, digit, end[0], &loop));
    r->b->nodes[digit].next = loop;
    for (int i = 0, at = loop; i < last; i++, at = to) {
        to = NFA_NONE;
        TRY(add_digits(r, 0, 9, at, &to));
    }
    return add_digits(r, 1, 9, to, hub);
}

weft_status schema_number(nfa_builder *b, const number_bounds *n, nfa_frag *f) {
    const decimal none = {0};
    decimal low = none, high = none;
    if (n->has_low) low = split_text(n->low, n->is_low_open);
    if (n->has_high) high = split_text(n->high, n->is_high_open);
    bool low_is_negative = n->has_low && n->low[0] == '-' && !is_zero(&low);
    bool high_is_negative = n->has_high && n->high[0] == '-' && !is_zero(&high);
    ranges r = {.b = b, .is_whole = n->is_whole};
    int32_t hub = NFA_NONE, minus = NFA_NONE, sign = 0;
    f->begin = (int32_t)b->n;
    TRY(nfa_add(r.b, NFA_SPLIT, NFA_NONE, NFA_NONE, &r.out));
    if (!high_is_negative) {
        r.low = low_is_negative ? &none : &low;
        r.high = &high;
        TRY(build_magnitude(&r, &hub));
    }
    if (!n->has_low || low_is_negative) {
        bool is_bounded = high_is_negative || (n->has_high && is_zero(&high) && high.is_open);
        r.low = is_bounded ? &high : &none;
        r.high = &low;
        TRY(build_magnitude(&r, &minus));
    }
    if (minus != NFA_NONE) {
        TRY(nfa_add(r.b, NFA_RANGE, minus, NFA_NONE, &sign));
        r.b->nodes[sign].lo = r.b->nodes[sign].hi = '-';
        TRY(nfa_add(r.b, NFA_SPLIT, sign, hub, &hub));
    }
    if (hub == NFA_NONE) TRY(nfa_add(r.b, NFA_FAIL, NFA_NONE, NFA_NONE, &hub));
    f->start = hub;
    f->out = r.out;
    f->end = (int32_t)b->n;
    return WEFT_OK;
}

/* ---- comparing, and multiples ---------------------------------------------------------------- */

/* < 0, 0, > 0 for magnitudes; digits before the point have no leading zero. */
static int compare_magnitudes(const decimal *a, const decimal *b) {
    if (a->n_whole != b->n_whole) return a->n_whole - b->n_whole;
    int order = memcmp(a->whole, b->whole, (size_t)a->n_whole);
    int n = a->n_fraction < b->n_fraction ? a->n_fraction : b->n_fraction;
    if (!order) order = memcmp(a->fraction, b->fraction, (size_t)n);
    return order ? order : a->n_fraction - b->n_fraction;
}

int schema_number_compare(const char *a, const char *b) {
    decimal x = split_text(a, false), y = split_text(b, false);
    int a_sign = is_zero(&x) ? 0
                 : *a == '-' ? -1
                             : 1,
        b_sign = is_zero(&y) ? 0
                 : *b == '-' ? -1
                             : 1;
    if (a_sign != b_sign) return a_sign - b_sign;
    return a_sign * compare_magnitudes(&x, &y);
}

/* The multiples of p / 10^k. A state is a remainder by p and how far a text is: before the point,
 * or i digits behind it (k at most; then only zeros may follow). */
typedef struct multiples {
    regular *out;
    int32_t p;
    int k;
} multiples;

static int32_t state_of(const multiples *m, int place, int32_t remainder) {
    return 1 + place * m->p + remainder;
}

static void set_edges(const multiples *m, int place, int32_t remainder) {
    enum { OTHER, MINUS, POINT, FIRST_DIGIT = 4 }; /* classes: see schema_multiples */
    int32_t *next = m->out->next + state_of(m, place, remainder) * m->out->n_classes;
    int64_t value = remainder;
    next[OTHER] = REGULAR_DEAD;
    if (place == 0) next[MINUS] = state_of(m, 0, remainder);
    if (place == 0) next[POINT] = state_of(m, 1, remainder);
    for (int digit = 0; digit < 10; digit++) {
        int32_t sum = (int32_t)(((int64_t)remainder * 10 + digit) % m->p);
        int32_t to = place == 0      ? state_of(m, 0, sum)
                     : place <= m->k ? state_of(m, place + 1, sum)
                     : digit == 0    ? state_of(m, place, remainder)
                                     : REGULAR_DEAD;
        next[FIRST_DIGIT + digit] = to;
    }
    for (int i = place ? place - 1 : 0; i < m->k; i++) value = value * 10 % m->p;
    if (value == 0) m->out->flags[state_of(m, place, remainder)] = REGULAR_ENDS;
}

weft_status schema_multiples(const char *text, regular *out) {
    decimal d = split_text(text, false);
    multiples m = {.out = out, .p = 0, .k = d.n_fraction};
    int32_t unused;
    *out = (regular){.n_classes = 15};
    for (int i = 0; i < d.n_whole + d.n_fraction; i++) {
        int digit = i < d.n_whole ? d.whole[i] : d.fraction[i - d.n_whole];
        m.p = m.p * 10 + digit;
        REQUIRE((int64_t)m.p * (m.k + 2) < REGULAR_MOST_STATES, WEFT_LIMIT,
                "multiples of %s need more than %d states", text, REGULAR_MOST_STATES);
    }
    for (int byte = 0; byte < 256; byte++) /* other, -, ., /, 0 to 9, other */
        out->classes[byte] = (uint8_t)(byte < '-' ? 0 : byte <= '9' ? byte - '-' + 1 : 14);
    for (int32_t i = 0; i < 1 + m.p * (m.k + 2); i++) TRY(regular_add(out, &unused));
    for (int place = 0; place < m.k + 2; place++)
        for (int32_t r = 0; r < m.p; r++) set_edges(&m, place, r);
    for (int i = 0; i < N_BEFORE; i++) out->starts[i] = state_of(&m, 0, 0);
    return regular_finish(out);
}

#endif
