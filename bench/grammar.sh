#!/usr/bin/env bash
# weft's grammars against llguidance 1.9.0 in one run: compiling, and masks over GPT-2's vocabulary, one thread.
# bench/grammar.sh [GPT2_VOCABULARY.gguf [BUILD_FOLDER [CASE ...]]]
# SPDX-License-Identifier: MIT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
model=${1:-$HOME/.cache/weft-text/vocab/gpt-2.gguf}
build=${2:-$here/../build/release}
venv=${WEFT_CACHE:-$HOME/.cache/weft}/bench-venv
[ -f "$model" ] || { echo "grammar.sh: no vocabulary at $model" >&2; exit 1; }
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import tiktoken, gguf, llguidance' 2> /dev/null ||
    "$venv/bin/pip" install --quiet tiktoken==0.14.0 gguf==0.19.0 llguidance==1.9.0
cmake --build "$build" --target bench_grammar > /dev/null
"$venv/bin/python" "$here/grammar_peer.py" "$model" "$build/bench_grammar" "${@:3}"
