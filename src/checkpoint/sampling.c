/* The sampling that generation_config.json recommends, under the keys that converters write (the
 * gguf package's metadata.py has the same four). do_sample false means that none is recommended.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "checkpoint/parts.h"

static weft_status put_real(const conf_value *root, const char *name, const char *key,
                            gguf_writer *w) {
    const conf_value *value = conf_find(root, name);
    double number = 0;
    if (!value) return WEFT_OK;
    REQUIRE(conf_real(value, &number) && fabs(number) < 1e9, WEFT_FORMAT,
            "key '%s' is no number that makes sense", name);
    float real = (float)number;
    return gguf_writer_set(w, key, GGUF_F32, false, &real, 1);
}

static weft_status put_all(const conf_value *root, gguf_writer *w) {
    bool samples;
    int64_t top_k;
    TRY(conf_get_bool(root, "do_sample", true, &samples));
    if (!samples) return WEFT_OK;
    TRY(conf_get_int(root, "top_k", 0, INT32_MAX, -1, &top_k));
    int32_t whole = (int32_t)top_k;
    if (top_k >= 0) TRY(gguf_writer_set(w, "general.sampling.top_k", GGUF_I32, false, &whole, 1));
    TRY(put_real(root, "top_p", "general.sampling.top_p", w));
    TRY(put_real(root, "min_p", "general.sampling.min_p", w));
    return put_real(root, "temperature", "general.sampling.temp", w);
}

weft_status checkpoint_put_sampling(const char *folder, gguf_writer *w) {
    const char *name = "generation_config.json";
    conf_value *root;
    TRY(checkpoint_read_json(folder, name, &root));
    weft_status status = root ? put_all(root, w) : WEFT_OK;
    conf_close(root);
    return status == WEFT_OK ? status : error_prefix(status, "%s", name);
}
