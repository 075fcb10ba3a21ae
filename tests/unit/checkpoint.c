/* Hugging Face folders that are wrong, and what each is refused for; what a good one becomes; no
 * output where converting fails; every allocation failing.
 * SPDX-License-Identifier: MIT */
#include "checkpoint/checkpoint.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "gguf/safetensors.h"
#include "tiny_folder.h"
#include "weft/llm.h"

static char out_folder[64], out_path[96];

static int make_folder(void **state) {
    (void)state;
    snprintf(out_folder, sizeof out_folder, "/tmp/weft_convert_XXXXXX");
    if (!mkdtemp(out_folder)) return -1;
    snprintf(out_path, sizeof out_path, "%s/out.gguf", out_folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(out_path);
    return rmdir(out_folder); /* fails the group if anything else was left */
}

/* ---- refused
 * ---------------------------------------------------------------------------------- */

/* Opens the folder as it is described now; the message has `part`. */
static void fails(const tiny_folder *f, const char *part) {
    char problem[CHECKPOINT_PROBLEM];
    gguf_file *file;
    weft_status status = checkpoint_open_path(tiny_folder_write(f), problem, &file);
    if (status == WEFT_OK || file || !strstr(weft_message(), part))
        fail_msg("%s: expected \"%s\", got %s \"%s\"", f->config, part, weft_status_text(status),
                 weft_message());
    assert_true(status != WEFT_NO_MEMORY);
}

/* The same with a piece of config.json replaced. */
static void refused(const char *model, const char *from, const char *to, const char *part) {
    tiny_folder *f = tiny_folder_read(model);
    tiny_folder_change(f, from, to);
    fails(f, part);
    free(f);
}

/* ... and with a pair added at its end. */
static void refused_with(const char *model, const char *pair, const char *part) {
    tiny_folder *f = tiny_folder_read(model);
    f->config[strlen(f->config) - 1] = 0;
    size_t n = strlen(f->config);
    snprintf(f->config + n, sizeof f->config - n, ", %s}", pair);
    fails(f, part);
    free(f);
}

static void what_is_not_known_is_refused(void **state) {
    (void)state;
    refused("llama", "LlamaForCausalLM", "FalconForCausalLM", "'FalconForCausalLM'");
    refused("llama", "[\"LlamaForCausalLM\"]", "[\"LlamaForCausalLM\", \"B\"]", "names 2 models");
    refused("llama", "[\"LlamaForCausalLM\"]", "[7]", "'architectures' is no array of strings");
    refused("llama", "[\"LlamaForCausalLM\"]", "{}", "'architectures' is no array");
    refused("llama", "\"model_type\": \"llama\"", "\"model_type\": \"olmo\"",
            "'model_type' is 'olmo'");
    refused("llama", "\"silu\"", "\"gelu\"", "'hidden_act' is 'gelu'");
    refused_with("llama", "\"quantization_config\": {\"quant_method\": \"gptq\"}",
                 "'quantization_config'");
    refused_with("llama", "\"mlp_bias\": true", "'mlp_bias'");
    refused_with("llama", "\"partial_rotary_factor\": 0.5", "'partial_rotary_factor'");
    refused_with("llama", "\"num_local_experts\": 8", "'num_local_experts'");
    refused_with("llama", "\"auto_map\": {\"AutoModelForCausalLM\": \"m.M\"}", "'auto_map'");
    refused_with("qwen3", "\"attention_bias\": true", "'attention_bias'");
    refused_with("mistral", "\"layer_types\": [\"full_attention\", \"linear\"]", "'linear'");
    refused("mistral", "\"sliding_window\": null", "\"sliding_window\": 64",
            "'sliding_window' is 64");
    refused("qwen2", "\"use_sliding_window\": false", "\"use_sliding_window\": true",
            "'sliding_window' is 64");
    refused("qwen3_moe", "\"norm_topk_prob\": true", "\"norm_topk_prob\": 1",
            "'norm_topk_prob' is neither");
    refused("qwen3_moe", "\"mlp_only_layers\": []", "\"mlp_only_layers\": [1]",
            "'mlp_only_layers'");
    refused("qwen3_moe", "\"decoder_sparse_step\": 1", "\"decoder_sparse_step\": 2",
            "'decoder_sparse_step'");
    refused("llama_linear", "\"type\": \"linear\"", "\"type\": \"dynamic\"",
            "'rope_type' is 'dynamic'");
    refused("llama_linear", "\"type\": \"linear\", ", "", "'rope_type' is missing");
    refused("llama_linear", "\"factor\": 2.5", "\"factor\": 0.5", "'factor' is 0.5");
    refused("llama_yarn", "\"factor\": 8.0", "\"truncate\": false, \"factor\": 8.0", "'truncate'");
    refused("llama3", "\"high_freq_factor\": 4.0", "\"high_freq_factor\": 1.0",
            "'high_freq_factor'");
    refused("llama3", ", \"original_max_position_embeddings\": 32", "",
            "'original_max_position_embeddings' is missing");
}

static void wrong_sizes_are_refused(void **state) {
    (void)state;
    static const char *const keys[] = {"vocab_size",          "hidden_size",
                                       "intermediate_size",   "num_hidden_layers",
                                       "num_attention_heads", "max_position_embeddings",
                                       "num_key_value_heads"};
    static const char *const bad[] = {"0",      "-1",         "1.5",
                                      "\"32\"", "null",       "true",
                                      "[1]",    "{}",         "9223372036854775807",
                                      "1e300",  "4294967297", "-9223372036854775808"};
    tiny_folder *f = tiny_folder_read("qwen2");
    char good[sizeof f->config], from[64], to[96], part[64];
    memcpy(good, f->config, sizeof good);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            memcpy(f->config, good, sizeof good);
            snprintf(from, sizeof from, "\"%s\": ", keys[i]);
            snprintf(to, sizeof to, "\"%s\": %s, \"was\": ", keys[i], bad[k]);
            snprintf(part, sizeof part, "'%s'", keys[i]);
            tiny_folder_change(f, from, to);
            fails(f, part);
        }
    free(f);
    refused("llama", "\"vocab_size\": 272", "\"vocab_size\": 99999999999999999999",
            "key 'vocab_size' is no whole number");
    refused("llama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3",
            "cannot share 3 evenly");
    refused("llama", "\"hidden_size\": 32", "\"hidden_size\": 30", "'hidden_size': 30");
    refused_with("llama", "\"head_dim\": 7", "heads of 7 cannot be rotated");
    refused_with("llama", "\"head_dim\": 16777216", "more than a model can have");
    refused("qwen3", "\"head_dim\": 16, ", "", "'head_dim' is missing");
    refused("llama", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": -1", "'rms_norm_eps' is -1");
    refused("llama", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": \"x\"", "'rms_norm_eps' is no");
    refused("llama", "\"rope_theta\": 10000.0", "\"rope_theta\": 1", "'rope_theta' is 1");
    refused("llama", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": 1",
            "'tie_word_embeddings' is neither");
    refused("qwen3_moe", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 7",
            "'num_experts_per_tok' is 7");
    refused("qwen3_moe", "\"num_experts\": 6", "\"num_experts\": 0", "'num_experts' is 0");
    refused("llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
            "'model.layers.2.input_layernorm.weight' is missing");
    refused("llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
            "'model.layers.1.input_layernorm.weight' is no part");
    refused("llama", "\"vocab_size\": 272", "\"vocab_size\": 250",
            "'model.embed_tokens.weight' has shape (272, 32), config.json makes it (250, 32)");
    refused("llama", "\"eos_token_id\": 257", "\"eos_token_id\": 4294967553",
            "key 'eos_token_id' is no token");
    refused("llama", "\"vocab_size\": 272", "\"vocab_size\": 280",
            "'model.embed_tokens.weight' has shape (272, 32), config.json makes it (280, 32)");
}

