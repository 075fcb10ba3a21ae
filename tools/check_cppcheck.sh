#!/usr/bin/env bash
# cppcheck over the library and the program: errors, warnings, performance and portability.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
if ! command -v cppcheck > /dev/null; then
    problem "cppcheck is missing (tools/setup.sh packages check)"
    finish "Nothing was checked."
fi
# Missing headers are the system's; unknown macros are X-macro rows, which it sees without their table.
# Version 2.10 misreads hexadecimal floats (incorrectLogicOperator) and initialisers that name the variable's own
# field (legacyUninitvar); the compilers warn of both mistakes.
# arrayIndexOutOfBoundsCond guesses the range of parameters; UBSan knows it (make sanitize).
# shellcheck disable=SC2046  # a list of files
cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr -j "$(nproc)" \
    --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=arrayIndexOutOfBoundsCond \
    --suppress=incorrectLogicOperator --suppress=legacyUninitvar \
    --error-exitcode=1 -I include -I src \
    -D__GNUC__=12 $(files 'src/*.c' 'cli/*.c' 'tools/*.c') || problem "cppcheck has found something (above)"
finish "A finding that is wrong gets // cppcheck-suppress and the reason."
