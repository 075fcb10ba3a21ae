#!/usr/bin/env bash
# No C file names a quantised format or a model architecture, except the tables (*.def), the format's or the
# architecture's own file, and the tests: adding one must not mean a search through the tree. Comments may.
# The names come from the tables themselves.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"

formats=$(sed -nE 's/^WEFT_DTYPE\(([A-Z0-9_]+),.*, *(1|true)\).*/\1/p' include/weft/dtypes.def | tr '\n' '|')
architectures=$(sed -nE 's/^[A-Z_]+\(([a-z0-9_]+),.*/\1/p' src/model/archs.def 2> /dev/null | tr '\n' '|' || true)
[ -n "$formats" ] || problem "no quantised format found in include/weft/dtypes.def: this script no longer reads it"

# Names as whole words or as parts between underscores: WEFT_Q4_1, dot_q4_1, "q4_1".
pattern() { printf '(^|[^a-z0-9])(%s)([^a-z0-9]|$)' "${1%|}"; }

for file in $(files 'src/*.c' 'src/*.h' 'cli/*.c' 'cli/*.h'); do
    # kernels_*.c are the CPU's tables of kernels: a faster one for a format is one assignment there.
    case $file in src/format/* | src/model/llama.c | src/cpu/kernels_*.c) continue ;; esac
    text=$(without_comments "$file")
    if [ -n "$formats" ] && found=$(grep -inE "$(pattern "$formats")" <<< "$text"); then
        while read -r line; do problem "$file names a format: ${line#*:}"; done <<< "$found"
    fi
    case $file in src/model/*.c)
        name=$(basename "$file" .c)
        case "|$architectures" in *"|$name|"*) continue ;; esac ;;
    esac
    if [ -n "$architectures" ] && found=$(grep -inE "$(pattern "$architectures")" <<< "$text"); then
        while read -r line; do problem "$file names an architecture: ${line#*:}"; done <<< "$found"
    fi
done
finish "Formats live in dtypes.def and src/format/, architectures in archs.def and src/model/: ask the table instead."
