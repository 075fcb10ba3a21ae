/* The matcher's states, made as they are needed and kept: sets of (node, frame) pairs, numbered so
 * that equal sets have one number. A frame is itself the number of a set: what follows once the
 * node's rule is done. A text's position is thus one number, which makes going back and branching
 * free.
 *
 * A set that was closed holds only nodes that take a byte, and the ACCEPT and BOTTOM nodes; sets
 * used as frames are closed when something returns to them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_STATES_H
#define WEFT_GRAMMAR_STATES_H

#include "grammar/nfa.h"

enum { STATE_DEAD = 0, STATE_UNKNOWN = -1 };
enum { STATE_HAS_BYTES = 1, STATE_ACCEPTS = 2, STATE_POPS = 4 }; /* POPS: has the BOTTOM node */

typedef struct pair {
    int32_t node, frame;
} pair;

typedef struct state {
    uint32_t first, n; /* its pairs, sorted by frame, then node */
    int32_t closed;    /* the closed set, STATE_UNKNOWN = not worked out */
    uint8_t flags;     /* of a closed set */
    int32_t *next;     /* by class of byte, NULL until needed */
    uint32_t *mask;    /* matcher.c's: allowed tokens, NULL until needed */
    struct state_local *local;
} state;

typedef struct states {
    const grammar *g;
    state *list;
    size_t n, capacity;
    pair *pairs;
    size_t n_pairs, pairs_capacity;
    uint32_t *slots; /* hash table of numbers, 0 = free */
    size_t n_slots;
    size_t n_bytes; /* in tables and masks */
    int32_t bottom; /* the set {BOTTOM} */
    int32_t start;
    /* scratch of one closure */
    pair *work, *found, *calls;
    size_t n_work, work_capacity, n_found, found_capacity, n_calls, calls_capacity;
    uint32_t *seen; /* hash set of the pairs seen */
    size_t seen_slots, seen_capacity;
} states;

weft_status states_open(states *s, const grammar *g);
void states_free(states *s);
/* Drops tables and masks, which can be worked out again; the states keep their numbers. */
void states_forget(states *s);
/* The number of the set of pairs[0..n) (sorted here; duplicates go). */
weft_status states_intern(states *s, pair *pairs, size_t n, int32_t *out);
/* A frame's set, closed. */
weft_status states_close(states *s, int32_t set, int32_t *out);
/* One byte of this class on: STATE_DEAD when it cannot come. */
weft_status states_step(states *s, int32_t from, int class, int32_t *to);

#endif
