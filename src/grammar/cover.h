/* Characters in groups, so that a place of a grammar that takes any character of some groups (the
 * inside of a string) can be held against whole subtrees of the vocabulary at once.
 *
 * A set of groups is 64 bits: each ASCII punctuation mark, letters and digits by their kind, the
 * kinds of control characters, and the eight forms of well-formed UTF-8 of two bytes or more.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_GRAMMAR_COVER_H
#define WEFT_GRAMMAR_COVER_H

#include "grammar/nfa.h"

typedef uint64_t cover_set;
/* Bytes that are no whole character; no place covers it. */
#define COVER_NONE (UINT64_C(1) << 63)
enum { COVER_ENDLESS = 255 }; /* of a run: without end */

/* The group of the character at the beginning of text[0..n), n > 0, and its length; COVER_NONE, 1
 * when there is no whole well-formed character. */
cover_set cover_of_char(const char *text, size_t n, size_t *length);
/* The groups of a JSON string's plain characters (all but quote, backslash and controls); of
 * letters, digits, spaces and what is not ASCII; of small letters and digits. */
cover_set cover_json(void);
cover_set cover_words(void);
cover_set cover_names(void);
/* Whether all characters past ASCII are among the groups. */
bool cover_is_wide(cover_set groups);

/* The groups that have a character which begins with a byte of lo..hi, and COVER_NONE when one of
 * these bytes begins none. */
cover_set cover_begun(int lo, int hi);

/* What node `to` of the grammar is reached with, from here, by any one character of `groups`; and
 * how many such characters there may be at least, one after the other. */
typedef struct nfa_cover {
    cover_set groups, begun; /* begun: of a RANGE node, by cover_begun */
    int32_t to;
    uint8_t run;
} nfa_cover;
/* Fills g->covers, one for each node. */
weft_status cover_find(grammar *g);

/* The groups by where their characters lead: a node, with a frame (states.h). */
typedef struct cover_tally {
    struct cover_target {
        cover_set groups;
        int32_t to, frame;
    } targets[16];
    int n;
} cover_tally;
/* Targets past the sixteenth are left out. */
void cover_count(cover_tally *t, cover_set groups, int32_t to, int32_t frame);
/* The target with the most groups, NULL when there is none. */
const struct cover_target *cover_best(const cover_tally *t);
/* How many characters of `groups` there may be when the first leads to node `to`. */
uint8_t cover_run(const grammar *g, cover_set groups, int32_t to);

#endif
