/* libFuzzer target: any bytes as a chat template, rendered in the context after a line "====", or,
 * without one, in one that has a bit of everything. It must end, in bounded time and memory, with a
 * text or a message.
 * SPDX-License-Identifier: MIT */
#include "template/template.h"

#include "lib/fuzz.h"

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
    fuzz_input in = fuzz_begin(data, n);
    fuzz_text given = {in.data, in.n}, source = fuzz_cut(&given);
    if (!given.n) given = (fuzz_text){context, sizeof context - 1};
    template_program *program;
    str out = {0};
    fuzz_arm(&in);
    weft_status status = template_parse(source.data, source.n, &program);
    if (fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE)) {
        fuzz_arm(&in);
        status = template_render(program, given.data, given.n, &options, &out);
        fuzz_status(status, fuzz_disarm(&in), FUZZ_FILE | 1U << WEFT_INVALID);
    } else {
        fuzz_require(!program, "a template that failed is there");
    }
    str_free(&out);
    template_free(program);
    fuzz_end(&in);
    return 0;
}
