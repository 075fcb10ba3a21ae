#!/usr/bin/env bash
# The pages tell the truth: README.md shows the programs of examples/ as they are (but for their first line), and
# every relative link in a page leads to a file.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"
if [ -f README.md ]; then
    readme=$(cat README.md)
    for file in $(files 'examples/*.c'); do
        [[ $readme == *"$(tail -n +2 "$file")"* ]] || problem "README.md does not show $file as it is"
    done
fi
for page in $(files '*.md'); do
    while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || problem "$page: the link to '$link' leads nowhere"
    done < <(grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -vE '^(https?|mailto):' || true)
done
finish "Pages are for readers who try what they say."
