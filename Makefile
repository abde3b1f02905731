# Everything that a developer types. "make" alone lists the targets.

# The version of Kafka that "make demo" and "make setup" make ready, and those that the tests run against.
KAFKA ?= 4.3.0
KAFKA_TEST_VERSIONS ?= 3.9.2 4.0.2 4.3.0
# More for the comparison of clients, such as --plans plans/broker-kill.toml --kafka 4.3.0 --repeat 1.
CONFORMANCE_FLAGS ?=
PLAN ?= plans/rolling-restart.toml
CARGO_TEST_FLAGS ?=
# The browser that the tests of report.html drive: 1 finds one, 0 leaves them out, else the program.
CHAOS_TEST_BROWSER ?= 1
# Where "make bench" writes, and what its paired runs and its many producers get beside their defaults, e.g. --rounds 1.
BENCH_OUT ?= results/bench
BENCH_PAIRED_FLAGS ?=
BENCH_MANY_FLAGS ?=
# More for the rounds of "make torture", such as --seed 7 --rounds 200.
TORTURE_FLAGS ?=
# Shorter than criterion's own: medians of these benchmarks change little after a second.
CRITERION_FLAGS ?= --warm-up-time 1 --measurement-time 3 --sample-size 50 --noplot
# What is linted and tested; CARGO_FEATURES= leaves the C client and zstd out, and with them the need for a C++ compiler and make.
CARGO_FEATURES ?= --all-features
FUZZ_SECONDS ?= 60

# A fresh shell may not have the toolchain on its path yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
# On a build machine the lock file must be right as committed.
LOCKED := $(if $(CI),--locked)
TARGET := $(or $(CARGO_TARGET_DIR),target)
CHAOS := $(TARGET)/release/chaos
BENCH := $(TARGET)/release/examples/bench
# Runs of "make results" per setting, and where they are kept: the same command goes on there after an interruption.
RESULTS_REPEAT ?= 6
RESULTS_WORK ?= $(TARGET)/results

BASH_SCRIPTS := .ci/run scripts/setup images/kafka/build clients/java/build
SH_SCRIPTS := clients/java/run $(addprefix images/kafka/root/, etc/kafka/docker/run \
  $(addprefix opt/kafka/bin/, kafka-run-class.sh log-options make-class-archive tool))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\n  KAFKA=%s  KAFKA_TEST_VERSIONS="%s"  PLAN=%s\n' '$(KAFKA)' '$(KAFKA_TEST_VERSIONS)' '$(PLAN)'

.PHONY: demo
demo: setup build ## set up, build, and run a plan on a real cluster
	$(CHAOS) run $(PLAN) --kafka $(KAFKA)

.PHONY: test
test: c-toolchain ## all tests, those on real brokers included
	scripts/setup all $(KAFKA_TEST_VERSIONS)
	scripts/setup java $(KAFKA_TEST_VERSIONS)
	-scripts/setup clock
	$(if $(filter-out 0,$(CHAOS_TEST_BROWSER)),CHAOS_TEST_BROWSER='$(CHAOS_TEST_BROWSER)' scripts/setup browser)
	CHAOS_TEST_BROKERS=1 CHAOS_TEST_KAFKA_VERSIONS='$(KAFKA_TEST_VERSIONS)' CHAOS_TEST_BROWSER='$(CHAOS_TEST_BROWSER)' \
	  cargo test $(LOCKED) $(CARGO_FEATURES) $(CARGO_TEST_FLAGS)

.PHONY: blind
blind: c-toolchain ## rounds that stick one layer unseen: 20 with and 10 without, on real brokers (22 minutes)
	scripts/setup all $(KAFKA)
	CHAOS_TEST_BROKERS=1 CHAOS_BLIND_ROUNDS=20 CHAOS_BLIND_ROUNDS_OF_NOTHING=10 \
	  cargo test $(LOCKED) $(CARGO_FEATURES) --test it blind -- --nocapture

.PHONY: torture
torture: setup ## what chaos itself survives: killed, stopped, frozen and starved on real brokers; rewrites results/torture (25 minutes)
	cargo build --release $(LOCKED) --bin chaos --example torture
	$(TARGET)/release/examples/torture --chaos $(CHAOS) --kafka $(KAFKA) --out results/torture $(TORTURE_FLAGS)

.PHONY: quick
quick: c-toolchain ## only the tests that need no container engine
	cargo test $(LOCKED) $(CARGO_FEATURES) $(CARGO_TEST_FLAGS)

.PHONY: build
build: ## the program, optimised
	cargo build --release $(LOCKED)

.PHONY: bench
bench: setup c-toolchain java ## all benchmarks, with other producers on a real cluster; rewrites results/bench (25 minutes)
	cargo build --release $(LOCKED) --all-features --bin chaos --example bench
	$(BENCH) about --command 'make bench' --out $(BENCH_OUT)
	$(BENCH) paired --kafka $(KAFKA) --out $(BENCH_OUT) $(BENCH_PAIRED_FLAGS)
	$(BENCH) many --kafka $(KAFKA) --out $(BENCH_OUT) $(BENCH_MANY_FLAGS)
	rm -rf $(TARGET)/criterion
	cargo bench $(LOCKED) --all-features --bench snapshot_swap -- --out $(abspath $(BENCH_OUT))
	cargo bench $(LOCKED) --all-features --bench send_path --bench record_batch --bench metadata_merge --bench recorder -- \
	  $(CRITERION_FLAGS)
	$(BENCH) micro --criterion $(TARGET)/criterion --out $(BENCH_OUT)
	$(BENCH) page --out $(BENCH_OUT)

