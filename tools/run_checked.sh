#!/usr/bin/env bash
# The unit and CPU model tests and the fuzz corpora (and, sanitized, the ops on the CPU) with every memory access and every undefined
# operation watched.
#   run_checked.sh sanitize    AddressSanitizer, leaks included, and UBSan (build/asan)
#   run_checked.sh valgrind    valgrind's memcheck (build/valgrind)
# Further arguments go to ctest, e.g. -R gguf. WebGPU is left out: the drivers' own leaks would drown ours.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-}
shift || true
case $what in
sanitize) build=asan labels='unit|model|ops|fuzz' ;;
valgrind) build=valgrind labels='unit|model|fuzz' ;;
*) sed -n '2,5s/^# //p' "$0" && exit 2 ;;
esac
tools/setup.sh packages build test
for part in webgpu model; do tools/setup.sh "$part" || echo "setup: going on without '$part'"; done
cmake --preset $build > /dev/null
cmake --build build/$build

# WEFT_TEST_CHECKED tells tests that they run ten times slower than usual.
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
export OMP_WAIT_POLICY=passive WEFT_TEST_CHECKED=$what CMOCKA_MESSAGE_OUTPUT=stdout
if [ "$what" = valgrind ]; then export WEFT_JIT=off; fi # PCRE2's machine code reads ahead, on purpose
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
status=0
rm -f build/$build/tests.xml
ctest --test-dir build/$build -L "$labels" --output-on-failure -j "$(nproc)" --no-tests=error \
    --output-junit tests.xml --test-output-size-passed 100000000 --test-output-size-failed 100000000 "$@" || status=$?
python3 tools/count_tests.py build/$build/tests.xml || status=1
exit $status
