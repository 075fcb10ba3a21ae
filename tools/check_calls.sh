#!/usr/bin/env bash
# The library never ends the process and never prints; all its memory comes from base/mem.h. base/log.c alone writes
# to stderr, and only when WEFT_LOG asks for it.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
calls='abort|exit|_exit|_Exit|quick_exit|printf|vprintf|puts|putchar|perror|fprintf|vfprintf|fputs|fputc|putc|err|errx|warn|warnx'
memory='malloc|calloc|realloc|free|strdup|strndup|alloca|posix_memalign|aligned_alloc'
for file in $(files 'src/*.c' 'src/*.h'); do
    forbidden="$calls|$memory"
    case $file in
    src/base/log.c) forbidden=$memory ;;
    src/base/mem.c) forbidden=$calls ;;
    esac
    if found=$(without_comments "$file" | grep -nE "(^|[^a-zA-Z0-9_.>])($forbidden) *\("); then
        while read -r line; do problem "$file calls what it may not: ${line#*:}"; done <<< "$found"
    fi
done
finish "Failure is a value (base/error.h), words go to the log (base/log.h), memory comes from base/mem.h."
