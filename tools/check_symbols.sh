#!/usr/bin/env bash
# What the libraries export: the shared and the static one exactly the functions that include/weft/*.h marks WEFT_API.
# Builds them when no folder of a build is given.
#   check_symbols.sh [BUILD_FOLDER]
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
build=${1:-build/release}
if [ $# = 0 ]; then
    cmake --preset release > /dev/null
    cmake --build "$build" --target weft_static weft_shared > /dev/null
fi

declared=$(for file in include/weft/*.h; do without_comments "$file"; done | grep -v '^ *#' | tr '\n' ' ' |
    grep -oE 'WEFT_API [^();]*\b[a-zA-Z_0-9]+ *\(' | sed -E 's/.*[ *]([a-zA-Z_0-9]+) *\($/\1/' | sort -u)
for library in "$build/libweft.so" "$build/libweft.a"; do
    case $library in *.so) option=-D ;; *) option=-g ;; esac
    exported=$(nm $option --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u)
    for name in $(comm -13 <(echo "$declared") <(echo "$exported")); do
        problem "$library exports $name, which no header declares with WEFT_API"
    done
    for name in $(comm -23 <(echo "$declared") <(echo "$exported")); do
        problem "$library lacks $name, which a header declares"
    done
    for name in $(grep -v '^weft_' <<< "$exported"); do problem "$library exports $name, which does not begin with weft_"; done
done
finish "Exported are the functions of the public headers and nothing else, all named weft_*."
