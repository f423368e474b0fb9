# `make serve` and `make test` are all that a newcomer needs: both install what is missing, build, and
# go. Everything fetched or built once is kept in the cache (scripts/cache-dir), outside this tree.
#
#   make serve [ARGS="--port 9000 model.gguf"]    serve a model; open the address it prints
#   make test                                     everything that CI runs
#   make build | asan | tsan | fuzz | coverage    one preset: build it and run its own tests
#   make evaluate                                 the long comparison of numbers (nightly)
#   make bench-peers [ARGS=...]                   us beside llama.cpp and OpenVINO, same file, same run
#   make bench-closed | bench-server | bench-shared | bench-speculation | bench-overload | bench-guard
#                                                 see benchmarks/README.md
#   make clean                                    remove build/, keep the cache
.PHONY: serve test setup build asan tsan fuzz coverage evaluate clean help
.PHONY: bench-peers bench-closed bench-server bench-shared bench-speculation bench-overload bench-guard
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

CACHE := $(shell scripts/cache-dir)
export PATERNOSTER_CACHE := $(CACHE)
export CCACHE_DIR ?= $(CACHE)/ccache
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export PATH := $(PATH):$(HOME)/.cargo/bin
JOBS ?= $(shell nproc)
export JOBS

serve: build/release/paternoster
	@exec build/release/paternoster serve $(ARGS)

test:
	@scripts/setup test
	@scripts/run-tests dev fuzz

setup:
	@scripts/setup test

build:
	@scripts/setup build
	@scripts/build dev

.PHONY: build/release/paternoster
build/release/paternoster:
	@scripts/setup build
	@scripts/build release paternoster

asan:
	@scripts/setup test
	@scripts/run-tests asan asan-api

tsan fuzz:
	@scripts/setup test
	@scripts/run-tests $@

coverage:
	@scripts/setup test
	@scripts/coverage

evaluate:
	@scripts/setup test
	@scripts/build dev
	@cd build/dev && ctest -C nightly -L nightly --output-on-failure

bench-peers: build/release/paternoster
	@scripts/build release engine_bench kernels_bench
	@benchmarks/peers/fetch.sh
	@benchmarks/peers/compare.py $(ARGS)

bench-closed: build/release/paternoster
	@benchmarks/peers/fetch.sh llama
	@benchmarks/peers/closed_loop.py $(ARGS)

bench-server bench-shared: build/release/paternoster
	@scripts/build release engine_bench
	@benchmarks/$(if $(filter bench-server,$@),server_overhead,shared_machine).py $(ARGS)

bench-speculation:
	@scripts/setup build
	@scripts/build release engine_bench
	@benchmarks/speculation.py $(ARGS)

bench-overload: build/release/paternoster
	@benchmarks/overload.py $(ARGS)

bench-guard:
	@scripts/setup build
	@scripts/build dev guard
	@python3 tests/guard/guard.py build/dev/tests/guard/guard $(ARGS)

clean:
	rm -rf build

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -15
