/* A hash map from byte strings to uint32_t, for token pieces and names. Keys are not copied: they
 * must outlive the map. All-zero is an empty map. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_MAP_H
#define WEFT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct map {
    struct map_slot *slots;
    size_t n, n_slots; /* n_slots is 0 or a power of two */
} map;

/* Makes room for `n` keys at once. */
weft_status map_reserve(map *m, size_t n);
/* Adds or replaces. Keys made to collide are WEFT_LIMIT. */
weft_status map_set(map *m, const char *key, size_t key_bytes, uint32_t value);
/* False when the key is absent. */
bool map_get(const map *m, const char *key, size_t key_bytes, uint32_t *value);
void map_free(map *m);

/* 64-bit hash of bytes (multiply and fold, our own constants): stable within a process run only. */
uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed);

#endif
