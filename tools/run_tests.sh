#!/usr/bin/env bash
# `make test`: installs what the tests need, builds in build/test, runs ctest, lists what was skipped and
# why, and ends with the line "N passed, N failed, N skipped" over the single tests. Fails when a test failed.
# With WEFT_TEST_STRICT=1 (CI) a missing WebGPU adapter is a failure. Arguments go to ctest, e.g. -R ops.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/test

tools/setup.sh packages build test
# What cannot be fetched is skipped by the tests that want it, with a reason, or fails them under CI.
for part in webgpu mesa26 model; do tools/setup.sh "$part" || echo "setup: going on without '$part'"; done

cmake --preset test > /dev/null
cmake --build $build

# Several test programs at once share the cores, so waiting threads must not spin.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} CMOCKA_MESSAGE_OUTPUT=stdout
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp} # the Vulkan loader complains when it is not set
rm -f $build/tests.xml
status=0
ctest --test-dir $build --output-on-failure -j "$(nproc)" --output-junit tests.xml --no-tests=error \
    --test-output-size-passed 100000000 --test-output-size-failed 100000000 "$@" || status=$?
python3 tools/count_tests.py $build/tests.xml || status=1
exit $status
