/* Open addressing with linear probing, at most 5/8 full. See map.h. Keys come from files, and the
 * hash is no secret: keys made to meet in one place are refused after a number of steps that keys
 * by chance are far from. SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <string.h>

#include "base/mem.h"

enum { MOST_STEPS = 4096 };

struct map_slot {
    const char *key; /* NULL = free */
    uint32_t key_bytes, value;
    uint64_t hash;
};

uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed) {
    const unsigned char *p = bytes;
    uint64_t h = seed ^ (n * 0x9E3779B97F4A7C15u);
    while (n) {
        size_t step = n < 8 ? n : 8;
        uint64_t word = 0;
        memcpy(&word, p, step);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
        p += step;
        n -= step;
    }
    h *= 0xD6E8FEB86659FD93u;
    return h ^ h >> 29;
}

static struct map_slot *find(struct map_slot *slots, size_t n_slots, const char *key,
                             size_t key_bytes, uint64_t hash) {
    size_t i = (size_t)hash & (n_slots - 1);
    for (;; i = (i + 1) & (n_slots - 1)) {
        struct map_slot *s = &slots[i];
        if (!s->key) return s;
        if (s->hash == hash && s->key_bytes == key_bytes && !memcmp(s->key, key, key_bytes))
            return s;
    }
}

weft_status map_reserve(map *m, size_t n) {
    size_t want = m->n_slots ? m->n_slots : 16;
    while (want / 8 * 5 < n) {
        REQUIRE(want <= SIZE_MAX / 4, WEFT_NO_MEMORY, "a table of %zu keys is too large", n);
        want *= 2;
    }
    if (want == m->n_slots) return WEFT_OK;
    struct map_slot *slots = mem_array(want, sizeof *slots);
    if (!slots) return WEFT_NO_MEMORY;
    for (size_t i = 0; i < m->n_slots; i++) {
        const struct map_slot *s = &m->slots[i];
        if (s->key) *find(slots, want, s->key, s->key_bytes, s->hash) = *s;
    }
    mem_free(m->slots);
    m->slots = slots;
    m->n_slots = want;
    return WEFT_OK;
}

weft_status map_set(map *m, const char *key, size_t key_bytes, uint32_t value) {
    REQUIRE(key && key_bytes <= UINT32_MAX, WEFT_INVALID, "a key of %zu bytes is too long",
            key_bytes);
    TRY(map_reserve(m, m->n + 1));
    uint64_t hash = hash_bytes(key, key_bytes, 0);
    struct map_slot *s = find(m->slots, m->n_slots, key, key_bytes, hash);
    size_t steps = ((size_t)(s - m->slots) - (size_t)hash) & (m->n_slots - 1);
    REQUIRE(steps <= MOST_STEPS, WEFT_LIMIT, "%zu names in a row have one hash", steps);
    if (!s->key) m->n++;
    *s = (struct map_slot){key, (uint32_t)key_bytes, value, hash};
    return WEFT_OK;
}

bool map_get(const map *m, const char *key, size_t key_bytes, uint32_t *value) {
    if (!m->n_slots) return false;
    const struct map_slot *s =
        find(m->slots, m->n_slots, key, key_bytes, hash_bytes(key, key_bytes, 0));
    if (!s->key) return false;
    *value = s->value;
    return true;
}

void map_free(map *m) {
    mem_free(m->slots);
    *m = (map){0};
}
