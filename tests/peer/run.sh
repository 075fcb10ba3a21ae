#!/bin/bash
# Holds weft against another engine on the demo model: same greedy text, same logits.
#
#   WEFT_PEER=PROGRAM tests/peer/run.sh AGREE MODEL DEVICE [F32_MODEL]
#
# PROGRAM answers `greedy MODEL LAYERS THREADS N TEXT` (ids on its first line), `tokenize MODEL TEXT special` (ids) and
# `logits MODEL LAYERS THREADS OUT ID...` (f32 logits of every position). AGREE is the built tests/peer/agree.
# Bars: five prompts x 64 of the peer's greedy tokens, the top token is the peer's wherever its two best differ by more
# than 0.5, exact and fast, mean KL under 2e-3; on the f32 copy all logits of a 32-token prompt within 0.05.
# Exit 0 all bars met, 1 not, 77 no peer. SPDX-License-Identifier: MIT
set -euo pipefail
[ -n "${WEFT_PEER:-}" ] || { echo "SKIPPED: WEFT_PEER names no program to compare with"; exit 77; }
agree=$1 model=$2 device=$3 f32=${4:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
prompts=(
    "The capital of France is"
    "Once upon a time, in a small village by the sea,"
    "def fibonacci(n):"
    "Water boils at 100 degrees Celsius because"
    "Dear Sir or Madam, I am writing to you about"
)
judge() { # name line: checks wrong == 0 and kl < 2e-3
    echo "$1: $2"
    awk '{ exit !($6 == 0 && $8 < 2e-3 && $4 > 0) }' <<< "$2" || { echo "  NOT MET"; bad=1; }
}
for i in "${!prompts[@]}"; do
    prompt=$("$WEFT_PEER" tokenize "$model" "${prompts[i]}" special)
    text=$("$WEFT_PEER" greedy "$model" 0 2 64 "${prompts[i]}" | head -1)
    first=$(($(wc -w <<< "$prompt") - 1))
    # shellcheck disable=SC2086
    "$WEFT_PEER" logits "$model" 0 2 "$work/logits" $prompt $text > /dev/null
    for precision in exact fast; do
        # shellcheck disable=SC2086
        judge "prompt $((i + 1)) $precision" "$("$agree" "$model" "$device" $precision $first "$work/logits" $prompt $text)"
    done
done
if [ -n "$f32" ]; then
    ids=$(for ((i = 0; i < 32; i++)); do echo $((1000 + i * 337)); done)
    # shellcheck disable=SC2086
    "$WEFT_PEER" logits "$f32" 0 2 "$work/logits" $ids > /dev/null
    # shellcheck disable=SC2086
    line=$("$agree" "$f32" "$device" exact 0 "$work/logits" $ids)
    echo "f32 copy, 32 tokens: $line"
    awk '{ exit !($10 < 0.05) }' <<< "$line" || { echo "  NOT MET"; bad=1; }
fi
[ $bad = 0 ] && echo "all bars met" || echo "bars NOT met"
exit $bad