.PHONY: conformance
conformance: c-toolchain ## our producer against Java's and librdkafka, on real brokers: hours
	scripts/setup all $(KAFKA_TEST_VERSIONS)
	scripts/setup java $(KAFKA_TEST_VERSIONS)
	cargo build --release $(LOCKED) --all-features --bin chaos --example conformance
	$(dir $(CHAOS))examples/conformance --chaos $(CHAOS) $(CONFORMANCE_FLAGS)

# Values of metadata.max.age.ms, and lengths that go with them: the ramp is as long as the age, warm-up and recovery a little longer.
AGES := 2s,5s,10s,30s,60s
AROUND_AGES := 5s,8s,13s,33s,63s
AGE := producers.*.config."metadata.max.age.ms"
VARY_AGE := --vary '$(AGE)=$(AGES)' --along 'producers.*.ramp=$(AGES)' --along 'phases.warmup=$(AROUND_AGES)'

.PHONY: results
results: setup browser ## what metadata.max.age.ms decides, and a roll under two ages; rewrites results/max-age and results/rolling-restart (2 hours)
	cargo build --release $(LOCKED) --bin chaos --example results
	$(CHAOS) compare plans/max-age-growth.toml --kafka $(KAFKA) --repeat $(RESULTS_REPEAT) --out $(RESULTS_WORK)/growth \
	  $(VARY_AGE) --along 'phases.recovery=$(AROUND_AGES)'
	$(CHAOS) compare plans/max-age-pause.toml --kafka $(KAFKA) --repeat $(RESULTS_REPEAT) --out $(RESULTS_WORK)/pause $(VARY_AGE)
	$(CHAOS) compare plans/rolling-restart.toml --kafka $(KAFKA) --repeat $(RESULTS_REPEAT) --out $(RESULTS_WORK)/roll --vary '$(AGE)=5s,600s'
# What the machine was too busy for, once more.
	for comparison in growth pause roll; do $(CHAOS) compare --resume $(RESULTS_WORK)/$$comparison --again || exit; done
	$(TARGET)/release/examples/results max-age --growth $(RESULTS_WORK)/growth --pause $(RESULTS_WORK)/pause
	$(TARGET)/release/examples/results rolling-restart --compared $(RESULTS_WORK)/roll
	CHAOS_TEST_BROWSER='$(or $(filter-out 0,$(CHAOS_TEST_BROWSER)),1)' $(TARGET)/release/examples/results \
	  picture results/rolling-restart/report.html results/rolling-restart/report.png

# As cargo-fuzz does it, with the stable compiler; --target keeps build scripts as they are.
FUZZ_FLAGS := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-, level=4 inline-8bit-counters pc-table trace-compares) \
  -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1

.PHONY: fuzz
fuzz: c-toolchain ## whatever finds new paths through the wire's decoders, for FUZZ_SECONDS
	RUSTFLAGS='$(FUZZ_FLAGS)' cargo run --release $(LOCKED) --manifest-path fuzz/Cargo.toml --target-dir $(TARGET)/fuzz \
	  --target $$(rustc -vV | sed -n 's/^host: //p') --bin wire -- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -malloc_limit_mb=256

.PHONY: lint
lint: c-toolchain ## format, clippy, documentation, licences, shell scripts
	cargo fmt --check
	cargo clippy $(LOCKED) --all-targets -- -D warnings
	cargo clippy $(LOCKED) $(CARGO_FEATURES) --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc $(LOCKED) $(CARGO_FEATURES) --no-deps --quiet
	cargo test $(LOCKED) $(CARGO_FEATURES) --quiet --test it licences
	@for script in $(BASH_SCRIPTS); do bash -n $$script || exit 1; done
	@for script in $(SH_SCRIPTS); do sh -n $$script || exit 1; done
	@if command -v shellcheck >/dev/null; then shellcheck $(BASH_SCRIPTS) $(SH_SCRIPTS); \
	  else echo 'lint: no shellcheck here, the scripts were only parsed'; fi

.PHONY: librdkafka
librdkafka: c-toolchain ## the program, optimised, with the C client as an engine
	cargo build --release $(LOCKED) --features librdkafka

.PHONY: browser
browser:
	@scripts/setup browser

# Only asked for where librdkafka is built.
.PHONY: c-toolchain
c-toolchain:
	@$(if $(or $(CARGO_FEATURES),$(filter librdkafka bench conformance fuzz,$(MAKECMDGOALS))),scripts/setup librdkafka)

.PHONY: setup
setup: ## toolchain, container engine, the image of KAFKA
	@scripts/setup all $(KAFKA)

.PHONY: image
image: ## build the image of KAFKA, e.g. make image KAFKA=4.3.0
	@scripts/setup engine
	@images/kafka/build $(KAFKA)

.PHONY: java
java: ## build the Java producer program for KAFKA, e.g. make java KAFKA=4.3.0
	@scripts/setup java $(KAFKA)

.PHONY: clean
clean: build ## remove the containers and networks that runs have left
	$(CHAOS) clean