static void wrong_tensors_are_refused(void **state) {
    (void)state;
    tiny_folder *f = tiny_folder_read("llama3");
    f->skip = "model.layers.1.mlp.up_proj.weight";
    fails(f, "'model.layers.1.mlp.up_proj.weight' is missing");
    f->skip = "lm_head.weight";
    fails(f, "'lm_head.weight' is missing");
    f->skip = NULL;
    f->extra = "model.layers.0.mlp.up_proj.lora_A";
    fails(f, "'model.layers.0.mlp.up_proj.lora_A' is no part of a LlamaForCausalLM");
    f->extra = NULL;
    f->widen = "model.norm.weight";
    fails(f, "'model.norm.weight' has shape (33), config.json makes it (32)");
    f->widen = "model.layers.1.self_attn.k_proj.weight";
    fails(f, "has shape (33, 32), config.json makes it (32, 32)");
    f->widen = NULL;
    f->type = "I16";
    fails(f, "is stored as I16");
    free(f);
    f = tiny_folder_read("qwen2");
    f->has_other_output = true;
    fails(f, "'lm_head.weight' differs from the embedding");
    free(f);
    f = tiny_folder_read("llama");
    f->has_other_output = true;
    tiny_folder_change(f, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
    char problem[CHECKPOINT_PROBLEM];
    gguf_file *file;
    assert_ok(checkpoint_open_path(tiny_folder_write(f), problem, &file));
    gguf_close(file);
    free(f);
}

static void wrong_files_are_refused(void **state) {
    (void)state;
    tiny_folder *f = tiny_folder_read("llama3");
    f->skip = "config.json";
    fails(f, "has no config.json");
    f->skip = "model-00002-of-00003.safetensors";
    fails(f, "model-00002-of-00003.safetensors: No such file");
    f->skip = "model.safetensors.index.json";
    fails(f, "has neither model.safetensors nor model.safetensors.index.json");
    f->skip = NULL;
    f->index = "{\"weight_map\": {\"a\": \"../model-00001-of-00003.safetensors\"}}";
    fails(f, "'../model-00001-of-00003.safetensors' is no plain file name");
    f->index = "{\"weight_map\": {\"a\": \"/etc/passwd\"}}";
    fails(f, "'/etc/passwd' is no plain file name");
    f->index = "{\"weight_map\": {\"a\": \"..\"}}";
    fails(f, "'..' is no plain");
    f->index = "{\"weight_map\": {\"a\": \"\"}}";
    fails(f, "'' is no plain");
    f->index = "{\"weight_map\": {\"a\": \"config.json\"}}";
    fails(f, "config.json: the header's length");
    f->index = "{\"weight_map\": {\"a\": 3}}";
    fails(f, "the file of 'a' is no string");
    f->index = "{\"weight_map\": {}}";
    fails(f, "'weight_map' is empty");
    f->index = "{\"weight_map\": [1]}";
    fails(f, "'weight_map' is no object");
    f->index = "{}";
    fails(f, "'weight_map' is missing");
    f->index = "{\"weight_map\": ";
    fails(f, "no JSON: line 1");
    f->index = "[]";
    fails(f, "no JSON object");
    f->index = "{\"weight_map\": {\"a\": \"model-00001-of-00003.safetensors\"}}";
    fails(f, "tensor 'a' is not in model-00001-of-00003.safetensors");
    f->index = "{\"weight_map\": {\"lm_head.weight\": \"model-00001-of-00003.safetensors\"}}";
    fails(f, "tensor 'lm_head.weight' is not in model-00001-of-00003.safetensors, where");
    f->index = "{\"weight_map\": {\"lm_head.weight\": \"model-00003-of-00003.safetensors\"}}";
    fails(f, "of model-00003-of-00003.safetensors is not in the index");
    free(f);
    gguf_file *file;
    char problem[CHECKPOINT_PROBLEM];
    assert_fails(checkpoint_open_path("/x/model.safetensors", problem, &file), WEFT_UNSUPPORTED,
                 "name the folder");
}

/* A pipe would be waited for without end; a link that leads nowhere is no file to do without. */
static void pipes_and_broken_links_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "config.json",           "model.safetensors",     "model.safetensors.index.json",
        "tokenizer.json",        "tokenizer_config.json", "chat_template.jinja",
        "generation_config.json"};
    tiny_folder *f = tiny_folder_read("llama3");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[192], problem[CHECKPOINT_PROBLEM];
        gguf_file *file;
        const char *folder = tiny_folder_write(f);
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        unlink(name);
        assert_int_equal(mkfifo(name, 0600), 0);
        assert_fails(checkpoint_open_path(folder, problem, &file), WEFT_IO,
                     "is not a regular file");
        unlink(name);
        assert_int_equal(symlink("nowhere", name), 0);
        assert_fails(checkpoint_open_path(folder, problem, &file), WEFT_IO, "No such file");
        unlink(name);
    }
    free(f);
}

