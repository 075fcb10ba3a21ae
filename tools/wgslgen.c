/* Build-time generator: wgslgen OUT_DIR SHADER_ROOT FILE.wgsl...
 *
 * Writes OUT_DIR/shaders_data.h (every shader file as an array row {"name", "text", bytes},
 * named by its path below SHADER_ROOT) and OUT_DIR/shaders.h: for each file with a `struct
 * Params`, a C struct params_<file stem> with WGSL's uniform layout, and for each struct nested
 * in one, wgsl_<name> (wgsl_<stem>_<name> when a kernel file defines it). Padding is explicit
 * and every offset is asserted, so renaming a field in a shader breaks the C build and nothing
 * can drift. Members may be u32, i32, f32, their vec2/3/4, arrays of 16-byte multiples and
 * structs; anything else is an error with file and line. SHADER_FORMATS lists the files of format/.
 * Not here: checking WGSL, which the libraries do. It stands alone (no weft code), so that it
 * builds first.
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 512, MAX_STRUCTS = 1024, MAX_MEMBERS = 64, NAME = 96 };

typedef struct member {
    char name[NAME], type[NAME];
    int line;
} member;

typedef struct structure {
    char name[NAME], c_name[NAME * 3];
    int file, line, n_members;
    bool is_parsed, is_laid_out, is_busy;
    size_t body_at, body_end; /* between the braces */
    member *members;
    unsigned size, align;
} structure;

typedef struct source {
    const char *path, *name; /* name: below the root */
    char stem[NAME];
    char *text, *code; /* code: comments blanked, same length and lines */
    size_t n;
} source;

static source files[MAX_FILES];
static structure structs[MAX_STRUCTS];
static int n_files, n_structs;
static FILE *out;

static void fail(const char *path, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: error: ", path, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static void read_file(source *f) {
    FILE *in = fopen(f->path, "rb");
    if (!in) fail(f->path, 1, "cannot be read");
    size_t capacity = 1 << 16;
    f->text = malloc(capacity);
    while (f->text) {
        size_t got = fread(f->text + f->n, 1, capacity - f->n - 1, in);
        f->n += got;
        if (got == 0) break;
        if (f->n + 1 == capacity) f->text = realloc(f->text, capacity *= 2);
    }
    fclose(in);
    f->code = f->text ? malloc(f->n + 1) : NULL;
    if (!f->code) fail(f->path, 1, "out of memory");
    f->text[f->n] = 0;
    memcpy(f->code, f->text, f->n + 1);
    if (strlen(f->text) != f->n) fail(f->path, 1, "holds a zero byte");
}

/* Blanks comments (WGSL's block comments nest), keeping every line where it was. */
static void blank_comments(source *f) {
    char *c = f->code;
    for (size_t i = 0; i < f->n;) {
        if (c[i] == '/' && c[i + 1] == '/') {
            while (i < f->n && c[i] != '\n') c[i++] = ' ';
        } else if (c[i] == '/' && c[i + 1] == '*') {
            int depth = 0;
            do {
                bool opens = c[i] == '/' && c[i + 1] == '*',
                     closes = c[i] == '*' && c[i + 1] == '/';
                depth += opens - closes;
                int step = opens || closes ? 2 : 1;
                for (; step > 0 && i < f->n; step--, i++) {
                    if (c[i] != '\n') c[i] = ' ';
                }
            } while (depth > 0 && i < f->n);
        } else {
            i++;
        }
    }
}

