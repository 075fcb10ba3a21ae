/* weft template: the prompt that a chat template makes of a conversation, byte for byte, nothing
 * added. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef WEFT_HAVE_JANSSON
#include <jansson.h>
#endif

#include "cli.h"

#ifdef WEFT_HAVE_JANSSON

/* NULL after a message. */
static json_t *load(const char *path) {
    size_t n = 0;
    char *text = cli_read_file(path, &n);
    if (!text) return NULL;
    json_error_t why;
    json_t *json = json_loadb(text, n, JSON_ALLOW_NUL, &why);
    if (!json) cli_fail(EXIT_FAILED, "%s, line %d: %s", path, why.line, why.text);
    free(text);
    return json;
}

/* NAME=VALUE; a value that is no JSON is a text. */
static int set(json_t *context, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return cli_fail(EXIT_USAGE, "--set takes NAME=VALUE, not \"%s\"", text);
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    if (!value) value = json_string(equals + 1);
    char *name = strndup(text, (size_t)(equals - text));
    int failed = !name || !value || json_object_set_new(context, name, value);
    free(name);
    return failed ? cli_fail(EXIT_FAILED, "--set %s: this is no UTF-8", text) : 0;
}

/* Everything the template sees; 0, or the exit code after a message. */
static int fill_context(const cli_args *args, json_t *context) {
    const cli_option *tools = &args->opt[OPT_tools], *sets = &args->opt[OPT_set];
    json_object_set_new(context, "add_generation_prompt", json_true());
    json_t *messages = load(args->positional[1]);
    if (!messages) return EXIT_FAILED;
    if (json_is_object(messages)) {
        json_object_update(context, messages);
        json_decref(messages);
    } else if (json_is_array(messages)) {
        json_object_set_new(context, "messages", messages);
    } else {
        json_decref(messages);
        return cli_fail(EXIT_FAILED, "%s: neither a list of messages nor an object",
                        args->positional[1]);
    }
    if (tools->is_set) {
        json_t *list = load(tools->text);
        if (!list) return EXIT_FAILED;
        json_object_set_new(context, "tools", list);
    }
    int code = 0;
    for (int i = 0; i < sets->n_list && !code; i++) code = set(context, sets->list[i]);
    return code;
}

static int64_t render(weft_model *model, const char *source, size_t n, const char *context,
                      char *text, size_t cap) {
    size_t length = strlen(context);
    return model ? weft_render_chat(model, context, length, text, cap)
                 : weft_render(source, n, context, length, text, cap);
}

static int print_prompt(weft_model *model, const char *source, size_t n, const char *context) {
    size_t cap = 1 << 16;
    for (;;) {
        char *text = malloc(cap);
        if (!text) return cli_fail(EXIT_FAILED, "out of memory");
        int64_t length = render(model, source, n, context, text, cap);
        bool fits = length >= 0 && (size_t)length < cap;
        if (fits) cli_answer(text, (size_t)length);
        free(text);
        if (length < 0) return cli_fail_weft();
        if (fits) return EXIT_OK;
        cap = (size_t)length + 4096; /* a template that shows the time may grow in between */
    }
}

/* A folder, or a GGUF file's first bytes. A pipe, whose bytes come but once, is no model. */
static bool is_model(const char *path) {
    char magic[4] = "";
    struct stat st;
    if (stat(path, &st)) return false;
    if (S_ISDIR(st.st_mode)) return true;
    if (!S_ISREG(st.st_mode)) return false;
    FILE *file = fopen(path, "rb");
    bool found = file && fread(magic, 1, 4, file) == 4 && !memcmp(magic, "GGUF", 4);
    if (file) fclose(file);
    return found;
}

static int render_with(const char *path, const char *context) {
    if (is_model(path)) {
        weft_model *model = weft_model_load(NULL, path, (weft_model_desc){.vocabulary_only = true});
        int code = model ? print_prompt(model, NULL, 0, context) : cli_fail_weft();
        weft_model_free(model);
        return code;
    }
    size_t n = 0;
    char *source = cli_read_file(path, &n);
    int code = source ? print_prompt(NULL, source, n, context) : EXIT_FAILED;
    free(source);
    return code;
}

int cli_template(const cli_args *args) {
    json_t *context = json_object();
    if (!context) return cli_fail(EXIT_FAILED, "out of memory");
    int code = fill_context(args, context);
    char *text = code ? NULL : json_dumps(context, JSON_COMPACT);
    json_decref(context);
    if (code) return code;
    if (!text) return cli_fail(EXIT_FAILED, "out of memory");
    code = render_with(args->positional[0], text);
    free(text);
    return code;
}

#else

int cli_template(const cli_args *args) {
    (void)args;
    return cli_fail(EXIT_FAILED, "this build has no JSON library (jansson): no templates");
}

#endif
