# What the check_*.sh scripts share: the project's files, and how a problem is reported. To be sourced; each check
# is usable alone, prints every problem and exits with 1 when there was one.
# shellcheck shell=bash
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C

# The project's files (committed, or new and not ignored) that match any of the given patterns.
files() {
    if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r file; do
            if [ -f "$file" ]; then echo "$file"; fi # a deleted one is still listed
        done
    else
        local pattern
        for pattern in "$@"; do find . -path ./build -prune -o -path "./$pattern" -type f -print; done |
            sed 's#^\./##' | sort -u
    fi
}

c_files() { files '*.c' '*.h' '*.cpp'; }

# The text of a C file with its comments blanked and its lines kept.
without_comments() { "${CC:-cc}" -fpreprocessed -dD -E -P -x c "$1" 2> /dev/null; }

n_problems=0
problem() {
    printf '%s\n' "$*"
    n_problems=$((n_problems + 1))
}

# The last line of every script: what the rule is, for someone who has just broken it.
finish() {
    [ "$n_problems" = 0 ] && exit 0
    printf '\n%s\n' "$*"
    exit 1
}