/* Random changes of a byte or three: whatever is opened is closed again, and nothing else happens.
 * WEFT_TEST_CHANGES says how many, for a long run under sanitizers. */
static void change(rng *r, char *text, size_t n) {
    static const char bytes[] = "{}[],:\"0123456789-.eE\\/ntfu";
    for (int64_t k = rng_below(r, 3); k >= 0; k--)
        text[rng_below(r, (int64_t)n)] = bytes[rng_below(r, sizeof bytes - 1)];
}

static void any_change_is_survived(void **state) {
    (void)state;
    const char *asked = getenv("WEFT_TEST_CHANGES");
    int n_opened = 0, n = asked ? atoi(asked) : 400;
    rng r = {7};
    static const char tokenizer_config[] =
        "{\"bos_token\": \"<s>\", \"chat_template\": [{\"name\": \"default\", "
        "\"template\": \"x\"}], \"eos_token\": {\"content\": \"</s>\"}}";
    static const char generation[] =
        "{\"eos_token_id\": [257, 256, 4], \"top_k\": 20, \"top_p\": 0.5, \"do_sample\": true}";
    for (int i = 0; i < n; i++) {
        tiny_folder *f = tiny_folder_read(tiny_folder_name((int)rng_below(&r, 12)));
        char config_text[sizeof tokenizer_config], generation_text[sizeof generation];
        memcpy(config_text, tokenizer_config, sizeof config_text);
        memcpy(generation_text, generation, sizeof generation_text);
        f->tokenizer_config = config_text;
        f->generation = generation_text;
        if (i % 4 == 0) change(&r, config_text, sizeof config_text - 1);
        else if (i % 4 == 1) change(&r, generation_text, sizeof generation_text - 1);
        else change(&r, f->config, strlen(f->config));
        char problem[CHECKPOINT_PROBLEM];
        gguf_file *file;
        weft_status status = checkpoint_open_path(tiny_folder_write(f), problem, &file);
        assert_true((status == WEFT_OK) == (file != NULL));
        assert_true(status == WEFT_OK || strlen(weft_message()) > 0);
        n_opened += status == WEFT_OK;
        gguf_close(file);
        free(f);
    }
    assert_true(n_opened > 0 && n_opened < n);
}

