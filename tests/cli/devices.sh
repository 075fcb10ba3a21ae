#!/usr/bin/env bash
# Which device the program takes (cases G6-01 and G6-02 of the public reports), with one adapter and no other:
#   devices.sh WEFT TINY none        no Vulkan driver: the CPU; asking for WebGPU fails and names what is missing
#   devices.sh WEFT TINY ADAPTER     a software adapter: the CPU all the same, and it where it is named
# Run through tools/with_adapter.sh. SPDX-License-Identifier: MIT
set -u
weft=$1 tiny=$2 adapter=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DISPLAY XDG_RUNTIME_DIR
fail() {
    echo "FAILED: $*"
    cat "$work/out" "$work/err"
    exit 1
}
try() { timeout 60 "$weft" "$@" > "$work/out" 2> "$work/err" < /dev/null; }
model=$work/chat.gguf
"$tiny" "$model" chat || fail "cannot write a model"

try devices || fail "devices: exit $?"
grep -q '^\* cpu ' "$work/out" || fail "the CPU is not the default"
try run "$model" -p x --temp 0 || fail "run on the default device: exit $?"
[ "$(cat "$work/out")" = Hi ] || fail "the default device gives another answer"
grep -q '^device cpu (.*), chosen by default' "$work/err" || fail "no line says which device was taken and why"
if [ "$adapter" = none ]; then
    start=$SECONDS
    try run "$model" -p x --device webgpu && fail "there is no adapter, but --device webgpu works"
    [ $((SECONDS - start)) -lt 10 ] || fail "saying so takes $((SECONDS - start)) seconds"
    grep -Eqi '^weft: .*(adapter|library|built without)' "$work/err" || fail "what is missing is not named"
else
    try devices
    name=$(awk '$1 ~ /^webgpu:/ {name = $1} /kind +software/ {print name; exit}' "$work/out")
    [ -n "$name" ] || fail "the software adapter is not listed"
    grep -A9 "$name" "$work/out" | grep -q 'used only when named' || fail "no note says why it is not taken"
    try run "$model" -p x --temp 0 --device "$name" || fail "run --device $name: exit $?"
    [ "$(cat "$work/out")" = Hi ] || fail "$name gives another answer"
    grep -q "^$name, " "$work/err" || fail "the last line does not name the device"
    try info "$model" --device "$name" || fail "info --device $name: exit $?"
    grep -q 'every operation of the model runs there' "$work/out" || fail "some operations fall back"
    "$weft" quantize "$model" "$work/other.gguf" IQ4_NL > "$work/out" 2> "$work/err" || fail "quantize: exit $?"
    try info "$work/other.gguf" --device "$name" || fail "info on IQ4_NL: exit $?"
    expected=$(grep -c 'runs on the CPU instead' "$work/out")
    try run "$work/other.gguf" -p x --device "$name" || fail "run on IQ4_NL: exit $?"
    noted=$(grep -c '^weft: note: .* ran on the CPU' "$work/err")
    [ "$noted" = $((expected > 0)) ] || fail "info lists $expected operations for the CPU, run notes it $noted times"
fi
echo "devices are chosen as promised"
