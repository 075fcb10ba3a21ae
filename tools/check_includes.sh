#!/usr/bin/env bash
# Who may include whom: the walls between the folders. The table below is the rule; a folder may always include itself.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/check_common.sh"

allowed() { # FOLDER -> what a file there may include in quotes, as patterns
    case $1 in
    src/base) echo 'weft/weft.h weft/*.def' ;;
    src/format) echo 'base/* tensor/dtype.h weft/weft.h weft/dtypes.def' ;;
    src/tensor) echo 'base/* weft/*' ;;
    src/cpu | src/webgpu) echo 'base/* tensor/* format/* weft/weft.h weft/dtypes.def' ;;
    src/gguf) echo 'base/* tensor/dtype.h' ;;
    src/tokenizer | src/sample | src/template | src/grammar) echo 'base/*' ;;
    src/model) echo 'weft/weft.h tensor/fused.h gguf/* base/*' ;;
    src/checkpoint) echo 'base/* gguf/* tensor/dtype.h tokenizer/*' ;;
    src/llm) echo 'weft/* gguf/* checkpoint/checkpoint.h format/* tensor/dtype.h model/* tokenizer/* sample/* template/template.h grammar/grammar.h base/*' ;;
    cli | server | examples) echo 'weft/*' ;;
    bench) echo 'weft/* base/* gguf/* tokenizer/* grammar/grammar.h llm/vocabulary.h' ;; # a part is measured from inside
    *) echo '*' ;; # tests and tools
    esac
}

for file in $(c_files; files 'src/*.def' 'include/*.def'); do
    folder=$(dirname "$file")
    case $file in include/*) continue ;; server/*) folder=server ;; esac
    case $folder in
    src/base | src/format | src/tensor | src/cpu | src/webgpu | src/gguf | src/checkpoint | src/tokenizer | src/sample | src/template | src/grammar | src/model) ;;
    src/llm | cli | server | examples | bench | tests | tests/* | tools) ;;
    *) problem "$file: the folder $folder has no row in tools/check_includes.sh" && continue ;;
    esac
    own="${folder#src/}/*"
    while IFS=: read -r line include; do
        ok=
        set -f
        for pattern in $(allowed "$folder") "$own"; do
            # shellcheck disable=SC2254  # the pattern is meant to match as one
            case $include in $pattern) ok=1 ;; esac
        done
        set +f
        # A bare name is the including folder's own: a neighbour, or generated (wgslgen's shaders for webgpu).
        case $include in */*) ;; *) ok=1 ;; esac
        [ -n "$ok" ] || problem "$file:$line: $folder may not include \"$include\""
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/;t p;d;:p;=;p' "$file" |
        paste -d: - -)
    case $folder in
    src/webgpu | tests | tests/*) ;;
    *)
        if grep -nE '#[[:space:]]*include.*\b(webgpu|wgpu)\.h' "$file"; then
            problem "$file: only src/webgpu may include webgpu.h"
        fi ;;
    esac
done
finish "Folders keep to the table in tools/check_includes.sh. If the table is wrong, change it and say why in docs/decisions/."