/* ---- what a folder becomes
 * -------------------------------------------------------------------- */

static gguf_file *open_model(const tiny_folder *f) {
    gguf_file *file;
    char problem[CHECKPOINT_PROBLEM];
    assert_ok(checkpoint_open_path(tiny_folder_write(f), problem, &file));
    assert_string_equal(problem, "");
    return file;
}

static void keys_are_those_of_gguf(void **state) {
    (void)state;
    tiny_folder *f = tiny_folder_read("qwen3_moe");
    gguf_file *file = open_model(f);
    static const struct {
        const char *key;
        double value;
    } expected[] = {{"vocab_size", 272},
                    {"context_length", 512},
                    {"embedding_length", 32},
                    {"block_count", 2},
                    {"feed_forward_length", 48},
                    {"attention.head_count", 4},
                    {"attention.head_count_kv", 2},
                    {"attention.key_length", 16},
                    {"attention.value_length", 16},
                    {"rope.dimension_count", 16},
                    {"rope.freq_base", 10000},
                    {"expert_count", 6},
                    {"expert_used_count", 2},
                    {"expert_feed_forward_length", 24}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char key[80];
        double value = 0;
        weft_status status = WEFT_OK;
        snprintf(key, sizeof key, "qwen3moe.%s", expected[i].key);
        if (!gguf_get_f64(file, key, &value, &status) || value != expected[i].value)
            fail_msg("%s is %g", key, value);
    }
    gguf_close(file);
    free(f);
}

