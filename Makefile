# The commands of the README, and slower ones.
.POSIX:
CARGO = cargo
DEMO = out/demo
PROGRAM = $${CARGO_TARGET_DIR:-target}/release/headway
BUILT = $$(cd $${CARGO_TARGET_DIR:-target} && pwd)/debug

.PHONY: demo test locks fmt lint traceability arithmetic python wheel install-c viewer bench instructions misses release-pgo deny fuzz docs prose pictures papers clean

## Builds Headway, runs TCP and an encoded video over one bottleneck, and draws the result.
demo: program
	@echo "make demo: simulate scenarios/demo.toml and draw the figures"
	$(PROGRAM) run scenarios/demo.toml --out $(DEMO) --again
	$(PROGRAM) plot $(DEMO)

## All checks of CI, except for instructions and cache misses.
test: toolchain locks fmt lint traceability arithmetic
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory viewer; fi
	$(CARGO) build --workspace --all-targets
	@if command -v npm >/dev/null; then HEADWAY=$(BUILT)/headway $(MAKE) --no-print-directory prose; fi
	$(CARGO) test --workspace --quiet
	HEADWAY=$(BUILT)/headway MODULE=$$(ls $(BUILT)/libheadway_native.so $(BUILT)/libheadway_native.dylib 2>/dev/null) python/check
	HEADWAY=$(BUILT)/headway viewer/check
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --quiet

## Checks that every lock file is current, since a clean clone cannot build with `--locked` otherwise.
locks: toolchain
	@find . -name Cargo.lock -not -path '*/target/*' | while read -r lock; do \
	$(CARGO) metadata --quiet --locked --format-version 1 --manifest-path "$${lock%.lock}.toml" >/dev/null || { echo "$$lock is stale" >&2; exit 1; }; done

fmt: toolchain
	$(CARGO) fmt --all --check

lint: toolchain
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	$(CARGO) clippy --no-default-features -p headway-units -p headway-rate -p headway-media -p headway-dccp -- --deny warnings

## Checks that the book's page from RFC to code and tests is current, without a new gap; `validation/traceability/run` writes it.
traceability:
	@if command -v python3 >/dev/null; then validation/traceability/run --check; \
	else echo "traceability is not checked: there is no python3 here" >&2; [ "$${CI:-}" != true ]; fi

## Compares the statistics of validation/ with printed tables, and the page of ranks with its results.
arithmetic:
	@if command -v python3 >/dev/null; then papers/packet-spacing/rank --check && cd validation && python3 -m unittest --quiet common.test_student && python3 ns2/test_agreement.py --quiet; \
	else echo "the arithmetic of validation/ is not checked: there is no python3 here" >&2; fi

## Builds the Python wheel and checks it in a virtual environment in target/; two minutes.
python: toolchain
	python/check

## Builds the wheel for release, for Python 3.10 or newer, in out/wheels; needs maturin (`pip install maturin`).
wheel: toolchain
	cd python && maturin build --out ../out/wheels

## Builds libheadway and installs it with its header in PREFIX; several minutes the first time.
PREFIX = /usr/local
install-c: toolchain
	$(CARGO) build --profile wheel --locked --package headway-capi
	crates/apps/capi/install $(PREFIX) $${CARGO_TARGET_DIR:-target}/wheel

## Builds the page of `headway view`, which the next build of the program includes; needs Node 20.19 or newer with npm (https://nodejs.org). viewer/check tests it.
viewer:
	@command -v npm >/dev/null || { echo "the viewer needs Node 20.19 or newer with npm: https://nodejs.org" >&2; exit 1; }
	cd viewer && npm ci --silent && npm run --silent build

## Compares the cost of a run with ns-2, two minutes on a quiet machine; needs the packages ns2 and time.
bench: toolchain
	bench/simulator/run

## Compares instructions per packet-hop with the stored counts; needs valgrind.
instructions: toolchain
	bench/simulator/run --instructions

## Compares misses of data caches per packet-hop with the stored counts; needs valgrind.
misses: toolchain
	bench/simulator/run --misses --quick

## Builds the program with profile-guided optimization, trained on scenarios/; ten minutes. Needs `rustup component add llvm-tools`.
release-pgo: toolchain
	bench/simulator/pgo

## Checks licenses and advisories of the dependencies; needs `cargo install cargo-deny`.
deny:
	$(CARGO) deny check

## Runs each fuzz target for SECONDS; needs a nightly toolchain and `cargo install cargo-fuzz`.
SECONDS = 60
fuzz:
	fuzz/run $(SECONDS)

## Builds the book as HTML in docs/book; needs `cargo install mdbook`.
docs:
	mdbook build docs

## Reports expressions that docs/lint/prh.yml lists, and long lines of Markdown; needs npm.
prose:
	cd docs/lint && npm ci --silent --prefer-offline && node lint.mjs

## Draws the pictures of README and docs; needs the tools of `make viewer`, Chromium and pdftocairo (Debian: poppler-utils).
pictures: viewer demo
	docs/pictures.sh $(DEMO)

## Runs every paper in full and stores the results that their pages show; minutes.
papers: program
	for paper in papers/*/; do id=$$(basename $$paper); \
	  $(PROGRAM) papers run $$id --full && papers/store $$id out/papers/$$id || exit 1; done

## Builds the program. Cargo reports each crate, also in a log file; its progress bar needs a terminal.
.PHONY: program
program: toolchain
	@echo "make: build $(PROGRAM), several minutes the first time"
	$(CARGO) build --release --package headway-cli

.PHONY: toolchain
toolchain:
	@command -v $(CARGO) >/dev/null || { \
	  echo "Headway needs Rust $$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or newer: install it from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { \
	  echo "Headway needs a C linker: install gcc or clang (Debian: apt-get install build-essential)" >&2; exit 1; }

clean:
	$(CARGO) clean
	rm -rf out docs/book
