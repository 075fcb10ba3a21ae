#!/usr/bin/env bash
# Every source file begins with a comment that says what it is for and names the licence.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
for file in $(files '*.c' '*.h' '*.cpp' '*.def' '*.wgsl' '*.sh' '*.py' '*.cmake' '*.in' '*CMakeLists.txt' Makefile '.ci/*'); do
    head=$(head -n 40 "$file")
    first=$(head -n 1 "$file")
    case $first in '#!'*) first=$(sed -n 2p "$file") ;; esac
    case $first in '/*'* | '//'* | '#'* | '"""'*) ;; *) problem "$file: does not begin with a comment" ;; esac
    case $head in *'SPDX-License-Identifier: MIT'*) ;; *) problem "$file: no SPDX line in its head" ;; esac
done
finish "A file's head: purpose, idea, invariants, what is deliberately not there, and 'SPDX-License-Identifier: MIT'."
