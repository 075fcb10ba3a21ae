#!/usr/bin/env bash
# `make check`: every check_*.sh, the quick ones first. Goes on after a failure, names what failed at the end.
#   check.sh [NAME...]    only those, e.g. `check.sh includes format`
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh packages build test check
tools/setup.sh webgpu || echo "setup: going on without a WebGPU library: src/webgpu is not checked"

[ $# -gt 0 ] || set -- repo heads docs includes names calls format warnings symbols ops cppcheck tidy
failed=
for name in "$@"; do
    start=$SECONDS
    if output=$("tools/check_$name.sh" 2>&1); then
        printf 'check: %-10s ok (%d s)\n' "$name" $((SECONDS - start))
    else
        printf '%s\ncheck: %-10s FAILED (tools/check_%s.sh)\n' "$output" "$name" "$name"
        failed="$failed $name"
    fi
done
if [ -n "$failed" ]; then
    echo "check: failed:$failed"
    exit 1
fi
echo "check: all passed"
