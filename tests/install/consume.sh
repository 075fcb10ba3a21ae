#!/usr/bin/env bash
# Installs a build into a folder, moves that folder, and uses it from outside the tree as users would: a C and a C++
# program, by pkg-config and by find_package, shared and static, and the programs of examples/. Moving shows
# that nothing installed holds an absolute path.
#   consume.sh BUILD_FOLDER CMAKE C_COMPILER
# SPDX-License-Identifier: MIT
set -euo pipefail
build=$1 cmake=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
model=${WEFT_CACHE:-$HOME/.cache/weft}/models/SmolLM2-135M-Instruct.Q4_1.gguf
if ! command -v c++ > /dev/null; then
    echo "SKIPPED: there is no C++ compiler (tools/setup.sh packages test)"
    [ -n "${WEFT_TEST_STRICT:-}" ] && exit 1 || exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" && exit 1; }

"$cmake" --install "$build" --prefix "$work/first" > "$work/log" || { cat "$work/log"; fail "install"; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix
lib=$(dirname "$(find "$prefix" -name libweft.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig
version=$(pkg-config --modversion weft)
if grep -rIl -e "$work/first" -e "$build" "$prefix"; then fail "these files name a folder of the build"; fi

mkdir "$work/outside"
cp "$here"/consume.c "$here"/consume.cpp "$here"/CMakeLists.txt "$work/outside"
if [ -d "$here/../../examples" ]; then cp -r "$here/../../examples" "$work/outside"; fi
cd "$work/outside"

run() { # TITLE PROGRAM: with the shared library's folder given, as no rpath is set here
    echo "$1"
    LD_LIBRARY_PATH=$lib "${@:2}" || fail "$1: the program failed"
}

flags="-Wall -Wextra -Werror -DEXPECTED_VERSION=\"$version\""
for kind in weft weft-static; do
    # shellcheck disable=SC2046,SC2086  # flags are lists
    "$cc" -std=c11 $flags consume.c -o c-$kind $(pkg-config --cflags --libs $kind)
    # shellcheck disable=SC2046,SC2086
    c++ -std=c++11 $flags consume.cpp -o cpp-$kind $(pkg-config --cflags --libs $kind)
    run "pkg-config $kind, C" ./c-$kind
    run "pkg-config $kind, C++" ./cpp-$kind
done
if ldd ./c-weft-static | grep libweft; then fail "weft-static links the shared library"; fi
if ! ldd ./c-weft | grep libweft > /dev/null; then fail "weft does not link the shared library"; fi

"$cmake" -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" -DEXPECTED_VERSION="$version" \
    > "$work/log" 2>&1 || { cat "$work/log"; fail "find_package"; }
"$cmake" --build build > "$work/log" 2>&1 || { cat "$work/log"; fail "building with find_package"; }
for kind in weft weft_static; do
    run "find_package $kind, C" build/c_$kind
    run "find_package $kind, C++" build/cpp_$kind
done
for example in build/example_*; do
    [ -x "$example" ] || continue
    if grep -q llm.h "examples/${example#build/example_}.c"; then
        if [ -f "$model" ]; then run "$example" "$example" "$model"; else echo "$example: built, not run: no model"; fi
    else
        run "$example" "$example"
    fi
done
if [ -x "$prefix/bin/weft" ]; then run "the installed program" "$prefix/bin/weft" --version; fi
echo "all of them work"
