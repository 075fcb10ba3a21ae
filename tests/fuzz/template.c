/* libFuzzer target: any bytes as a chat template, rendered in one context that has a bit of
 * everything. It must end, in bounded time and memory, with a text or a message.
 * SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "template/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char context[] = "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", "
                              "\"add_generation_prompt\": true, \"n\": 3, \"f\": -2.5,"
                              " \"e\": \"\", \"s\": \"Gr\\u00fc\\u00dfe, \\ud83d\\uddfc <b>\\n x "
                              "\", \"l\": [3, \"a\", null, true, 1.5, [1, [2]]],"
                              " \"d\": {\"a\": 1, \"b\": {\"c\": [1, 2]}, \"\": null}, \"tools\": "
                              "[{\"name\": \"f\", \"p\": {\"x\": \"int\"}}],"
                              " \"messages\": [{\"role\": \"system\", \"content\": \"Be kind.\"}, "
                              "{\"role\": \"user\", \"content\": \" hi\\n\"},"
                              " {\"role\": \"assistant\", \"content\": null, \"tool_calls\": "
                              "[{\"id\": \"1\", \"function\": {\"name\": \"f\","
                              " \"arguments\": {\"a\": 1}}}]}, {\"role\": \"user\", \"content\": "
                              "[{\"type\": \"text\", \"text\": \"part\"}]}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const struct tm clock = {
        .tm_year = 126, .tm_mon = 11, .tm_mday = 1, .tm_hour = 12, .tm_min = 34, .tm_sec = 56};
    template_options options = {
        .clock = &clock, .max_steps = 200000, .max_output = 1 << 20, .max_memory = 32 << 20};
    template_program *program;
    if (template_parse((const char *)data, n, &program) != WEFT_OK) return 0;
    str out = {0};
    if (template_render(program, context, strlen(context), &options, &out) != WEFT_OK &&
        !error_message()[0])
        abort();
    str_free(&out);
    template_free(program);
    return 0;
}
