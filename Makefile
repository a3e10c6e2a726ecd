# All tasks of developers and of continuous integration. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CONFIGURATION ?= debug
# A release build omits the run-time checks of overlapping accesses, which cost a seventh of a push's processor time; debug
# builds, and so all tests, have them. Optimisation across modules at link time saves another twelfth of a push's
# instructions. Swift's library is linked statically, so that the program needs no installed Swift. Packed relocations and no table
# of exported symbols make the program a tenth smaller; `make test-package` checks its size.
FLAGS_release := -Xswiftc -enforce-exclusivity=unchecked --experimental-lto-mode full --static-swift-stdlib \
	-Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-export-dynamic \
	-Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. -Xlinker --build-id=none
SOURCES := Sources Tests Package.swift
CLANG = $(dir $(realpath $(shell command -v swift)))clang

SECONDS ?= 60
MINUTES ?= 5
SEED ?= 1
SEEDS ?=
TARGET ?=
ROWS ?=

.PHONY: help deps build build-release package release release-check container test test-unit test-tsan test-asan test-package test-container test-unifiedpush fuzz simulate torture torture-cluster torture-patroni bench growth growth-cluster browsers costs figures \
	client-behaviour format format-check demo provider-api docs diagrams screenshot screenshots-console clean

help: ## List all tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## Install the Debian and Python packages that are missing
	@.ci/dependencies

build: ## Build everything (CONFIGURATION=release for an optimised build)
	swift build --configuration $(CONFIGURATION) $(FLAGS_$(CONFIGURATION))

# The release build, which is measured and installed: `make build CONFIGURATION=release` by another name.
build-release:
	swift build --configuration release $(FLAGS_release)

package: build-release ## Make the Debian packages, for machines that have no Swift
	deploy/package.sh

release: build-release ## Make all files of a release in .build/dist: packages, tarball, image, SBOM, checksums
	deploy/release/make.sh

release-check: ## Make the release twice from this commit, in different folders, and compare the bytes
	deploy/release/check.sh

container: build-release ## Make a container image, localhost/postrider, with what `make package` packs
	@.ci/dependencies container
	deploy/container/build.sh

# The number of parallel tests is limited: otherwise each step of a test would wait for a thousand others.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 8

test: deps ## Build everything and run every test
	swift build --build-tests
	Tests/run.sh

# The unit tests use the object files of all tests, but have their own test program.
test-unit: export POSTRIDER_UNIT_TESTS := 1
test-unit: deps ## Build and run the tests without the kernel (Tests/Unit), in seconds, and print their number
	@began=$$(date +%s); swift build --build-tests; built=$$(date +%s); \
		Tests/run.sh unit; \
		echo "built in $$((built - began)) s, run in $$(($$(date +%s) - built)) s"

# TidyTests only read files, and simulations have one thread: neither can have a race. A linked file tells the sanitizer
# about locks that it cannot see. Reports go to files, because a program may have no terminal, or no test may check how it
# ends. A single report makes the run fail.
test-tsan: deps ## Run every test under ThreadSanitizer
	mkdir -p .build/thread
	$(CLANG) -c -O1 -D_GNU_SOURCE -o .build/thread/mutex.o Tests/Sanitizers/mutex.c
	swift build --build-tests --scratch-path .build/thread --sanitize thread -Xlinker "$$PWD/.build/thread/mutex.o"
	rm -f .build/thread/report.*
	TSAN_OPTIONS="halt_on_error=1 log_path=$$PWD/.build/thread/report" \
		swift test --skip-build --disable-xctest --skip "TidyTests|SimulationTests|NodesWorldTests|ClusterWorldTests" --scratch-path .build/thread --sanitize thread; \
		ended=$$?; ! cat .build/thread/report.* 2> /dev/null && exit $$ended

# Leaks are not checked, because the test runner itself has some.
test-asan: deps ## Run every test under AddressSanitizer
	swift build --build-tests --scratch-path .build/address --sanitize address
	ASAN_OPTIONS=detect_leaks=0 \
		swift test --skip-build --disable-xctest --skip TidyTests --scratch-path .build/address --sanitize address

test-package: build-release ## Install the packages into a fresh Debian, and try their services there under systemd (as root)
	Tests/Package/run.sh

test-container: container ## Try the container image with podman: dev, serve and the compose file (as root)
	Tests/Container/run.sh

test-unifiedpush: deps ## Try UnifiedPush with KDE's connector library and distributor, from Debian's next release (as root)
	swift build
	Tests/UnifiedPush/run.sh

# The tests use the stored inputs (Tests/Fuzz/Corpora), and make a thousand others of them for each target, the same each
# time. The fuzzer makes new ones, but takes eight minutes to be built.
fuzz: ## Fuzz all code that reads bytes of strangers (SECONDS=60 for each TARGET, or for one)
	Tests/Fuzz/run.sh $(SECONDS) $(TARGET)

