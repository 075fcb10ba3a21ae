/* Writes a tiny model for tests of the program: tiny FILE KIND, or the Hugging Face folder of a
 * golden model: tiny FOLDER hf NAME. `chat` answers "Hi" after a newline, `endless` says x for
 * ever, `longrope` is one that cannot run, `escape` says what a terminal would obey, `hinted` is
 * endless and recommends a sampling, `badly` one that makes no sense.
 * SPDX-License-Identifier: MIT */
#include "tiny_folder.h"
#include "tiny_model.h"

static int write_folder(const char *path, const char *name) {
    tiny_folder *f = tiny_folder_read(name);
    tiny_folder_write_into(f, path);
    free(f);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[2], "hf")) return write_folder(argv[1], argv[3]);
    if (argc != 3) return 2;
    static const char *const controls[] = {"<|im_start|>", "<|im_end|>", NULL};
    tiny_model m = {.controls = controls, .eos = 1 + 1, .n_ctx = 4096};
    int32_t chat[] = {tiny_model_byte(&m, '\n'), tiny_model_byte(&m, 'H'), tiny_model_byte(&m, 'i'),
                      1};
    int32_t endless[] = {tiny_model_byte(&m, 'x')};
    bool is_chat = !strcmp(argv[2], "chat");
    m.chain = is_chat ? chat : endless;
    m.n_chain = is_chat ? 4 : 1;
    int32_t escape[] = {tiny_model_byte(&m, '\n'), tiny_model_byte(&m, 27),
                        tiny_model_byte(&m, '['),  tiny_model_byte(&m, '2'),
                        tiny_model_byte(&m, 'J'),  1};
    if (!strcmp(argv[2], "escape")) {
        m.chain = escape;
        m.n_chain = 6;
    }
    if (is_chat)
        m.chat_template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
                          "<|im_end|>\n{% endfor %}<|im_start|>assistant{{ '\n' }}";
    if (!strcmp(argv[2], "longrope")) m.scaling = "longrope";
    if (!strcmp(argv[2], "hinted")) m.sampling = "temp=90.0 top_k=1";
    if (!strcmp(argv[2], "badly")) m.sampling = "temp=warm top_k=1";
    str bytes = {0};
    tiny_model_bytes(&m, &bytes);
    FILE *f = fopen(argv[1], "wb");
    bool is_written = f && fwrite(bytes.data, 1, bytes.n, f) == bytes.n;
    is_written = f && fclose(f) == 0 && is_written;
    str_free(&bytes);
    return is_written ? 0 : 1;
}
