#!/bin/bash
# Holds weft against another engine on the demo model: same greedy text, same logits.
#
#   WEFT_PEER=PROGRAM tests/peer/run.sh AGREE MODEL DEVICE F32_MODEL
#
# PROGRAM answers `greedy MODEL LAYERS THREADS N TEXT` (ids on its first line), `tokenize MODEL TEXT special` (ids) and
# `logits MODEL LAYERS THREADS OUT ID...` (f32 logits of every position). AGREE is the built tests/peer/agree, F32_MODEL a copy
# of MODEL decoded to f32 (to_f32.py, or `weft quantize MODEL COPY F32`).
# Bars, exact and fast, five prompts x 64 of the peer's greedy tokens: the top token is the peer's wherever its two best
# differ by more than 0.5; mean KL divergence under 2e-3 from what the peer computes from the f32 copy. (From the file
# as it is, the peer's own logits differ by more than that from its f32 copy's, since it rounds activations to 8 bits: both
# figures are printed.) On the f32 copy all logits of a 32-token prompt are within 0.05.
# Exit 0 all bars met, 1 not, 77 no peer. SPDX-License-Identifier: MIT
set -euo pipefail
[ -n "${WEFT_PEER:-}" ] || { echo "SKIPPED: WEFT_PEER names no program to compare with"; exit 77; }
[ -f "${4:-}" ] || { echo "SKIPPED: no f32 copy of the model is given (WEFT_PEER_F32)"; exit 77; }
agree=$1 model=$2 device=$3 f32=$4
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
prompts=(
    "The capital of France is"
    "Once upon a time, in a small village by the sea,"
    "def fibonacci(n):"
    "Water boils at 100 degrees Celsius because"
    "Dear Sir or Madam, I am writing to you about"
)
value() { tr ' ' '\n' <<< "$2" | grep -A1 -x "$1" | tail -n 1; } # value NAME LINE
judge() { # judge TEXT LINE CONDITION: an awk condition over wrong, clear, kl, max_difference
    echo "$1: $2"
    awk -v wrong="$(value wrong "$2")" -v clear="$(value clear "$2")" -v kl="$(value kl "$2")" \
        -v diff="$(value max_difference "$2")" "BEGIN { exit !($3) }" || { echo "  NOT MET: $3"; bad=1; }
}
for i in "${!prompts[@]}"; do
    prompt=$("$WEFT_PEER" tokenize "$model" "${prompts[i]}" special)
    text=$("$WEFT_PEER" greedy "$model" 0 2 64 "${prompts[i]}" | head -1)
    first=$(($(wc -w <<< "$prompt") - 1))
    # shellcheck disable=SC2086
    "$WEFT_PEER" logits "$model" 0 2 "$work/file" $prompt $text > /dev/null
    # shellcheck disable=SC2086
    "$WEFT_PEER" logits "$f32" 0 2 "$work/f32" $prompt $text > /dev/null
    for precision in exact fast; do
        # shellcheck disable=SC2086
        judge "prompt $((i + 1)) $precision, the peer's file as it is" \
            "$("$agree" "$model" "$device" $precision $first "$work/file" $prompt $text)" "clear > 0 && wrong == 0"
        # shellcheck disable=SC2086
        judge "prompt $((i + 1)) $precision, the peer's f32 copy" \
            "$("$agree" "$model" "$device" $precision $first "$work/f32" $prompt $text)" "wrong == 0 && kl < 2e-3"
    done
done
ids=$(for ((i = 0; i < 32; i++)); do echo $((1000 + i * 337)); done)
# shellcheck disable=SC2086
"$WEFT_PEER" logits "$f32" 0 2 "$work/f32" $ids > /dev/null
# shellcheck disable=SC2086
judge "f32 copy, 32 tokens" "$("$agree" "$f32" "$device" exact 0 "$work/f32" $ids)" "diff < 0.05"
[ $bad = 0 ] && echo "all bars met" || echo "bars NOT met"
exit $bad
