/* Chat templates: a Jinja engine that prints what Python's jinja2 prints under the settings chat
 * models are published with (immutable sandbox, trim_blocks, lstrip_blocks, loop controls, a
 * `generation` tag, `tojson` without HTML or ASCII escapes, raise_exception, strftime_now). What is
 * supported, what is not: docs/templates.md.
 *
 * Failures: WEFT_FORMAT for a template that is not one (the message names the line),
 * WEFT_INVALID for a template that fails while it runs ("line N: reason"; the text of
 * raise_exception stands there unchanged), WEFT_LIMIT when a limit below is reached,
 * WEFT_UNSUPPORTED for what Jinja has and this engine has not, WEFT_NO_MEMORY.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TEMPLATE_TEMPLATE_H
#define WEFT_TEMPLATE_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/str.h"

/* Immutable once parsed: any number of threads may render the same program. */
typedef struct template_program template_program;

/* All-zero is the default. */
typedef struct template_options {
    const struct tm *
        /* what strftime_now shows (weekday and day of year are computed); NULL: local time */
        clock;
    uint64_t
        /* evaluated nodes, loop rounds and 64-byte pieces of text moved; 0: 20 million */
        max_steps;
    int max_depth;     /* nested calls, loops and values; 0: 1000, at most 2000 */
    size_t max_output; /* bytes of the result; 0: 64 MiB */
    size_t max_memory; /* bytes of all values made while it runs; 0: 512 MiB */
} template_options;

weft_status template_parse(const char *source, size_t n, template_program **out);
void template_free(template_program *program);

/* Appends the rendered text to `out` (only when all went well). `context_json` is a JSON object;
 * key order is kept. `options` may be NULL. */
weft_status template_render(const template_program *program, const char *context_json, size_t n,
                            const template_options *options, str *out);

#endif
