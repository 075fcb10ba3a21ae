/* Where a $ref leads: "#", "#/a/b", "#name", and the same behind the $id of a schema in the
 * document, relative to where the $ref stands (RFC 3986, without dot segments). The document is
 * walked once, along the keywords whose values are schemas; nothing is fetched.
 * SPDX-License-Identifier: MIT */
#ifdef WEFT_HAVE_JANSSON
#include <string.h>

#include "base/str.h"
#include "grammar/schema.h"

enum { MOST_STEPS = 1000 };

/* The number of an address; *is_new: it had none. */
static weft_status number_of(sequences *s, const json_t *one, int32_t *number, bool *is_new) {
    int32_t key[2] = {0, 0};
    size_t n = s->n;
    memcpy(key, &one, sizeof one < sizeof key ? sizeof one : sizeof key);
    TRY(sequences_add(s, key, 2, number));
    *is_new = (size_t)*number == n;
    return WEFT_OK;
}

static size_t scheme_length(const char *uri) {
    size_t n = 0;
    while ((uri[n] >= 'a' && uri[n] <= 'z') || (uri[n] >= 'A' && uri[n] <= 'Z') ||
           (n &&
            ((uri[n] >= '0' && uri[n] <= '9') || uri[n] == '+' || uri[n] == '-' || uri[n] == '.')))
        n++;
    return n && uri[n] == ':' ? n + 1 : 0;
}

/* `reference`, less a fragment, relative to `base`, in the arena. */
static const char *join(schema *s, const char *base, const char *reference) {
    size_t n = strcspn(reference, "#"), kept = 0, scheme = scheme_length(base);
    if (!n) return base;
    if (scheme_length(reference)) kept = 0;
    else if (n > 1 && reference[0] == '/' && reference[1] == '/') kept = scheme;
    else if (reference[0] == '/') {
        kept = scheme;
        if (base[kept] == '/' && base[kept + 1] == '/') kept += 2 + strcspn(base + kept + 2, "/");
    } else {
        const char *slash = strrchr(base, '/');
        kept = slash ? (size_t)(slash - base) + 1 : scheme;
    }
    str made = {0};
    const char *copy = NULL;
    if (str_append(&made, base, kept) == WEFT_OK && str_append(&made, reference, n) == WEFT_OK)
        copy = arena_string(&s->b.names, str_text(&made), made.n);
    str_free(&made);
    return copy;
}

