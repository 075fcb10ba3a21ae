#!/usr/bin/env bash
# Everything compiles under gcc and clang without a warning: -Wall -Wextra -Wconversion -Wvla -Werror.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
for preset in warnings clang; do
    if ! cmake --preset $preset > /dev/null || ! cmake --build build/$preset > "build/$preset/log"; then
        grep -vE '^\[[0-9]+/' "build/$preset/log" || true
        problem "the build with the preset '$preset' has warnings or fails (above)"
    fi
done
finish "Fix the warning; to see it again: cmake --build build/warnings (gcc) or build/clang (clang)."
