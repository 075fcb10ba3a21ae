# The commands of the project; the build itself is CMake's and the set-up tools/setup.sh's.
# Each command installs what it needs (it says what), and a second run needs no network.
# SPDX-License-Identifier: MIT

PROMPT ?= Why do we have seasons?
N ?= 160
SEED ?= 2
DEVICE ?=
PREFIX ?= /usr/local
MODEL ?= $(or $(WEFT_CACHE),$(HOME)/.cache/weft)/models/SmolLM2-135M-Instruct.Q4_1.gguf
export PROMPT

TARGET ?= all
SECONDS ?= 600
.PHONY: help demo build test check sanitize valgrind fuzz install clean

help: ## what can be made
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12
	@echo
	@echo 'make demo PROMPT="Why is the sky blue?" SEED=7 N=64 DEVICE=cpu'
	@echo 'make install PREFIX=$$HOME/.local                           another place'

demo: build ## set up, build, fetch a small model, and let it answer a question
	@tools/setup.sh model
	@build/release/weft run $(MODEL) -p "$$PROMPT" -n $(N) --seed $(SEED) $(if $(DEVICE),--device $(DEVICE))

build: ## the library and the program, in build/release
	@tools/setup.sh packages build
	@tools/setup.sh webgpu || echo "setup: going on without a WebGPU library"
	@cmake --preset release > /dev/null
	@cmake --build build/release

test: ## the whole test suite, WebGPU on software adapters included
	@tools/run_tests.sh

check: ## layout, static analysis, include rules, exported symbols, warnings of two compilers
	@tools/check.sh

sanitize: ## unit and CPU model tests under AddressSanitizer and UBSan
	@tools/run_checked.sh sanitize

valgrind: ## the same under valgrind
	@tools/run_checked.sh valgrind

fuzz: ## libFuzzer on hostile input, under both sanitizers (docs/fuzzing.md): TARGET=gguf SECONDS=3600
	@tools/fuzz.sh $(TARGET) $(SECONDS)

install: build ## headers, libraries, program, pkg-config file and CMake package, below PREFIX
	@cmake --install build/release --prefix $(PREFIX)

clean: ## removes build/ (what was fetched stays in the cache)
	rm -rf build
