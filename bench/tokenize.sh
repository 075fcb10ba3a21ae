#!/usr/bin/env bash
# weft's tokenizer against tiktoken 0.14.0 in one run: GPT-2's vocabulary, 8 MB of mixed text, one thread, the best of 5.
# Fails when the ids differ.   bench/tokenize.sh [GPT2_VOCABULARY.gguf [BUILD_FOLDER]]
# SPDX-License-Identifier: MIT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
model=${1:-$HOME/.cache/weft-text/vocab/gpt-2.gguf}
build=${2:-$here/../build/release}
venv=${WEFT_CACHE:-$HOME/.cache/weft}/bench-venv
[ -f "$model" ] || { echo "tokenize.sh: no vocabulary at $model" >&2; exit 1; }
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import tiktoken, gguf' 2> /dev/null ||
    "$venv/bin/pip" install --quiet tiktoken==0.14.0 gguf==0.19.0
cmake --build "$build" --target bench_tokenize > /dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" "$here/mixed_text.py" 8000000 1 "$work/text"
"$venv/bin/python" "$here/tokenize_peer.py" "$model" "$work/text" 5 "$work/theirs"
"$build/bench_tokenize" "$model" "$work/text" 5 "$work/ours"
cmp "$work/ours" "$work/theirs" && echo "same ids"
