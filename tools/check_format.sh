#!/usr/bin/env bash
# clang-format 14 agrees with every C file, and no line is longer than 100 columns. To put it right:
#   clang-format-14 -i FILE
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
format=$(command -v clang-format-14 || command -v clang-format || true)
case $("${format:-false}" --version 2> /dev/null || true) in
*'version 14.'*) ;;
*) problem "clang-format 14 is missing, and other versions lay code out differently (tools/setup.sh packages check)" &&
    finish "Nothing was checked." ;;
esac
for file in $(c_files); do
    "$format" --dry-run -Werror "$file" 2> /dev/null || problem "$file: clang-format would change it"
done
for file in $(c_files; files '*.def' '*.wgsl'); do
    while read -r line; do problem "$file:$line: longer than 100 columns"; done < <(
        LC_ALL=C.UTF-8 awk 'length > 100 { print FNR }' "$file")
done
finish "Lay it out with: clang-format-14 -i FILE (comments are wrapped by hand, at 100 columns)"
