#!/usr/bin/env bash
# Fuzzes with libFuzzer under AddressSanitizer and UBSan (needs clang; build/fuzz).
#   fuzz.sh TARGET [SECONDS]   one target, a file of tests/fuzz/ ("gguf"); 600 seconds unless said otherwise
#   fuzz.sh all [SECONDS]      every target in turn, that long each
#   fuzz.sh total              time, runs and findings of each target so far
# The corpus grows in $WEFT_FUZZ_DIR (build/fuzz-work), TARGET/corpus, and the next run goes on from it. What is found
# lies beside it, TARGET/found-*; docs/fuzzing.md says what to do then. Exit status 1: something was found.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
work=${WEFT_FUZZ_DIR:-build/fuzz-work}
what=${1:-}
seconds=${2:-600}

if [ "$what" = total ]; then
    [ -f "$work/log.tsv" ] || { echo "nothing was run so far (no $work/log.tsv)" && exit; }
    awk -F'\t' '{ s[$2] += $3; c[$2] += $6; r[$2] += $4; f[$2] += $5 }
        END { for (t in s) printf "%-16s %7d seconds (%7d of CPU) %12d runs %3d findings\n", t, s[t], c[t], r[t], f[t] }' \
        "$work/log.tsv" | sort
    exit
fi
[ -n "$what" ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2; }
targets=$what
[ "$what" != all ] || targets=$(find tests/fuzz -maxdepth 1 -name '*.c' ! -name '*_batch.c' -exec basename {} .c \; | sort)

compiler=$(command -v "${CC:-clang}") || { echo "fuzz: ${CC:-clang} is needed" && exit 2; }
grep -qs "^CMAKE_C_COMPILER:.*=$compiler\$" build/fuzz/CMakeCache.txt || rm -rf build/fuzz # CMake would forget the rest
cmake -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWEFT_WEBGPU=OFF \
    -DWEFT_SANITIZE=address,undefined,fuzzer-no-link -DWEFT_TESTS=ON -DWEFT_FUZZER=ON > /dev/null 2>&1
programs=$(for t in $targets; do echo "fuzz_$t test_fuzz_$t"; done)
# shellcheck disable=SC2086
cmake --build build/fuzz -j "$(nproc)" --target $programs > "build/fuzz/build.log" 2>&1 || { cat build/fuzz/build.log; exit 2; }

# The longest input: what is slow for its length, and what needs no length, is kept short.
length() {
    case $1 in
    gguf | model | folder | tokenizer_json) echo 8192 ;;
    regex | gbnf) echo 400 ;;
    schema | tokenizer) echo 2000 ;;
    *) echo 4096 ;;
    esac
}

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
status=0
for t in $targets; do
    here=$work/$t
    mkdir -p "$here/seeds" "$here/corpus"
    build/fuzz/tests/test_fuzz_"$t" --to "$here/seeds" tests/fuzz/corpus/"$t" > /dev/null
    dict=()
    words=tests/fuzz/dict/${t/#model/gguf}.txt
    [ ! -f "$words" ] || dict=(-dict="$words")
    start=$(date +%s)
    found=0
    profile=()
    case $t in gguf | model | imatrix | safetensors) profile=(-use_value_profile=1) ;; esac # numbers matter more than shapes
    cp build/fuzz/tests/fuzz_"$t" "$here/program" # so that a build meanwhile does not change it
    TIMEFORMAT='%U %S'
    limits=(-timeout=60 -report_slow_units=30 -rss_limit_mb=2560 -malloc_limit_mb=1024 -max_len="$(length "$t")")
    { time "$here/program" -max_total_time="$seconds" "${limits[@]}" "${dict[@]}" "${profile[@]}" -print_final_stats=1 \
        -artifact_prefix="$here/found-" "$here/corpus" "$here/seeds" > "$here/last.log" 2>&1; } 2> "$here/time" || found=1
    cpu=$(awk '{ printf "%.0f", $1 + $2 }' "$here/time")
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$here/last.log")
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$t" $(($(date +%s) - start)) "${runs:-0}" $found "$cpu" >> "$work/log.tsv"
    tail -n 1 "$work/log.tsv"
    if [ $found = 1 ]; then
        grep -aE '^(==[0-9]+==ERROR|SUMMARY|fuzz:)|runtime error|Test unit written' "$here/last.log" || true
        status=1
    fi
done
exit $status