static int line_of(const source *f, size_t at) {
    int line = 1;
    for (size_t i = 0; i < at; i++) line += f->code[i] == '\n';
    return line;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t skip_space(const source *f, size_t at) {
    while (at < f->n && isspace((unsigned char)f->code[at])) at++;
    return at;
}

static size_t read_word(const source *f, size_t at, char word[NAME]) {
    size_t n = 0;
    while (at < f->n && is_word(f->code[at])) {
        if (n + 1 < NAME) word[n++] = f->code[at];
        at++;
    }
    word[n] = 0;
    return at;
}

/* Finds `struct NAME { ... }`; members are parsed only when a Params reaches them. */
static void find_structs(int file) {
    const source *f = &files[file];
    for (size_t i = 0; i + 6 < f->n; i++) {
        if (memcmp(f->code + i, "struct", 6) != 0 || is_word(f->code[i + 6])) continue;
        if (i > 0 && is_word(f->code[i - 1])) continue;
        if (n_structs == MAX_STRUCTS)
            fail(f->path, line_of(f, i), "more than %d structs", MAX_STRUCTS);
        structure *s = &structs[n_structs++];
        s->file = file;
        s->line = line_of(f, i);
        size_t at = skip_space(f, i + 6);
        at = skip_space(f, read_word(f, at, s->name));
        if (!s->name[0] || f->code[at] != '{')
            fail(f->path, s->line, "struct without a name or a brace");
        s->body_at = at + 1;
        const char *end = strchr(f->code + at, '}');
        if (!end) fail(f->path, s->line, "struct %s is not closed", s->name);
        s->body_end = (size_t)(end - f->code);
        i = s->body_end;
    }
}

static void parse_members(structure *s) {
    const source *f = &files[s->file];
    s->is_parsed = true;
    s->members = calloc(MAX_MEMBERS, sizeof *s->members);
    if (!s->members) fail(f->path, s->line, "out of memory");
    size_t at = skip_space(f, s->body_at);
    while (at < s->body_end) {
        int line = line_of(f, at);
        if (s->n_members == MAX_MEMBERS) fail(f->path, line, "more than %d members", MAX_MEMBERS);
        member *m = &s->members[s->n_members++];
        m->line = line;
        if (f->code[at] == '@') fail(f->path, line, "attributes are not supported in %s", s->name);
        at = skip_space(f, read_word(f, at, m->name));
        if (!m->name[0] || f->code[at] != ':')
            fail(f->path, line, "expected `name: type` in %s", s->name);
        size_t n = 0;
        int depth = 0;
        for (at++; at < s->body_end && (depth > 0 || f->code[at] != ','); at++) {
            char c = f->code[at];
            depth += (c == '<') - (c == '>');
            if (!isspace((unsigned char)c) && n + 1 < NAME) m->type[n++] = c;
        }
        at = skip_space(f, at < s->body_end ? at + 1 : at);
    }
    if (s->n_members == 0) fail(f->path, s->line, "struct %s is empty", s->name);
}

/* "PagedKv" -> "paged_kv" */
static void snake(const char *name, char text[NAME]) {
    size_t n = 0;
    for (size_t i = 0; name[i] && n + 2 < NAME; i++) {
        if (isupper((unsigned char)name[i]) && i > 0 && !isupper((unsigned char)name[i - 1]))
            text[n++] = '_';
        text[n++] = (char)tolower((unsigned char)name[i]);
    }
    text[n] = 0;
}

/* The struct a type names: the file's own first, else one of lib/. */
static structure *find_struct(const char *name, int file) {
    structure *found = NULL;
    for (int i = 0; i < n_structs; i++) {
        if (strcmp(structs[i].name, name) != 0) continue;
        if (structs[i].file == file) return &structs[i];
        if (strncmp(files[structs[i].file].name, "lib/", 4) == 0 && !found) found = &structs[i];
    }
    return found;
}

typedef struct type_info {
    const char *c_type;
    unsigned size, align, count; /* count: C array length, 0 = no array */
    structure *nested;
    unsigned n_array; /* outer array length, 0 = none */
} type_info;

static void lay_out(structure *s);

static type_info type_of(const structure *s, const member *m, const char *type) {
    static const struct {
        const char *wgsl, *short_form, *c;
    } scalars[] = {{"u32", "u", "uint32_t"}, {"i32", "i", "int32_t"}, {"f32", "f", "float"}};
    const char *path = files[s->file].path;
    type_info t = {0};
    for (int i = 0; i < 3; i++) {
        if (strcmp(type, scalars[i].wgsl) == 0) return (type_info){scalars[i].c, 4, 4, 0, NULL, 0};
        for (unsigned n = 2; n <= 4; n++) {
            char long_name[32], short_name[16];
            snprintf(long_name, sizeof long_name, "vec%u<%s>", n, scalars[i].wgsl);
            snprintf(short_name, sizeof short_name, "vec%u%s", n, scalars[i].short_form);
            if (strcmp(type, long_name) != 0 && strcmp(type, short_name) != 0) continue;
            return (type_info){scalars[i].c, 4 * n, n == 2 ? 8 : 16, n, NULL, 0};
        }
    }
    if (strncmp(type, "array<", 6) == 0) {
        char inner[NAME];
        const char *comma = strrchr(type, ',');
        char *end = NULL;
        unsigned long n = comma ? strtoul(comma + 1, &end, 10) : 0;
        if (!comma || n == 0 || (end[0] == 'u' ? end[1] : end[0]) != '>')
            fail(path, m->line, "%s needs a number as its length", type);
        snprintf(inner, sizeof inner, "%.*s", (int)(comma - type - 6), type + 6);
        t = type_of(s, m, inner);
        if (t.n_array) fail(path, m->line, "an array of arrays is not supported");
        t.n_array = (unsigned)n;
        if (t.size % 16 != 0 || t.align > 16)
            fail(path, m->line, "elements of %s are no multiple of 16 bytes, as a uniform needs",
                 type);
        t.size *= t.n_array;
        t.align = 16;
        return t;
    }
    t.nested = find_struct(type, s->file);
    if (!t.nested)
        fail(path, m->line, "member %s has type %s, which wgslgen does not know", m->name, type);
    lay_out(t.nested);
    t.size = t.nested->size;
    t.align = t.nested->align;
    t.c_type = t.nested->c_name;
    return t;
}

/* To the next multiple of `to`, a power of two. */
static unsigned round_up(unsigned x, unsigned to) { return (x + to - 1) & ~(to - 1); }

/* Computes size and alignment (WGSL specification, 14.4.4 and 14.4.5), and prints the C struct. */
static void lay_out(structure *s) {
    const source *f = &files[s->file];
    if (s->is_laid_out) return;
    if (s->is_busy) fail(f->path, s->line, "struct %s contains itself", s->name);
    s->is_busy = true;
    parse_members(s);
    char name[NAME];
    snake(s->name, name);
    bool is_params = strcmp(s->name, "Params") == 0, is_lib = strncmp(f->name, "lib/", 4) == 0;
    if (is_params) snprintf(s->c_name, sizeof s->c_name, "params_%s", f->stem);
    else if (is_lib) snprintf(s->c_name, sizeof s->c_name, "wgsl_%s", name);
    else snprintf(s->c_name, sizeof s->c_name, "wgsl_%s_%s", f->stem, name);

    type_info types[MAX_MEMBERS] = {0};
    unsigned offsets[MAX_MEMBERS] = {0}, at = 0, align = 4;
    for (int i = 0; i < s->n_members; i++) { /* first: nested structs print themselves here */
        types[i] = type_of(s, &s->members[i], s->members[i].type);
    }
    fprintf(out, "/* %s:%d struct %s */\ntypedef struct %s {\n", f->name, s->line, s->name,
            s->c_name);
    int n_pads = 0;
    for (int i = 0; i < s->n_members; i++) {
        const member *m = &s->members[i];
        const type_info *t = &types[i];
        offsets[i] = round_up(at, t->align);
        bool was_struct = i > 0 && types[i - 1].nested;
        if (t->nested && offsets[i] % 16 != 0)
            fail(f->path, m->line,
                 "struct member %s is at byte %u: a uniform needs a multiple of 16", m->name,
                 offsets[i]);
        if (was_struct && offsets[i] < round_up(at, 16))
            fail(f->path, m->line,
                 "member %s follows a struct too closely: a uniform needs 16-byte steps", m->name);
        if (offsets[i] > at)
            fprintf(out, "    uint32_t pad_%d_[%u];\n", n_pads++, (offsets[i] - at) / 4);
        fprintf(out, "    %s %s", t->c_type, m->name);
        if (t->n_array) fprintf(out, "[%u]", t->n_array);
        if (t->count) fprintf(out, "[%u]", t->count);
        fprintf(out, ";\n");
        at = offsets[i] + t->size;
        if (t->align > align) align = t->align;
    }
    s->size = round_up(at, align);
    s->align = align;
    if (s->size > at) fprintf(out, "    uint32_t pad_%d_[%u];\n", n_pads, (s->size - at) / 4);
    fprintf(out, "} %s;\n", s->c_name);
    for (int i = 0; i < s->n_members; i++) {
        fprintf(out, "_Static_assert(offsetof(%s, %s) == %u, \"%s.%s\");\n", s->c_name,
                s->members[i].name, offsets[i], s->name, s->members[i].name);
    }
    fprintf(out, "_Static_assert(sizeof(%s) == %u, \"%s\");\n\n", s->c_name, s->size, s->name);
    s->is_laid_out = true;
}

static FILE *create(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) fail(path, 1, "cannot be written");
    return f;
}

