# What can be done here; `make` alone lists it. CONTRIBUTING.md says how long each takes.
# Needs a Rust toolchain (stable, with clippy and rustfmt), Node 20.19 or later with npm, Python 3.11, a C and a C++ compiler.
# Everything else comes from crates.io, the npm registry and Debian's packages.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CHROMIUM ?= /usr/bin/chromium
FIREFOX ?= /usr/bin/firefox-esr
NGINX ?= /usr/sbin/nginx
PREFIX ?= $(HOME)/.local
FUZZ_SECONDS ?= 6
# Where cargo builds; the same as cargo's own, wherever a recipe runs.
target := $(abspath $(or $(CARGO_TARGET_DIR),target))
export NPM_CONFIG_FUND = false
export NPM_CONFIG_AUDIT = false
export NPM_CONFIG_UPDATE_NOTIFIER = false

page_sources := $(shell find web/src web/public -type f -not -name '*.test.ts') web/index.html web/vite.config.ts web/svelte.config.js
packages := web/node_modules/.package-lock.json
clients := crates/serve/tests/clients/node_modules/.package-lock.json
page := web/dist/index.html
deny := $(target)/tools/bin/cargo-deny
rg := $(target)/tools/bin/rg
venv := $(target)/venv

.PHONY: help run web build query cluster install dist release-check test test-web test-rust test-python test-elixir test-e2e test-e2e-explorer test-e2e-others test-bench shots lint lint-format lint-rust lint-web dependencies tidy advisories fmt fuzz differential bench soak chaos ci clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

run: build ## Build everything and open the log explorer on the sample
	$(target)/release/rorqual serve --open samples/apache_combined.log

web: $(page) ## Build the page

build: $(page) ## Build target/release/rorqual, the page in it (below CARGO_TARGET_DIR where that is set)
	cargo build --release --locked -p rorqual

query: ## Build target/release/rorqual-query, which `rorqual query` runs
	cargo build --release --locked -p rorqual-query

cluster: ## Build target/release/rorqual-cluster, which `rorqual cluster` and `query --cluster` run
	cargo build --release --locked -p rorqual-cluster

install: build query ## Install rorqual, rorqual-query, the manual page and completions below PREFIX (~/.local)
	install -Dm755 $(target)/release/rorqual $(PREFIX)/bin/rorqual
	install -Dm755 $(target)/release/rorqual-query $(PREFIX)/bin/rorqual-query
	install -d $(PREFIX)/share/man/man1 $(PREFIX)/share/bash-completion/completions $(PREFIX)/share/zsh/site-functions $(PREFIX)/share/fish/vendor_completions.d
	$(target)/release/rorqual man > $(PREFIX)/share/man/man1/rorqual.1
	$(target)/release/rorqual completions bash > $(PREFIX)/share/bash-completion/completions/rorqual
	$(target)/release/rorqual completions zsh > $(PREFIX)/share/zsh/site-functions/_rorqual
	$(target)/release/rorqual completions fish > $(PREFIX)/share/fish/vendor_completions.d/rorqual.fish

dist: $(page) ## Make the packages below target/dist: tarball, .deb, container, Elixir, checksums, bill of materials
	tools/dist.py

release-check: ## Install each package of target/dist, programs into an empty root, and do its main job (as root)
	tools/release_check.py $(target)/dist

test: test-web test-rust test-python test-elixir test-bench test-e2e ## Run every test: the page's, the workspace's, the bindings', the benchmark's and the tools', the browser's and other clients'

test-web: $(packages)
	cd web && npm test

test-rust: $(page)
	cargo test --workspace --locked --no-fail-fast

# The libraries and the program that the tests of the workspace have built, as for the browser's tests.
test-python: $(page) $(venv)/.installed
	cargo test --workspace --locked --no-run
	rm -rf $(target)/python
	mkdir -p $(target)/python
	cp -R bindings/python/rorqual $(target)/python/
	cp $(target)/debug/deps/lib_rorqual.so $(target)/python/rorqual/_rorqual.abi3.so
	cd $(target)/python && RORQUAL_PROGRAM=$(target)/debug/rorqual $(venv)/bin/python -m pytest -q -p no:cacheprovider $(CURDIR)/bindings/python/tests

test-elixir: $(page) /usr/bin/mix
	cargo test --workspace --locked --no-run
	cd bindings/elixir && RORQUAL_NIF=$(target)/debug/deps/librorqual_nif.so RORQUAL_PROGRAM=$(target)/debug/rorqual MIX_BUILD_ROOT=$(target)/elixir mix test

test-bench:
	python3 -m unittest discover bench
	python3 -m unittest discover tools

# The debug build reads the page from web/dist; a release build has it inside.
# It is the program that the tests of the workspace have built: built alone it has fewer features of what
# it depends on, and half of that is compiled once more.
# Two browsers work side by side, as each waits much. The two targets are for this one alone.
test-e2e: $(page) $(clients) $(CHROMIUM) $(FIREFOX) $(NGINX) /usr/bin/curl
	cargo test --workspace --locked --no-run
	$(MAKE) --jobs=2 test-e2e-explorer test-e2e-others