/* The value of a string key, "" where it is absent. */
static const char *text_of(const gguf_file *file, const char *key) {
    static char text[200];
    gguf_string s = {"", 0};
    weft_status status = WEFT_OK;
    gguf_get_string(file, key, &s, &status);
    assert_true(s.n < sizeof text);
    memcpy(text, s.data, s.n);
    text[s.n] = 0;
    return text;
}

static double number_of(const gguf_file *file, const char *key) {
    double value = -1;
    weft_status status = WEFT_OK;
    gguf_get_f64(file, key, &value, &status);
    return value;
}

static void chat_templates_are_kept(void **state) {
    (void)state;
    const char *key = "tokenizer.chat_template", *tools = "tokenizer.chat_template.tool_use";
    tiny_folder *f = tiny_folder_read("llama");
    f->tokenizer_config = "{\"chat_template\": [{\"name\": \"default\", \"template\": \"A\"}, "
                          "{\"name\": \"tool_use\", \"template\": \"B\"}]}";
    gguf_file *file = open_model(f);
    assert_string_equal(text_of(file, key), "A");
    assert_string_equal(text_of(file, tools), "B");
    gguf_close(file);
    f->template = "C\n";
    file = open_model(f);
    assert_string_equal(text_of(file, key), "C\n");
    assert_string_equal(text_of(file, tools), "B");
    gguf_close(file);
    f->template = NULL;
    f->tokenizer_config = "{\"chat_template\": [{\"name\": \"default\"}]}";
    fails(f, "element 0 has no name and template");
    f->tokenizer_config = "{\"chat_template\": 3}";
    fails(f, "key 'chat_template' is neither a text nor a list");
    f->tokenizer_config = "{\"chat_template\": ";
    fails(f, "tokenizer_config.json");
    f->tokenizer_config = /* what transformers writes for "no limit" is no 64-bit number */
        "{\"chat_template\": \"D\", \"model_max_length\": 1000000000000000019884624838656}";
    file = open_model(f);
    assert_string_equal(text_of(file, key), "D");
    gguf_close(file);
    f->tokenizer_config = NULL;
    file = open_model(f);
    assert_true(strlen(text_of(file, key)) > 10);
    gguf_close(file);
    free(f);
}

