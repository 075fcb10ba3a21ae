#!/usr/bin/env bash
# Runs a program with one Vulkan adapter and no other, so that a test knows what it runs on:
#   llvmpipe     the software adapter of the system's Mesa (Debian's mesa-vulkan-drivers)
#   mesa26       llvmpipe of Mesa 26, which has matrix units (tools/setup.sh mesa26)
#   swiftshader  the software adapter that comes with Debian's chromium
#   none         no adapter at all
# When the adapter is not installed it says so and exits with 77, which ctest counts as a skip, or
# with 1 where WEFT_TEST_STRICT is set, because there nothing may go untested.
# SPDX-License-Identifier: MIT
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: tools/with_adapter.sh llvmpipe|mesa26|swiftshader|none PROGRAM [ARGUMENT...]" >&2
    exit 2
fi
adapter=$1
shift
mesa26=${WEFT_CACHE:-$HOME/.cache/weft}/mesa26

absent() {
    echo "SKIPPED: $*"
    if [ -n "${WEFT_TEST_STRICT:-}" ]; then exit 1; fi
    exit 77
}

if [ -n "${WEFT_WEBGPU_LIB:-}" ] && [ ! -f "$WEFT_WEBGPU_LIB" ]; then
    absent "there is no WebGPU library $WEFT_WEBGPU_LIB (tools/setup.sh webgpu)"
fi

# The Vulkan loader wants this folder for Wayland and complains when it has none.
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
unset VK_ADD_DRIVER_FILES

use_driver() { # VK_ICD_FILENAMES is the older loaders' name of the same thing
    export VK_DRIVER_FILES=$1 VK_ICD_FILENAMES=$1
}

case $adapter in
llvmpipe)
    driver=$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' || true)
    [ -n "$driver" ] || absent "llvmpipe is not installed (tools/setup.sh packages test)"
    use_driver "${driver%%$'\n'*}" ;;
swiftshader)
    driver=${WEFT_SWIFTSHADER:-/usr/lib/chromium/vk_swiftshader_icd.json}
    [ -f "$driver" ] || absent "SwiftShader is not installed (it is part of Debian's chromium)"
    use_driver "$driver" ;;
none)
    use_driver /nonexistent ;;
mesa26)
    [ -f "$mesa26/VERSION" ] || absent "Mesa 26 is not installed (tools/setup.sh mesa26)"
    use_driver "$mesa26/lvp_icd.json"
    lib=$mesa26/root/usr/lib/$(cat "$mesa26/MULTIARCH")
    # Its own C library goes with its own dynamic loader; what it lacks (PCRE2, OpenMP ...) is the system's.
    program=$(command -v "$1") || { echo "with_adapter.sh: no program $1" >&2; exit 127; }
    shift
    exec "$(compgen -G "$lib/ld-linux*.so.*")" --library-path "$lib" "$program" "$@" ;;
*)
    echo "with_adapter.sh: '$adapter' is no adapter it knows" >&2
    exit 2 ;;
esac
exec "$@"
