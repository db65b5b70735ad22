# The commands of the README. A fresh Debian 12 with Rust and a C compiler is all they need; `make test`
# installs the file systems, clients and emulator of its tests where they are missing.

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
THERMOCLINE := $(TARGET)/release/thermocline
# The one that `cargo test` builds, with all features but figures as PDF and PNG, which are heavy to build.
TESTED := $(TARGET)/debug/thermocline
export FEATURES := thermocline-cli/parquet,thermocline-cli/tls
# A first look needs a binary soon, not the fastest one.
QUICK := $(TARGET)/quick/thermocline
# Where `make install` puts things; DESTDIR comes before all of it, for packages.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
UNITDIR ?= $(PREFIX)/lib/systemd/system
ZSHDIR ?= $(DATADIR)/zsh/site-functions
# What `make install` installs; another one than its own is not built.
BINARY ?= $(THERMOCLINE)
# Tests and scripts append a line here for what they skip.
SKIPPED := $(TARGET)/skipped
# Crates that need the whole repository, or serve its tests.
UNPUBLISHED := cli py site study sweep testing web
# Sources of the libraries that are not compiled for unit tests: one there would never run.
UNTESTED := $(shell awk '/^\[/ { lib = /^\[lib\]/ } lib && /^test = false/ { f = FILENAME; sub("Cargo.toml", "src", f); print f }' crates/*/Cargo.toml)
# The policies of the demonstration.
POLICIES := thermocline,in-place,greedy,cost-benefit,cat,dac,update-interval,sep-bit,midas,fifo

.PHONY: help demo build install packages dist-c boards pages site docs test none-skipped test-crates test-examples test-systems test-long test-tools systems browser pictures guest mutants lint lint-code lint-scripts deny bench bench-server clean python python-docs test-python

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: ## build quickly, then compare ten policies on a recorded trace and a generated one
	@echo "Building Thermocline (once, for some minutes; Cargo is quiet unless it fails) ..."
	@cargo build --quiet --locked --profile quick --package thermocline-cli --no-default-features
	@echo "A SQLite database on ext4, on a device with 7 % over-provisioning, TRIM ignored:"
	$(QUICK) compare --trace corpus/sqlite-ext4.tct --ops=-trim \
	  --over-provisioning 7% --clock device --policies $(POLICIES) --report $(TARGET)/demo.html
	@echo "The CAT paper's card, 90 % full, 90 % of the writes to 10 % of the data:"
	$(QUICK) compare --device intel-series2plus-24m --fill 90% --workload hot-cold:90/10 \
	  --bytes 192MiB --policies $(POLICIES)
	@echo "The first comparison in pictures, for any browser: $(TARGET)/demo.html"

build: ## the command line with everything in it (TLS, Parquet and Arrow, PDF and PNG): target/release/thermocline
	cargo build --release --locked --package thermocline-cli --features parquet,pdf,tls

install: $(if $(filter $(THERMOCLINE),$(BINARY)),build) ## the binary, man pages, completions and systemd units (PREFIX, DESTDIR)
	rm -rf $(TARGET)/man && $(BINARY) man $(TARGET)/man
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(DATADIR)/man/man1 $(UNITDIR) \
	  $(DATADIR)/bash-completion/completions $(ZSHDIR) $(DATADIR)/fish/vendor_completions.d)
	install -m 755 $(BINARY) $(DESTDIR)$(BINDIR)/thermocline
	install -m 644 $(TARGET)/man/*.1 $(DESTDIR)$(DATADIR)/man/man1
	$(BINARY) completions bash > $(DESTDIR)$(DATADIR)/bash-completion/completions/thermocline
	$(BINARY) completions zsh > $(DESTDIR)$(ZSHDIR)/_thermocline
	$(BINARY) completions fish > $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/thermocline.fish
	sed 's|/usr/local/bin/|$(BINDIR)/|' contrib/systemd/thermocline@.service > $(DESTDIR)$(UNITDIR)/thermocline@.service
	install -m 644 contrib/systemd/thermocline@.socket $(DESTDIR)$(UNITDIR)

packages: ## static binaries for two processors, a Debian package, an image for containers, an SBOM and checksums, target/dist
	contrib/static.sh
	contrib/deb.sh
	contrib/image.sh || [ $$? -eq 77 ]
	contrib/sbom.sh
	cd $(TARGET)/dist && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum > $(TARGET)/sums && mv $(TARGET)/sums SHA256SUMS

dist-c: ## the firmware layer for C: headers, static libraries, CMake and pkg-config files in one archive, target/dist
	contrib/dist-c.sh

boards: ## the firmware layer on RP2350, STM32F411, nRF52840 and ESP32-C3: a program for each, with its HAL crate
	embedded/boards.sh

python: ## the Python package, built and installed into .venv (activate it by `. .venv/bin/activate`)
	python/build.sh --release

python-docs: ## the documentation of the Python package, target/python-docs (after `make python`)
	python/docs.sh

pages: build ## every paper's page again, docs/papers (four minutes; THERMOCLINE_TRACES names folders of traces beside the corpus)
	THERMOCLINE_TRACES="$${THERMOCLINE_TRACES:+$$THERMOCLINE_TRACES:}corpus" $(THERMOCLINE) reproduce all --report docs/papers

site: ## the playground, the simulator in a browser, and the documentation: files for any web server, target/site (VERSION, latest)
	crates/web/site.sh

docs: ## only the documentation as a site, to be read without a server: target/docs/index.html
	cargo run --quiet --locked --package thermocline-site -- $(TARGET)/docs

test: export THERMOCLINE_SKIPPED := $(SKIPPED)
# Property tests draw the same cases each time. Another seed looks for others: PROPTEST_RNG_SEED=2 make test
test: export PROPTEST_RNG_SEED ?= 1
# Notes for a second build cost a quarter of the first.
test: export CARGO_INCREMENTAL := 0
test: none-skipped ## every check and every test; the last lines say what was skipped, and why
	@# Packages come from the network while clippy compiles.
	$(MAKE) --jobs=2 test-tools lint-code
	$(MAKE) deny lint-scripts
	cargo test --locked --workspace --features $(FEATURES) --no-run
	@# Each of the three waits for something: for one long test, for a lock of Cargo's, for a browser and QEMU.
	$(MAKE) --jobs=3 test-crates test-examples test-systems
	@if [ -s $(SKIPPED) ]; then echo "passed, but for what was skipped:"; sort -u $(SKIPPED); \
	  else echo "passed; nothing was skipped"; fi

none-skipped:
	mkdir -p $(TARGET) && rm -f $(SKIPPED)

test-crates:
	THERMOCLINE_INSTRUCTIONS=check cargo test --locked --workspace --features $(FEATURES)
	$(TESTED) reproduce all --quick --exact --no-progress --output $(TARGET)/reproduce.txt
	@grep -o 'skipped: .*' $(TARGET)/reproduce.txt | sed 's/^skipped/reproduce/' >> $(SKIPPED) || true

test-examples: test-python
	$(TARGET)/debug/examples/simulate corpus/sqlite-ext4.tct
	rm -f $(TARGET)/store.img && $(TARGET)/debug/examples/store $(TARGET)/store.img
	examples/try.sh
	THERMOCLINE=$(TESTED) examples/readme.sh
	THERMOCLINE=$(TESTED) contrib/try-deb.sh || [ $$? -eq 77 ]
	embedded/run.sh || [ $$? -eq 77 ]
	crates/web/site.sh --check || [ $$? -eq 77 ]

test-python:
	THERMOCLINE=$(TESTED) python/test.sh

test-systems:
	THERMOCLINE=$(TESTED) browser/run.sh || [ $$? -eq 77 ]
	THERMOCLINE=$(TESTED) systems/run.sh || [ $$? -eq 77 ]
	THERMOCLINE=$(TESTED) guest/run.sh || [ $$? -eq 77 ]

test-long: test-tools ## the same tests with more cases: crashes, fuzzing and models for an hour
	THERMOCLINE_CRASH_SECONDS=1200 THERMOCLINE_FUZZ_SECONDS=300 THERMOCLINE_FORGED=3000 PROPTEST_CASES=4096 \
	  cargo test --locked --workspace --features $(FEATURES)
	THERMOCLINE_FUZZ_SECONDS=300 fuzz/run.sh || [ $$? -eq 77 ]

test-tools: ## the Debian packages and the kernel that tests need, where missing (as root or with sudo)
	systems/install.sh python3-venv valgrind ntfs-3g $$(systems/run.sh --packages) $$(guest/run.sh --packages) $$(browser/run.sh --packages) \
	  $$(embedded/run.sh --packages) $$(contrib/try-deb.sh --packages)
	guest/run.sh --kernel || [ $$? -eq 77 ]

systems: build ## the server among real file systems, crashes, a full disk and clients (as root; two minutes)
	THERMOCLINE=$(THERMOCLINE) systems/run.sh

lint: lint-code deny lint-scripts ## formatting, clippy, documentation, dependencies, scripts of pages; warnings are errors

lint-code:
	cargo fmt --all --check
	! grep -rn '#\[test\]' $(UNTESTED)
	cargo clippy --locked --workspace --all-targets --features $(FEATURES) -- --deny warnings
	cargo clippy --locked --package thermocline-trace --no-default-features -- --deny warnings
	RUSTDOCFLAGS='--deny warnings' cargo doc --locked --workspace --features $(FEATURES) --no-deps --document-private-items
	cargo package --quiet --locked --workspace $(patsubst %,--exclude thermocline-%,$(UNPUBLISHED)) --no-verify --allow-dirty

lint-scripts:
	browser/lint.sh

deny: ## licences and sources of the dependencies (deny.toml)
	contrib/deny.sh

browser: build site ## reports, dashboard, replay and the playground in a real browser (a minute)
	THERMOCLINE=$(THERMOCLINE) browser/run.sh

pictures: build ## the pictures of the documentation, docs/pictures (needs Chromium and Python)
	THERMOCLINE=$(THERMOCLINE) browser/run.sh --pictures

mutants: ## faults put into a copy of the tree, one at a time: a test must notice each (mutants/README.md; minutes)
	mutants/run.py

guest: build ## tests in a machine of QEMU's: raw NAND, file systems, the kernel's NBD client
	THERMOCLINE=$(THERMOCLINE) guest/run.sh

bench: ## page programs and trace rows per second, beside the machine's own speed
	cargo bench --locked --package thermocline-sim --bench page_programs
	cargo bench --locked --package thermocline-trace --bench parse

bench-server: build ## the server beside nbdkit and qemu-nbd, in memory and on a disk (fifteen minutes; systems/bench.sh --quick: four)
	THERMOCLINE=$(THERMOCLINE) systems/bench.sh

clean: ## remove what was built
	cargo clean
