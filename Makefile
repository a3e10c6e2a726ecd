# Everything that a developer or a machine does with this repository. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CONFIGURATION ?= debug
# The checks of overlapping accesses at run time cost a seventh of the processor time of a push. Debug builds, and with
# them all tests, have them. Linking with optimisation across the modules saves another twelfth of its instructions. Swift's
# library is linked in, so that the program runs where there is no Swift.
FLAGS_release := -Xswiftc -enforce-exclusivity=unchecked --experimental-lto-mode full --static-swift-stdlib
SOURCES := Sources Tests Package.swift
CLANG = $(dir $(realpath $(shell command -v swift)))clang

SECONDS ?= 60
MINUTES ?= 5
SEED ?= 1
SEEDS ?=
TARGET ?=
ROWS ?=

.PHONY: help deps build release package test test-unit test-tsan test-asan test-package fuzz simulate torture bench growth costs figures \
	format format-check demo provider-api docs diagrams screenshot clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## Install the Debian and Python packages that are missing
	@.ci/dependencies

build: ## Build everything (CONFIGURATION=release for the fast one)
	swift build --configuration $(CONFIGURATION) $(FLAGS_$(CONFIGURATION))

# What is measured and what is installed.
release:
	swift build --configuration release $(FLAGS_release)

package: release ## Make a Debian package, for machines that have no Swift
	deploy/package.sh

# The tests take minutes; one that hangs fails, and the last line says which it was. What failed is said again at the
# end: among thousands of lines nobody finds it, and some keep the last lines only.
RUN_TESTS := timeout --foreground --signal INT --kill-after 30 2400 stdbuf -oL swift test --skip-build --disable-xctest
SAY_FAILURES = { echo; grep -m 1 -A 12 "recorded an issue" $(1) | cut -c 1-300; \
	echo "What failed (all of it is in $(1)):"; grep "recorded an issue" $(1) | cut -c 1-200 | head -n 15; exit 1; }
# Not all tests begin at once: on two processors, each step of one would wait for those of a thousand others.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 8

test: deps ## Build everything and run every test
	swift build --build-tests
	$(RUN_TESTS) | tee .build/tests.txt || $(call SAY_FAILURES,.build/tests.txt)
	FUZZ_SEED=1 Tests/Fuzz/run.sh 10

# They are built from the objects of all tests, into a program beside theirs.
test-unit: export POSTRIDER_UNIT_TESTS := 1
test-unit: deps ## Build and run the tests that use nothing of the kernel (Tests/Unit), in seconds, and say how many
	@began=$$(date +%s); swift build --build-tests; built=$$(date +%s); \
		$(RUN_TESTS) > .build/unit-tests.txt 2>&1 || $(call SAY_FAILURES,.build/unit-tests.txt); \
		tail -n 1 .build/unit-tests.txt; \
		echo "built in $$((built - began)) s, run in $$(($$(date +%s) - built)) s"

# TidyTests read files, and the simulation is one thread: neither can have a race. What is linked in tells the sanitizer
# about locks that it cannot see; its file says how. Reports go to files: a program may have lost its terminal, or be one
# whose end no test looks at. One report fails all.
test-tsan: deps ## Run every test under ThreadSanitizer
	mkdir -p .build/thread
	$(CLANG) -c -O1 -D_GNU_SOURCE -o .build/thread/mutex.o Tests/Sanitizers/mutex.c
	swift build --build-tests --scratch-path .build/thread --sanitize thread -Xlinker "$$PWD/.build/thread/mutex.o"
	rm -f .build/thread/report.*
	TSAN_OPTIONS="halt_on_error=1 log_path=$$PWD/.build/thread/report" \
		swift test --skip-build --disable-xctest --skip "TidyTests|SimulationTests" --scratch-path .build/thread --sanitize thread; \
		ended=$$?; ! cat .build/thread/report.* 2> /dev/null && exit $$ended

# Leaks are not looked for: the test runner itself has some.
test-asan: deps ## Run every test under AddressSanitizer
	swift build --build-tests --scratch-path .build/address --sanitize address
	ASAN_OPTIONS=detect_leaks=0:suppressions=$$PWD/Tests/Sanitizers/address.txt \
		swift test --skip-build --disable-xctest --skip TidyTests --scratch-path .build/address --sanitize address

test-package: release ## Install the package into a fresh Debian, and try its services there under systemd (as root)
	Tests/Package/run.sh

# The tests feed the kept inputs (Tests/Fuzz/Corpora); this makes new ones.
fuzz: ## Feed bytes to what takes them from strangers (SECONDS=60 for each TARGET, or for one)
	Tests/Fuzz/run.sh $(SECONDS) $(TARGET)

simulate: deps ## Run the relay under seeds (SEEDS=1..1000 or SEEDS=1000, else MINUTES=5 from seed 1 on)
	Tests/Simulation/run.sh "$(SEEDS)" $(MINUTES)

torture: deps ## Have disks fail and relays die (MINUTES=5, SEED=1), and say what was lost
	@.ci/dependencies torture
	swift build
	.build/venv/bin/python Tests/Torture/torture.py "$$(swift build --show-bin-path)" --minutes $(MINUTES) --seed $(SEED)

bench: release ## Measure the relay beside what is installed of its peers (ROWS="accepts durable" for some)
	python3 Tests/Benchmark/bench.py "$$(swift build --configuration release --show-bin-path)" $(ROWS)

growth: release ## Measure what a push costs with 100 to 19,000 devices and 1000 to 1,000,000 notifications that wait
	python3 Tests/Benchmark/growth.py "$$(swift build --configuration release --show-bin-path)"

costs: release ## Measure what one device, one push and one provider cost, and derive what a larger machine holds
	python3 Tests/Benchmark/costs.py "$$(swift build --configuration release --show-bin-path)"

# An hour or so, on a machine that does nothing else.
figures: release ## Measure all of it, and write the tables of benchmarks.md, costs.md and scaling.md anew
	programs="$$(swift build --configuration release --show-bin-path)" && \
		python3 Tests/Benchmark/bench.py "$$programs" --document docs/reference/benchmarks.md --plot docs/images/benchmarks.svg && \
		python3 Tests/Benchmark/growth.py "$$programs" --document docs/reference/costs.md --plot docs/images/growth.svg && \
		python3 Tests/Benchmark/costs.py "$$programs" --document docs/reference/costs.md --derived docs/operate/scaling.md

format: ## Format every Swift file
	swift format --in-place --parallel --recursive $(SOURCES)

format-check: ## Say which Swift files are not formatted
	swift format lint --strict --parallel --recursive $(SOURCES)

demo: deps build ## Show what reaches an app: pushes, its own notifications, responses, news of the device
	deploy/demo.sh

provider-api: ## Write the cases of docs/reference/provider-api.md anew, from the table that the tests run
	POSTRIDER_WRITE_DOCUMENTS=1 swift test --disable-xctest --filter ProviderContractTests/document

docs: deps ## Build the documentation of PostriderKit with DocC, in .build/documentation; warnings are errors
	swift build --target PostriderKit
	.ci/documentation

diagrams: ## Draw the pictures of the documents anew, from docs/diagrams, Package.swift and the table of benchmarks
	@.ci/dependencies diagrams
	python3 docs/diagrams/draw.py

screenshot: deps ## Make the picture of docs/reference/alerts.md anew: an alert on a virtual screen
	POSTRIDER_WRITE_DOCUMENTS=1 swift test --disable-xctest --filter DesktopTests

clean: ## Remove everything that was built
	rm -rf .build
