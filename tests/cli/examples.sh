#!/usr/bin/env bash
# The two programs the README shows: 15 lines below the head, and they run.
#   examples.sh EXAMPLES_DIR TENSOR_PROGRAM RUN_PROGRAM TINY
# SPDX-License-Identifier: MIT
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$1"/run.c "$1"/tensor.c; do
    n=$(sed 1d "$file" | grep -c .)
    [ "$n" -le 15 ] || { echo "$file has $n lines below its head, not 15"; exit 1; }
done
[ "$("$2")" = "silu(A x) = -0.238406 -0.238406" ] || { echo "tensor.c prints $("$2")"; exit 1; }
"$4" "$work/chat.gguf" chat
text=$("$3" "$work/chat.gguf" 'Say:
')
[ "$text" = Hi ] || { echo "run.c says: $text"; exit 1; }
if "$3" "$work/nothing.gguf" | grep -q nothing.gguf; then echo "both examples run"; else echo "run.c hides why it failed"; exit 1; fi