simulate: deps ## Simulate the relay with seeds (SEEDS=1..1000 or SEEDS=1000, else MINUTES=5 from seed 1 on)
	Tests/Simulation/run.sh "$(SEEDS)" $(MINUTES)

torture: deps ## Let disks fail and kill relays (MINUTES=5, SEED=1), and report losses
	@.ci/dependencies torture
	swift build
	.build/venv/bin/python Tests/Torture/torture.py "$$(swift build --show-bin-path)" --minutes $(MINUTES) --seed $(SEED)

torture-cluster: deps ## Kill, pause, drain and cut off the nodes of a cluster by turns (MINUTES=5, SEED=1), and report losses (cuts as root)
	swift build --product postrider
	Tests/Torture/cluster.sh "$$(swift build --show-bin-path)/postrider" .build/venv/bin/python $(MINUTES) $(SEED)

torture-patroni: deps ## Kill the primary of a cluster's database under Patroni, and report losses (two minutes)
	@.ci/dependencies patroni
	swift build --product postrider
	python3 Tests/Torture/patroni.py "$$(swift build --show-bin-path)/postrider"

client-behaviour: deps ## Measure what stock clients do under each rule, and write docs/reference/client-behaviour.md again
	@.ci/dependencies clients
	swift build
	.build/venv/bin/python Tests/ClientBehaviour/measure.py "$$(swift build --show-bin-path)" \
		--document docs/reference/client-behaviour.md

bench: build-release ## Measure the relay and its installed peers (ROWS="accepts durable" for some)
	python3 Tests/Benchmark/bench.py "$$(swift build --configuration release --show-bin-path)" $(ROWS)

growth: build-release ## Measure the cost of a push with 100 to 19,000 devices and 1000 to 1,000,000 stored notifications
	python3 Tests/Benchmark/growth.py "$$(swift build --configuration release --show-bin-path)"

growth-cluster: build-release ## Measure a push with 1 to 4 nodes, and take-overs of 10,000 and 100,000 devices
	python3 Tests/Benchmark/cluster_growth.py "$$(swift build --configuration release --show-bin-path)"

browsers: build-release ## Measure the memory of 15,000 idle browsers beside as many idle devices
	python3 Tests/Benchmark/browsers.py "$$(swift build --configuration release --show-bin-path)"

costs: build-release ## Measure the cost of one device, push and provider, and derive the capacity of a larger machine
	python3 Tests/Benchmark/costs.py "$$(swift build --configuration release --show-bin-path)"

# This takes about an hour, on a machine without other work.
figures: build-release ## Run all measurements, and write the tables of benchmarks.md, costs.md and scaling.md again
	programs="$$(swift build --configuration release --show-bin-path)" && \
		python3 Tests/Benchmark/bench.py "$$programs" --document docs/reference/benchmarks.md --plot docs/images/benchmarks.svg && \
		python3 Tests/Benchmark/growth.py "$$programs" --document docs/reference/costs.md --plot docs/images/growth.svg && \
		python3 Tests/Benchmark/costs.py "$$programs" --document docs/reference/costs.md --derived docs/operate/scaling.md

format: ## Format every Swift file
	swift format --in-place --parallel --recursive $(SOURCES)

format-check: ## List Swift files that are not formatted
	swift format lint --strict --parallel --recursive $(SOURCES)

demo: deps build ## Show the events of an app: pushes, local notifications, responses, changes of the device
	deploy/demo.sh

provider-api: ## Write the cases of docs/reference/provider-api*.md again, from the table of their tests
	POSTRIDER_WRITE_DOCUMENTS=1 swift test --disable-xctest --filter ProviderContractTests/document

web-push: ## Write the cases of docs/reference/web-push.md again, from the table of their tests
	POSTRIDER_WRITE_DOCUMENTS=1 swift test --disable-xctest --filter WebPushTableTests/document

docs: deps ## Build the documentation of PostriderKit and PostriderTesting with DocC, in .build/documentation; warnings are errors
	swift build --target PostriderKit
	swift build --target PostriderTesting
	.ci/documentation

diagrams: ## Draw the pictures of the documents again, from docs/diagrams, Package.swift and the benchmarks
	@.ci/dependencies diagrams
	python3 docs/diagrams/draw.py

screenshot: deps ## Make the picture of docs/reference/alerts.md again: an alert on a virtual screen
	POSTRIDER_WRITE_DOCUMENTS=1 swift test --disable-xctest --filter DesktopTests

screenshots-console: deps ## Make the pictures of docs/operate/console.md again: a browser shows a relay with traffic, for 3 minutes
	POSTRIDER_WRITE_DOCUMENTS=1 swift test --disable-xctest --filter ConsoleTests/pictures

clean: ## Remove everything that was built
	rm -rf .build
