#!/usr/bin/env bash
# What may not be in the repository: files over 1 MB, binaries, the names of registries' hosts (the machine's own
# configuration says where things come from), and URLs in anything that is run.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
hosts='\b(pypi|files|deb|ftp|security|archive|mirrors?|registry|index|static|proxy)\.[a-z0-9-]+(\.[a-z0-9-]+)*\.?(org|com|io|net|dev)\b'
for file in $(files '*'); do
    size=$(stat -c %s "$file")
    if [ "$size" -gt 1048576 ]; then problem "$file: $size bytes, and 1 MB is the most"; fi
    case $file in *.png | *.gif | *.svg) continue ;; esac # pictures in docs/
    if [ -s "$file" ] && ! grep -Iq . "$file"; then problem "$file: is binary"; fi
    if found=$(grep -niE "$hosts" "$file"); then problem "$file: names a registry's host: $found"; fi
    case $file in
    tools/* | .ci/* | Makefile | *CMakeLists.txt | *.cmake | CMakePresets.json)
        # XML's names look like URLs and are not fetched.
        if found=$(grep -nE 'https?://[a-z0-9]' "$file" | grep -v xmlns=); then
            problem "$file: holds a URL: $found"
        fi ;;
    esac
done
finish "Large and binary things are fetched by tools/setup.sh, through pip and apt as the machine has them set up."