static void ends_and_sampling_are_kept(void **state) {
    (void)state;
    const char *eos = "tokenizer.ggml.eos_token_id", *eot = "tokenizer.ggml.eot_token_id";
    tiny_folder *f = tiny_folder_read("llama");
    f->generation = "{\"eos_token_id\": [257, 256], \"temperature\": 0.5, \"top_k\": 20, "
                    "\"top_p\": 1, \"do_sample\": true}";
    gguf_file *file = open_model(f);
    assert_true(number_of(file, eos) == 257);
    assert_true(number_of(file, eot) == 256);
    assert_true(number_of(file, "general.sampling.temp") == 0.5);
    assert_true(number_of(file, "general.sampling.top_k") == 20);
    assert_true(number_of(file, "general.sampling.top_p") == 1);
    assert_true(number_of(file, "general.sampling.min_p") == -1);
    gguf_close(file);
    f->generation = "{\"temperature\": 0.5, \"do_sample\": false}";
    file = open_model(f);
    assert_true(number_of(file, eos) == 257);
    assert_true(number_of(file, eot) == -1);
    assert_true(number_of(file, "general.sampling.temp") == -1);
    gguf_close(file);
    static const struct {
        const char *text, *part;
    } bad[] = {{"{\"eos_token_id\": \"x\"}", "'eos_token_id' is no array"},
               {"{\"eos_token_id\": -1}", "'eos_token_id' is no token"},
               {"{\"eos_token_id\": 272}", "'eos_token_id' is no token"},
               {"{\"eos_token_id\": 4294967553}", "'eos_token_id' is no token"},
               {"{\"eos_token_id\": [1, 272]}", "'eos_token_id' has an element"},
               {"{\"eos_token_id\": [[1]]}", "'eos_token_id' has an element"},
               {"{\"temperature\": \"hot\"}", "'temperature' is no number"},
               {"{\"top_k\": -2}", "'top_k' is -2"},
               {"{\"do_sample\": 1}", "'do_sample' is neither"},
               {"[]", "generation_config.json"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        f->generation = bad[i].text;
        fails(f, bad[i].part);
    }
    free(f);
}

/* The vocabulary alone needs no architecture that is known, and no weights. */
static void a_vocabulary_needs_little(void **state) {
    (void)state;
    static const struct {
        const char *config;
        int n_tokens;
    } cases[] = {{"{\"model_type\": \"unheard_of\", \"vocab_size\": 272}", 272},
                 {"{\"vocab_size\": -4}", 262},
                 {"{}", 262}};
    for (size_t i = 0; i < 3; i++) {
        tiny_folder *f = tiny_folder_read("llama");
        f->skip = "model.safetensors";
        snprintf(f->config, sizeof f->config, "%s", cases[i].config);
        weft_model *m =
            weft_model_load(NULL, tiny_folder_write(f), (weft_model_desc){.vocabulary_only = true});
        if (!m) fail_msg("%s", weft_message());
        int32_t ids[8];
        assert_int_equal(weft_encode(m, "hell", 4, 0, ids, 8), 1);
        char text[16];
        const int32_t last = cases[i].n_tokens - 1, past = cases[i].n_tokens;
        assert_true(weft_decode(m, &last, 1, 0, text, sizeof text) >= 0);
        assert_true(weft_decode(m, &past, 1, 0, text, sizeof text) < 0);
        weft_model_free(m);
        free(f);
    }
}

/* The experts' matrices one below the other, each row as it is in the folder. */
static void experts_are_stacked(void **state) {
    (void)state;
    tiny_folder *f = tiny_folder_read("qwen3_moe");
    gguf_file *file = open_model(f);
    const gguf_tensor *t = gguf_find_tensor(file, "blk.1.ffn_down_exps.weight");
    assert_non_null(t);
    assert_int_equal(t->rank, 3);
    assert_int_equal(t->dim[0], 6);
    assert_int_equal(t->dim[1], 32);
    assert_int_equal(t->dim[2], 24);
    static uint16_t all[6 * 32 * 24];
    gguf_copy_rows(t, 0, 6 * 32, all);
    char paths[2][160];
    const char *list[2] = {paths[0], paths[1]};
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/model-%05d-of-00002.safetensors",
                 tiny_folder_write(f), i + 1);
    safetensors *s;
    assert_ok(safetensors_open_files(list, 2, &s));
    for (int e = 0; e < 6; e++) {
        char name[80];
        snprintf(name, sizeof name, "model.layers.1.mlp.experts.%d.down_proj.weight", e);
        const safetensors_tensor *one = safetensors_find(s, name);
        assert_memory_equal(all + e * 32 * 24, one->data, one->bytes);
    }
    safetensors_close(s);
    gguf_close(file);
    free(f);
}

static void vectors_are_f32_in_the_file(void **state) {
    (void)state;
    static const struct {
        const char *type;
        weft_dtype matrices;
        unsigned file_type;
    } cases[] = {{NULL, WEFT_BF16, 32},
                 {"f32", WEFT_F32, 0},
                 {"F16", WEFT_F16, 1},
                 {"bf16", WEFT_BF16, 32},
                 {"q8_0", WEFT_Q8_0, 7}};
    tiny_folder *f = tiny_folder_read("qwen3_moe");
    const char *path = tiny_folder_write(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(weft_convert(path, out_path, (weft_convert_desc){.type = cases[i].type}));
        gguf_file *file;
        assert_ok(gguf_open(out_path, &file));
        for (size_t k = 0; k < gguf_n_tensors(file); k++) {
            const gguf_tensor *t = gguf_tensor_at(file, k);
            bool is_kept = t->rank == 1 || strstr(gguf_show(t->name).text, "ffn_gate_inp");
            bool is_odd = t->dim[t->rank - 1] % 32 != 0; /* q8_0 has no block for it */
            weft_dtype matrices =
                cases[i].matrices == WEFT_Q8_0 && is_odd ? WEFT_F16 : cases[i].matrices;
            assert_int_equal(t->dtype, is_kept ? WEFT_F32 : matrices);
        }
        uint64_t file_type = 99;
        weft_status status = WEFT_OK;
        assert_true(gguf_get_u64(file, "general.file_type", &file_type, &status));
        assert_int_equal(file_type, cases[i].file_type);
        gguf_close(file);
    }
    free(f);
}