/* The files of format/, so that a new one is known by being there. */
static void write_formats(void) {
    fputs("#define SHADER_FORMATS", out);
    const char *comma = " ";
    for (int i = 0; i < n_files; i++) {
        if (strncmp(files[i].name, "format/", 7) != 0) continue;
        fprintf(out, "%s\"%s\"", comma, files[i].name);
        comma = ", ";
    }
    fputs("\n\n", out);
}

static void write_structs(void) {
    fputs("/* Generated from the shaders by tools/wgslgen.c. */\n#ifndef WEFT_GENERATED_SHADERS_H\n"
          "#define WEFT_GENERATED_SHADERS_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n",
          out);
    for (int i = 0; i < n_structs; i++) {
        if (strcmp(structs[i].name, "Params") != 0) continue;
        for (int j = 0; j < i; j++) {
            if (strcmp(structs[j].name, "Params") == 0 &&
                strcmp(files[structs[j].file].stem, files[structs[i].file].stem) == 0)
                fail(files[structs[i].file].path, structs[i].line,
                     "a second Params for the name %s", files[structs[i].file].stem);
        }
        lay_out(&structs[i]);
    }
    write_formats();
    fputs("#endif\n", out);
}

static void write_data(FILE *data) {
    fputs("/* Generated from the shaders by tools/wgslgen.c: rows {name, text, bytes}. */\n", data);
    for (int i = 0; i < n_files; i++) {
        fprintf(data, "{\"%s\",\n \"", files[i].name);
        for (size_t j = 0; j < files[i].n; j++) {
            unsigned char c = (unsigned char)files[i].text[j];
            if (c == '\n') fputs(j + 1 < files[i].n ? "\\n\"\n \"" : "\\n", data);
            else if (c == '"' || c == '\\') fprintf(data, "\\%c", c);
            else if (c < 32 || c > 126 || c == '?') fprintf(data, "\\%03o", c);
            else fputc(c, data);
        }
        fprintf(data, "\",\n %zu},\n", files[i].n);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fputs("usage: wgslgen OUT_DIR SHADER_ROOT FILE.wgsl...\n", stderr);
        return 2;
    }
    size_t root = strlen(argv[2]);
    for (int i = 3; i < argc; i++) {
        if (n_files == MAX_FILES) fail(argv[i], 1, "more than %d shader files", MAX_FILES);
        source *f = &files[n_files];
        f->path = argv[i];
        bool is_below = strncmp(argv[i], argv[2], root) == 0 && argv[i][root] == '/';
        f->name = is_below ? argv[i] + root + 1 : argv[i];
        const char *slash = strrchr(f->name, '/'), *base = slash ? slash + 1 : f->name;
        snprintf(f->stem, sizeof f->stem, "%.*s", (int)strcspn(base, "."), base);
        read_file(f);
        blank_comments(f);
        find_structs(n_files++);
    }
    out = create(argv[1], "shaders.h");
    write_structs();
    FILE *data = create(argv[1], "shaders_data.h");
    write_data(data);
    if (fclose(out) != 0 || fclose(data) != 0) fail(argv[1], 1, "cannot be written");
    return 0;
}
