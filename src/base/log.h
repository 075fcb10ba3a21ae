/* Log lines go to a callback (weft_set_log); with none set, WEFT_LOG=error|warn|info|debug|trace in
 * the environment sends them to stderr, and without that variable warnings and errors alone are
 * shown there by the programs, never by the library. SPDX-License-Identifier: MIT */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

#include <stdbool.h>

#include "weft/weft.h"

void log_line(weft_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* True when a line of this level would go anywhere: guards costly preparation. */
bool log_wants(weft_log_level level);

#endif