test-e2e-explorer:
	cd web && node test/explore.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)

test-e2e-others:
	node crates/serve/tests/clients/clients.mjs --program $(target)/debug/rorqual
	cd web && node test/smoke.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)
	cd web && node test/uploads.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM) --nginx $(NGINX)
	cd web && node test/search.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)
	cd web && node test/tables.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)
	cd web && node test/memory.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)
	cd web && node test/follow.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)
	cd web && node --experimental-websocket test/firefox.mjs --program $(target)/debug/rorqual --firefox $(FIREFOX)
	cd web && node test/report.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM)

shots: $(page) $(CHROMIUM) ## Take the pictures of the page anew, into docs/shots
	cargo build --locked --workspace --bin rorqual
	rm -rf docs/shots
	cd web && node test/explore.mjs --program $(target)/debug/rorqual --chromium $(CHROMIUM) --shots ../docs/shots

lint: lint-format lint-rust lint-web dependencies tidy ## Check formatting, clippy, types, licences and the tree's own rules

lint-format:
	cargo fmt --all --check

lint-rust: $(page)
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-web: $(packages)
	cd web && npm run check

tidy:
	tools/tidy.py

dependencies:
	tools/dependencies.py

advisories: $(deny) ## Look for known vulnerabilities (fetches the advisory database of RustSec, and asks the npm registry)
	$(deny) --locked check --hide-inclusion-graph
	cd web && npm audit

fmt: $(packages) ## Format everything
	cargo fmt --all
	cd web && npm run format

fuzz: | $(shell command -v c++ || echo c++) ## Fuzz each parser of foreign bytes for FUZZ_SECONDS (6)
	fuzz/run $(FUZZ_SECONDS)

differential: $(rg) ## Compare grep with GNU grep and ripgrep on random cases (CASES=5000, SEED=1)
	cargo build --locked -p rorqual
	PATH="$(dir $(rg)):$$PATH" tools/differential.py --cases $(or $(CASES),5000) --seed $(or $(SEED),1)

bench: $(page) ## Measure beside the other tools (some two hours; BENCH="--quick" for a few minutes)
	bench/run.py $(BENCH)
	bench/sweep.py

soak: $(page) ## Run everything at once for minutes and see that nothing is left (SOAK="--minutes 120" for hours)
	bench/soak.py $(SOAK)

chaos: $(page) /usr/bin/faketime ## Kill, cut, stall and starve a server for ten minutes and see that no total is wrong (CHAOS="--minutes 60")
	bench/chaos.py $(CHAOS)

# What helps only the next build takes a third of the disk.
ci: export CARGO_INCREMENTAL = 0
# CI fails for a change, not for the luck of a draw: `make fuzz` draws anew each time.
ci: export FUZZ_SEED ?= 1
# Clippy judges each crate as it is compiled for the tests, so that no dependency is read for clippy alone.
ci: export RUSTC_WORKSPACE_WRAPPER := $(CURDIR)/tools/lint-and-compile
ci: lint-format lint-web dependencies tidy test fuzz ## What CI runs: `lint` and all tests

clean: ## Remove everything that was built
	cargo clean
	rm -rf fuzz/corpus-run fuzz/artifacts web/dist web/node_modules crates/serve/tests/clients/node_modules

# npm writes this file last: it is there and new only after a whole install.
$(packages): web/package.json web/package-lock.json
	cd web && npm ci
	@touch $@

$(clients): crates/serve/tests/clients/package.json crates/serve/tests/clients/package-lock.json
	cd crates/serve/tests/clients && npm ci
	@touch $@

$(deny):
	cargo install cargo-deny@0.20.2 --locked --root $(target)/tools --target-dir $(target)/tools/build
	rm -rf $(target)/tools/build

$(page): $(packages) $(page_sources)
	cd web && npm run build
	@touch $@

/usr/bin/chromium:
	@tools/debian chromium 'the browser tests need Chromium'

/usr/bin/firefox-esr:
	@tools/debian firefox-esr 'the browser tests need Firefox'

/usr/bin/faketime:
	@tools/debian faketime 'chaos makes the clock of a server jump'

/usr/sbin/nginx:
	@tools/debian nginx 'the tests of uploads need a proxy'

# A distribution's is years behind.
$(rg):
	cargo install ripgrep@15.2.0 --locked --root $(target)/tools --target-dir $(target)/tools/build
	rm -rf $(target)/tools/build

$(venv)/.installed: bindings/python/tests/requirements.txt
	python3 -c 'import ensurepip' || tools/debian python3-venv 'the tests of the Python package need an environment'
	python3 -m venv $(venv)
	$(venv)/bin/pip install --quiet -r $<
	@touch $@

/usr/bin/mix:
	@tools/debian elixir 'the tests of the Elixir package need it'

/usr/bin/curl:
	@tools/debian curl 'the tests of clients need curl'

c++:
	@tools/debian g++ 'libFuzzer needs a C++ compiler'
