/* Makes a tokenizer of a tokenizer.json. See tokenizer_json.h.
 * SPDX-License-Identifier: MIT */
#include "tokenizer/hub.h"

weft_status tokenizer_open_json(const tokenizer_json_text *text, tokenizer **out) {
    *out = NULL;
    tokenizer_description d;
    weft_status status = tokenizer_describe_json(text, &d);
    if (status == WEFT_OK) status = tokenizer_open(&d.desc, out);
    tokenizer_description_free(&d);
    return status;
}
