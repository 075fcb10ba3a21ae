#!/usr/bin/env bash
# The program on a terminal: what a model says is shown there and not obeyed. Skipped where there is no
# pseudo-terminal (a bare chroot without /dev/pts, or no `script`).
#   terminal.sh WEFT TINY        as in cli.sh
# SPDX-License-Identifier: MIT
set -u
weft=$(realpath "$1") tiny=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
command -v script > /dev/null || { echo "SKIPPED: there is no program 'script' to make a pseudo-terminal"; exit 77; }
if ! script -qec 'test -t 1' log > out 2>&1 < /dev/null; then
    echo "SKIPPED: no pseudo-terminal can be opened here ($(head -1 out | tr -d '\r'))"
    exit 77
fi
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
bad=0
problem() {
    echo "FAILED: $*"
    sed 's/^/    out: /' out | head -20
    bad=1
}
"$tiny" escape.gguf escape || { echo "cannot write a model"; exit 1; }
escape=$(printf '\033[2J')
script -qec "'$weft' run escape.gguf -p '
' --raw --device cpu --temp 0" log > out < /dev/null || problem "weft run fails on a terminal"
grep -qF '[2J' out || problem "the answer is not shown"
grep -qF "$escape" out && problem "an escape sequence reaches the terminal"
script -qec "'$weft' run escape.gguf -p '
' --raw --device cpu --temp 0 --logprobs 2" log > out < /dev/null || problem "--logprobs fails"
grep -qF '"\x1B"' out || problem "a control character's token is not shown as \\x1B"
grep -qF "$escape" out && problem "an escape sequence reaches the terminal"
[ $bad = 0 ] && echo "a terminal shows what a model says"
exit $bad
