/* The public faces of base/: version, message, status texts. SPDX-License-Identifier: MIT */
#include "base/error.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *weft_version(void) {
    return TEXT(WEFT_VERSION_MAJOR) "." TEXT(WEFT_VERSION_MINOR) "." TEXT(WEFT_VERSION_PATCH);
}

const char *weft_message(void) { return error_message(); }

const char *weft_status_text(weft_status status) { return error_text(status); }
