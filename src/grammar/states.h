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

#include "grammar/cover.h"

enum { STATES_MOST_STEPS = 1 << 26 };
enum { STATE_DEAD = 0, STATE_UNKNOWN = -1 };
enum { STATE_HAS_BYTES = 1, STATE_ACCEPTS = 2, STATE_POPS = 4 }; /* POPS: has the BOTTOM node */

typedef struct pair {
    int32_t node, frame;
} pair;

typedef struct state {
    uint32_t first, n; /* its pairs, sorted by frame, then node */
    int32_t closed;    /* the closed set, STATE_UNKNOWN = not worked out */
    uint8_t flags;     /* of a closed set */
    bool has_cover;
    uint8_t run; /* of a closed set, once has_cover: states_cover */
    cover_set groups, begun;
    int32_t *next; /* by class of byte, NULL until needed */
    /* matcher.c's, NULL until needed: the allowed tokens, and those of it as a part of a set */
    struct state_tokens *mask, *local;
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
    int64_t n_steps,
        most_steps; /* pairs looked at since it was last set to 0, and how many may be */
    int32_t bottom; /* the set {BOTTOM} */
    int32_t start;
    /* scratch of one closure */
    pair *work, *found, *calls;
    size_t n_work, work_capacity, n_found, found_capacity, n_calls, calls_capacity;
    struct pair_mark {
        uint32_t closure; /* the last one that met this node, and its frame there */
        int32_t frame;
    } * marks;        /* of nodes */
    uint32_t closure; /* the number of this one */
    uint32_t *seen;   /* hash set of the first n_seen pairs found */
    size_t seen_slots, seen_capacity, n_seen;
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
/* Works out `groups` and `run` of a closed set: any `run` characters of these groups may come; and
 * `begun`, the groups whose characters can begin there. */
void states_cover(states *s, int32_t set);
/* The number of characters of `groups` that can come from a closed set, where that is exact: all
 * of them lead along one line of sets, and then none can come. -1 when it is not so within `most`
 * characters, or when the BOTTOM node is met, below which more may come. */
weft_status states_exact_run(states *s, int32_t set, cover_set groups, int most, int *out);

#endif
