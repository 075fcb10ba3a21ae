/* See charsmap.h. A wrong map may give wrong texts, never an access outside it.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/charsmap.h"

#include <string.h>

#include "base/mem.h"

weft_status charsmap_open(charsmap *m, token_text map) {
    *m = (charsmap){0};
    if (!map.n) return WEFT_OK;
    uint32_t bytes;
    REQUIRE(map.n > sizeof bytes, WEFT_FORMAT, "the precompiled character map is cut off");
    memcpy(&bytes, map.data, sizeof bytes);
    REQUIRE(bytes % 4 == 0 && bytes && bytes < map.n - sizeof bytes, WEFT_FORMAT,
            "the precompiled character map claims a trie of %u bytes in %zu", bytes, map.n);
    REQUIRE(map.data[map.n - 1] == 0, WEFT_FORMAT,
            "the precompiled character map does not end in a 0 byte");
    m->units = mem_copy(map.data + sizeof bytes, bytes);
    m->n_replacements = map.n - sizeof bytes - bytes;
    m->replacements = mem_copy(map.data + sizeof bytes + bytes, m->n_replacements);
    m->n_units = bytes / 4;
    if (m->units && m->replacements) return WEFT_OK;
    charsmap_close(m);
    return WEFT_NO_MEMORY;
}

void charsmap_close(charsmap *m) {
    mem_free(m->units);
    mem_free(m->replacements);
    *m = (charsmap){0};
}

static uint32_t unit_offset(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }

size_t charsmap_find(const charsmap *m, const char *text, size_t n, bool shortest,
                     const char **replacement) {
    if (!m->n_units) return 0;
    size_t found = 0;
    uint32_t at = unit_offset(m->units[0]);
    for (size_t i = 0; i < n && text[i] && !(shortest && found); i++) {
        uint8_t byte = (uint8_t)text[i];
        at ^= byte;
        if (at >= m->n_units || (m->units[at] & (1u << 31 | 0xFF)) != byte) break;
        bool is_leaf = m->units[at] >> 8 & 1;
        at ^= unit_offset(m->units[at]);
        if (!is_leaf) continue;
        if (at >= m->n_units) break;
        uint32_t value = m->units[at] & 0x7FFFFFFFu;
        if (value >= m->n_replacements) break;
        found = i + 1;
        *replacement = m->replacements + value;
    }
    return found;
}
