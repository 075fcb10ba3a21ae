#!/usr/bin/env bash
# clang-tidy 14 with the checks of .clang-tidy over the library, the program and the tools.
# One file a process: version 14 carries the state of its va_list check over from one file to the next.
#   check_tidy.sh [FILE...]    default: all. With files it shows the analyser's reasoning too.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
build=build/clang
if ! command -v clang-tidy-14 > /dev/null; then
    problem "clang-tidy 14 is missing (tools/setup.sh packages check)"
    finish "Nothing was checked."
fi
cmake --preset clang > /dev/null
if ninja -C $build -t targets all | grep 'shaders\.h' > /dev/null; then # generated headers must exist
    ninja -C $build generated/shaders.h > /dev/null
fi
show='error:'
if [ $# -gt 0 ]; then show=.; else
    # Only files that the build compiles: src/webgpu is left out where there is no webgpu.h.
    # shellcheck disable=SC2046  # a list of files
    set -- $(for file in $(files 'src/*.c' 'cli/*.c' 'tools/*.c'); do
        if grep -F "/$file\"" $build/compile_commands.json > /dev/null; then echo "$file"; fi
    done)
fi
found=$(printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 clang-tidy-14 -p $build --quiet 2> /dev/null) ||
    problem "$(grep "$show" <<< "$found" | sort -u)"
finish "The checks are in .clang-tidy. A finding that is wrong gets NOLINT(check) and the reason in a comment;" \
    "tools/check_tidy.sh FILE shows how the analyser came to it."