/* ---- converting that fails
 * -------------------------------------------------------------------- */

static int count_files(void) {
    DIR *d = opendir(out_folder);
    int n = -2;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static bool cancel(void *user, uint64_t done, uint64_t total) {
    assert_true(done <= total);
    return ++*(int *)user < 5;
}

static void nothing_half_written_is_left(void **state) {
    (void)state;
    unlink(out_path);
    tiny_folder *f = tiny_folder_read("llama3");
    const char *path = tiny_folder_write(f);
    int n = 0;
    assert_fails(
        weft_convert(path, out_path, (weft_convert_desc){.on_progress = cancel, .user = &n}),
        WEFT_CANCELLED, "cancelled");
    assert_int_equal(count_files(), 0);
    assert_fails(weft_convert(path, out_path, (weft_convert_desc){.type = "q4_k"}), WEFT_INVALID,
                 "'q4_k' is no type");
    assert_fails(weft_convert(out_path, out_path, (weft_convert_desc){0}), WEFT_INVALID,
                 "is no folder");
    assert_fails(weft_convert(NULL, out_path, (weft_convert_desc){0}), WEFT_INVALID, "folder");
    f->skip = "tokenizer.json";
    assert_fails(weft_convert(tiny_folder_write(f), out_path, (weft_convert_desc){0}),
                 WEFT_UNSUPPORTED, "there is no tokenizer.json");
    f->skip = NULL;
    tiny_folder_write(f);
    assert_fails(weft_convert(path, "/tmp/no/such/folder/x.gguf", (weft_convert_desc){0}), WEFT_IO,
                 "/tmp/no/such/folder");
    assert_int_equal(count_files(), 0);
    free(f);
}

/* A value that f16 cannot hold, and one that is none. */
static void values_that_do_not_fit_are_refused(void **state) {
    (void)state;
    tiny_folder *f = tiny_folder_read("mistral");
    const char *folder = tiny_folder_write(f);
    char path[160];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    const uint16_t bad[] = {0x4780, 0x7FC0}; /* bf16: 65536, NaN */
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, -2, SEEK_END), 0); /* of the last down projection */
        assert_int_equal(fwrite(&bad[i], 2, 1, file), 1);
        assert_int_equal(fclose(file), 0);
        assert_fails(weft_convert(folder, out_path, (weft_convert_desc){.type = "f16"}),
                     WEFT_FORMAT, i ? "not finite" : "beyond f16's largest");
    }
    assert_int_equal(count_files(), 0);
    free(f);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const models[] = {"llama3", "qwen3_moe"};
    for (int i = 0; i < 2; i++) {
        tiny_folder *f = tiny_folder_read(models[i]);
        const char *path = tiny_folder_write(f);
        weft_convert_desc desc = {.type = "f16", .n_threads = 1};
        mem_fail_at(0);
        assert_ok(weft_convert(path, out_path, desc));
        uint64_t n = mem_fail_at(0), n_failed = 0;
        for (uint64_t k = 1; k <= n; k += k < 400 ? 1 : 7) {
            unlink(out_path);
            mem_fail_at(k);
            weft_status status = weft_convert(path, out_path, desc);
            mem_fail_at(0);
            if (status != WEFT_NO_MEMORY)
                fail_msg("allocation %llu: %s, %s", (unsigned long long)k, weft_status_text(status),
                         weft_message());
            n_failed++;
            assert_int_equal(count_files(), 0);
        }
        assert_true(n_failed > 100);
        free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(pipes_and_broken_links_are_refused),
        cmocka_unit_test(any_change_is_survived),
        cmocka_unit_test(keys_are_those_of_gguf),
        cmocka_unit_test(chat_templates_are_kept),
        cmocka_unit_test(ends_and_sampling_are_kept),
        cmocka_unit_test(a_vocabulary_needs_little),
        cmocka_unit_test(experts_are_stacked),
        cmocka_unit_test(vectors_are_f32_in_the_file),
        cmocka_unit_test(nothing_half_written_is_left),
        cmocka_unit_test(values_that_do_not_fit_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