static weft_status add_place(schema *s, json_t *one, const char *base, const char *name) {
    str uri = {0};
    const char *copy = NULL;
    TRY(mem_reserve((void **)&s->places, &s->places_capacity, s->n_places + 1, sizeof *s->places));
    if (str_format(&uri, "%s%s%s", base, name ? "#" : "", name ? name : "") == WEFT_OK)
        copy = arena_string(&s->b.names, str_text(&uri), uri.n);
    str_free(&uri);
    if (!copy) return WEFT_NO_MEMORY;
    s->places[s->n_places++] = (schema_place){one, copy};
    return WEFT_OK;
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef struct walk {
    schema_place *list;
    size_t n, capacity;
} walk;

static weft_status put(walk *w, json_t *one, const char *base) {
    if (!json_is_object(one)) return WEFT_OK;
    TRY(mem_reserve((void **)&w->list, &w->capacity, w->n + 1, sizeof *w->list));
    w->list[w->n++] = (schema_place){one, base};
    return WEFT_OK;
}

static bool is_in(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* The schemas right below one. */
static weft_status put_children(walk *w, json_t *one, const char *base) {
    static const char *const maps[] = {"properties",  "patternProperties", "$defs",
                                       "definitions", "dependentSchemas",  "dependencies"};
    static const char *const others[] = {"items",
                                         "prefixItems",
                                         "additionalItems",
                                         "contains",
                                         "propertyNames",
                                         "not",
                                         "if",
                                         "then",
                                         "else",
                                         "allOf",
                                         "anyOf",
                                         "oneOf",
                                         "additionalProperties",
                                         "unevaluatedItems",
                                         "unevaluatedProperties"};
    const char *key, *name;
    json_t *value, *inner;
    size_t i;
    json_object_foreach(one, key, value) {
        if (is_in(maps, sizeof maps / sizeof *maps, key)) {
            json_object_foreach(value, name, inner) TRY(put(w, inner, base));
        } else if (is_in(others, sizeof others / sizeof *others, key)) {
            TRY(put(w, value, base));
            json_array_foreach(value, i, inner) TRY(put(w, inner, base));
        }
    }
    return WEFT_OK;
}

static weft_status visit(schema *s, walk *w, schema_place at) {
    json_t *id = json_object_get(at.one, "$id"), *reference = json_object_get(at.one, "$ref");
    static const char *const anchors[] = {"$anchor", "$dynamicAnchor"};
    int32_t number;
    bool is_new;
    const char *key;
    json_t *value;
    TRY(number_of(&s->walked, at.one, &number, &is_new));
    if (!is_new) return WEFT_OK;
    json_object_foreach(at.one, key, value) if (key[0] == '\1') return schema_fail(
        s, WEFT_UNSUPPORTED, "the keyword \"\\u0001%.80s\" is not supported", key + 1);
    if (json_is_string(id)) {
        const char *text = json_string_value(id);
        at.uri = join(s, at.uri, text);
        if (!at.uri) return WEFT_NO_MEMORY;
        if (text[0] != '#') TRY(add_place(s, at.one, at.uri, NULL));
        else TRY(add_place(s, at.one, at.uri, text + 1)); /* draft 7's spelling of $anchor */
    }
    for (int i = 0; i < 2; i++) {
        json_t *anchor = json_object_get(at.one, anchors[i]);
        if (json_is_string(anchor)) TRY(add_place(s, at.one, at.uri, json_string_value(anchor)));
    }
    if (json_is_string(reference)) {
        TRY(number_of(&s->reference_keys, reference, &number, &is_new));
        TRY(mem_reserve((void **)&s->references, &s->references_capacity, s->n_references + 1,
                        sizeof *s->references));
        if (is_new) s->references[s->n_references++] = (schema_place){reference, at.uri};
    }
    return put_children(w, at.one, at.uri);
}

static weft_status walk_from(schema *s, json_t *one, const char *base) {
    walk w = {0};
    weft_status status = put(&w, one, base);
    while (w.n && status == WEFT_OK) {
        schema_place at = w.list[--w.n];
        status = visit(s, &w, at);
    }
    mem_free(w.list);
    return status;
}

weft_status schema_find_places(schema *s) {
    TRY(add_place(s, s->root, "", NULL));
    return walk_from(s, s->root, "");
}

/* ---- resolving ------------------------------------------------------------------------------- */

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
    return -1;
}

/* The fragment without percent escapes. */
static weft_status unescape(const char *text, str *out) {
    TRY(str_append(out, "", 0));
    for (; *text; text++) {
        bool is_escape = *text == '%' && hex_value(text[1]) >= 0 && hex_value(text[2]) >= 0;
        TRY(str_char(out,
                     is_escape ? (char)(hex_value(text[1]) * 16 + hex_value(text[2])) : *text));
        if (is_escape) text += 2;
    }
    return WEFT_OK;
}

/* One step of a JSON pointer, escapes undone, into `step`; the rest is returned. */
static const char *take_step(const char *at, str *step) {
    str_clear(step);
    if (str_append(step, "", 0) != WEFT_OK) return NULL;
    for (at++; *at && *at != '/'; at++) {
        char c = *at;
        if (c == '~' && (at[1] == '0' || at[1] == '1')) c = *++at == '0' ? '~' : '/';
        if (str_char(step, c) != WEFT_OK) return NULL;
    }
    return at;
}

/* Down a JSON pointer; *base changes where a schema with an $id is passed. NULL = leads nowhere. */
static weft_status follow(schema *s, json_t *at, const char *pointer, const char **base,
                          json_t **out) {
    str step = {0};
    weft_status status = WEFT_OK;
    const char *p = pointer;
    while (p && *p == '/' && at) {
        p = take_step(p, &step);
        if (!p) break;
        if (json_is_array(at)) {
            size_t i = 0;
            const char *d = str_text(&step);
            for (; *d >= '0' && *d <= '9' && i < 1000000; d++) i = i * 10 + (size_t)(*d - '0');
            at = *d || !step.n ? NULL : json_array_get(at, i);
        } else at = json_object_get(at, str_text(&step));
        json_t *id = json_object_get(at, "$id");
        if (json_is_string(id) && json_string_value(id)[0] != '#')
            *base = join(s, *base, json_string_value(id));
        if (!*base) status = WEFT_NO_MEMORY;
        if (!*base) break;
    }
    str_free(&step);
    if (!p) status = WEFT_NO_MEMORY;
    *out = at;
    return status;
}

static json_t *find_place(const schema *s, const char *uri) {
    for (size_t i = 0; i < s->n_places; i++)
        if (!strcmp(s->places[i].uri, uri)) return s->places[i].one;
    return NULL;
}

static weft_status resolve(schema *s, const char *base, const char *text, str *fragment,
                           json_t **out) {
    const char *uri = join(s, base, text), *hash = strchr(text, '#');
    if (!uri) return WEFT_NO_MEMORY;
    json_t *at = find_place(s, uri);
    if (!at)
        return schema_fail(s, WEFT_UNSUPPORTED,
                           "the $ref \"%.200s\" leads out of the document, which is not supported",
                           text);
    TRY(unescape(hash ? hash + 1 : "", fragment));
    if (fragment->n && fragment->data[0] != '/') {
        str name = {0};
        weft_status status = str_format(&name, "%s#%s", uri, fragment->data);
        at = status == WEFT_OK ? find_place(s, str_text(&name)) : NULL;
        str_free(&name);
        TRY(status);
    } else TRY(follow(s, at, fragment->data, &uri, &at));
    if (!at) return schema_fail(s, WEFT_FORMAT, "the $ref \"%.200s\" leads nowhere", text);
    *out = at;
    return walk_from(s, at, uri); /* where no keyword leads, such as "#/components/..." */
}

weft_status schema_resolve(schema *s, json_t *reference, json_t **out) {
    int32_t number;
    bool is_new;
    str fragment = {0};
    TRY(schema_step(s));
    TRY(number_of(&s->reference_keys, reference, &number, &is_new));
    if (is_new || (size_t)number >= s->n_references)
        return schema_fail(s, WEFT_UNSUPPORTED, "the $ref \"%.200s\" stands where no schema may",
                           json_string_value(reference));
    weft_status status =
        resolve(s, s->references[number].uri, json_string_value(reference), &fragment, out);
    str_free(&fragment);
    return status;
}

#endif
