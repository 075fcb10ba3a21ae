#!/usr/bin/env bash
# docs/OPS.md is what the op suite's cases find in the backends' tables. Builds the suite when no folder of a build is
# given.
#   check_ops.sh [--write] [BUILD_FOLDER]
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
write=
if [ "${1:-}" = --write ]; then write=1 && shift; fi
build=${1:-build/test}
if [ $# = 0 ]; then
    cmake --preset test > /dev/null
    cmake --build "$build" --target test_ops > /dev/null
fi

made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$build/tests/test_ops" --table > "$made"
if [ -n "$write" ]; then
    cp "$made" docs/OPS.md
elif ! grep -q WEFT_HAVE_WEBGPU "$build/build.ninja"; then
    echo "check_ops.sh: built without the WebGPU backend, so docs/OPS.md cannot be compared"
elif ! diff docs/OPS.md "$made"; then
    problem "docs/OPS.md is not current"
fi
finish "Run tools/check_ops.sh --write and look at what changed."
