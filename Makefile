# SPDX-License-Identifier: Apache-2.0
# Everything that is typed here works in a fresh clone: `make demo` and `make test` install and build what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/release
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
FUZZ_JOBS ?= 1
FUZZERS ?=
ATHERIS := 3.0.0
RUNS ?= 20
SEED ?= 1
FIRST ?= 0
CHAOS_JOBS ?= 1
STRANGERS_S ?= 60
PYTEST_ARGS ?=
# Wheels are made for these and tried with each: this one, and those of `make pythons`.
PYTHONS ?= $(BIN)/python $(wildcard build/pythons/3.*/usr/bin/python3.[0-9][0-9])
# Tests at a time. Twice as many as processors: those of Python wait for processes of their own, those of C++ for time-outs of links and runs.
TEST_JOBS ?= 2
CTEST_JOBS ?= $(shell expr 2 \* $(TEST_JOBS))
PYTEST_JOBS ?= $(shell expr 2 \* $(TEST_JOBS))
# In the order of tests/seconds.json: the longest file first. PYTEST_ARGS=--store-seconds writes it.
PYTEST = -m pytest --numprocesses $(PYTEST_JOBS) --dist loadfile --no-loadscope-reorder
# Programs of tests/, and others that take seconds: all are part of `make test`, the first alone of `make test-system`.
SYSTEM_TESTS := ^(chain|allocation|slow_disk|nth_failure|device_memory|card_chain|net)$$
LONG_TESTS := ^(link|opencl_kernels|opencl_unit|fpga_unit|unit_card|sink)$$
SPACE := $(subst ,, )
TSAN_TESTS ?= link pcie scheduler unit receiver
AARCH64_LIBRARIES := receiver emulator dataset kernels sink
AARCH64_TESTS ?= core wire kernels jungfrau bragg_count csr total_counts bitshuffle_lz4
export FUZZ_JOBS
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# A clone in another folder finds what this one compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# Pip is kept quiet about itself.
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# What the native build is made of; `wildcard` leaves out what git still knows and the tree no longer has.
SOURCES := $(wildcard $(shell git ls-files -co --exclude-standard -- 'src/*.cpp' 'src/*.hpp' 'src/*.cu' 'src/*.cuh' 'src/*.cl' \
  'tests/*.cpp' 'tests/*.hpp' '*CMakeLists.txt' cmake schema 2>/dev/null))

.PHONY: build packages peers demo test-demo test test-quick test-system test-cpp test-python test-beamline test-chaos test-nth mutants test-sim test-strangers test-vm test-slurm test-rtl synth pythons wheel test-wheel changelog release device-bundle test-device bench lint docs tidy asan tsan build-sanitizers sanitizers aarch64 fuzz gallery reference stub lock clean distclean help

build: build/.installed  ## the command .venv/bin/rashpa, the C++ tests and the benchmarks

# Packages and requirements come in layers: `make demo` needs the first one alone.
build/.packages-run: packages-run.txt tools/install_packages.sh
	@tools/install_packages.sh packages-run.txt
	@mkdir -p build && touch $@

build/.packages: packages-run.txt packages-test.txt packages-lint.txt tools/install_packages.sh
	@tools/install_packages.sh packages-run.txt packages-test.txt packages-lint.txt
	@mkdir -p build && touch $@ build/.packages-run

packages: build/.packages  ## the system packages of packages-run.txt, packages-test.txt and packages-lint.txt that are missing

PIP_INSTALL := $(BIN)/python -m pip install --quiet --require-hashes
NEW_VENV = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=…")' \
  && { test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); }

# Wheels alone: nothing that a run needs is compiled.
$(VENV)/.run: requirements/run.lock | build/.packages-run
	$(NEW_VENV)
	$(PIP_INSTALL) --only-binary :all: -r requirements/run.lock
	touch $@

$(VENV)/.requirements: requirements/run.lock requirements/test.lock requirements/lint.lock | build/.packages
	$(NEW_VENV)
	$(PIP_INSTALL) -r requirements/run.lock -r requirements/test.lock -r requirements/lint.lock
	touch $@ $(VENV)/.run

# Where PYTHONDONTWRITEBYTECODE is set, every process would compile the package anew: 0.2 s of a small run.
COMPILE_PYTHON := $(BIN)/python -m compileall -q python/rashpa

# The native module and the command rashpa: all that a run needs.
build/.package: $(VENV)/.requirements build/.packages pyproject.toml python/rashpa/__init__.py $(SOURCES)
	$(BIN)/python -m pip install --verbose --no-build-isolation --no-deps --no-index --editable . \
	  --config-settings=build-dir=$(BUILD) --config-settings=cmake.args=--preset=package
	$(COMPILE_PYTHON)
	touch $@

# What only `make build` makes: the simulated card and benchmarks of the whole.
CARD_SOURCES := $(wildcard $(shell git ls-files -co --exclude-standard -- 'rtl/*.sv' 'rtl/*.hpp' 'sim/*' 'bench/*.cpp' 'bench/*.hpp' 'bench/CMakeLists.txt' 2>/dev/null))

# The tests, the benchmarks and the simulated card, in the same build folder.
build/.installed: build/.package $(CARD_SOURCES)
	cmake --build $(BUILD)
	touch $@

# The same command from fewer parts (docs/decisions/0110): CUDA where there is a GPU, no other component, no tests.
DEMO_COMPONENTS ?= $(if $(shell nvidia-smi -L 2>/dev/null),cuda,none)
build/.demo: $(VENV)/.run build/.packages-run pyproject.toml python/rashpa/__init__.py $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --no-index --editable . \
	  --config-settings=build-dir=build/demo --config-settings=cmake.args=--preset=demo \
	  --config-settings=cmake.define.RASHPA_COMPONENTS=$(DEMO_COMPONENTS)
	$(COMPILE_PYTHON)
	@$(BIN)/python -m rashpa.data.base.components
	touch $@

# A clone that has the whole build uses it.
demo: $(if $(wildcard build/.package),build/.package,build/.demo)  ## a JUNGFRAU 1M in software, over RoCEv2 into a receiver: report in out/demo
	$(BIN)/rashpa run examples/01_first_light.toml --output out/demo

test-demo:  ## `make demo` of the last commit as a new user types it: in a clone, in an empty folder
	tools/test_demo.sh

test: test-cpp test-python test-beamline  ## all tests

test-cpp: build
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel $(CTEST_JOBS)

test-quick: build  ## in 90 s on two cores: what neither lets a whole run pass nor takes long by itself
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel $(CTEST_JOBS) -E '$(SYSTEM_TESTS)|$(LONG_TESTS)'
	$(BIN)/python $(PYTEST) -m 'not whole' python/tests $(PYTEST_ARGS)

test-system: build build/.browser  ## whole chains: the tests of tests/
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --parallel $(CTEST_JOBS) -R '$(SYSTEM_TESTS)'
	$(BIN)/python $(PYTEST) tests $(PYTEST_ARGS)

# Where it cannot be had, the tests that need it are skipped.
build/.browser: packages-browser.txt tools/install_packages.sh | build/.packages
	-@tools/install_packages.sh packages-browser.txt
	@touch $@

test-python: build build/.browser
	$(BIN)/python $(PYTEST) $(PYTEST_ARGS)

# Apart from .venv, whose packages it sees: three control systems bring more packages than all the rest.
build/beamline/.installed: requirements/beamline.lock build/.package
	test -x build/beamline/bin/python || $(PYTHON) -m venv build/beamline
	build/beamline/bin/python -m pip install --quiet --require-hashes -r requirements/beamline.lock
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  > $$(build/beamline/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/rashpa_venv.pth
	touch $@

test-beamline: build/beamline/.installed  ## Bluesky, Tango and EPICS, in build/beamline
	build/beamline/bin/python $(PYTEST) python/tests/beamline $(PYTEST_ARGS)

test-chaos: build  ## RUNS random runs from SEED (the first is FIRST), disturbed and checked; failed ones in out/chaos
	$(BIN)/python -m tests.chaos --runs $(RUNS) --seed $(SEED) --first $(FIRST) --jobs $(CHAOS_JOBS) $(if $(CHAOS_KIND),--kind $(CHAOS_KIND))

test-nth: build  ## every call for a thread, memory, a file, a name, a sync or a mapping of a run fails once, in a process of its own
	RASHPA_NTH=all $(BUILD)/tests/chain/rashpa_nth_failure_test

test-strangers: build  ## each door under STRANGERS_S seconds of hostile traffic during a run at 500 Hz
	RASHPA_STRANGERS_S=$(STRANGERS_S) $(BIN)/python -m pytest -s tests/strangers python/tests/node/test_strangers.py $(PYTEST_ARGS)

peers: build  ## foreign programs from sources in PEERS (../peers), and tests of both ways; says what is absent
	JOBS=$(JOBS) tools/build_peers.sh $(or $(PEERS),../peers) build/peers
	RASHPA_PEERS=build/peers $(BIN)/python -m pytest tests/peers $(PYTEST_ARGS)

test-vm: build  ## the links against Soft-RoCE and an IOMMU, in virtual machines; packages of packages-vm.txt
	@tools/install_packages.sh packages-vm.txt
	$(BIN)/python -m pytest -m vm tests/vm $(PYTEST_ARGS)

mutants: build/.packages  ## one change at a time of the core and the manager: tests must find it (hours; COUNT changes a file, FILES)
	cmake --build $(BUILD) --target rashpa_core_test rashpa_link_test rashpa_scheduler_test rashpa_sink_test rashpa_stream2_test rashpa_transfer_test rashpa_simulation
	.venv/bin/python tools/mutants/try_changes.py --jobs $(JOBS) --count $(or $(COUNT),60) $(FILES)

test-sim: build/.packages  ## the product under a virtual clock: SEEDS faulty runs from FROM on (10000, 1); POWER_SEEDS runs of sinks whose power fails (200)
	cmake --build $(BUILD) --target rashpa_simulation rashpa_power_failure
	$(BUILD)/tests/simulation/rashpa_simulation --seeds $(or $(SEEDS),10000) --from $(or $(FROM),1) --jobs $(JOBS)
	$(BUILD)/tests/simulation/rashpa_power_failure --seeds $(or $(POWER_SEEDS),200) --from $(or $(FROM),1) --jobs $(JOBS)

test-slurm: build  ## nodes as job steps of a real Slurm, which is started for it; packages of packages-slurm.txt
	@tools/install_packages.sh packages-slurm.txt
	$(BIN)/python -m pytest -m slurm tests/slurm $(PYTEST_ARGS)

device-bundle: build  ## what a GPU machine without network needs: build/device-bundle, below 64 MiB (needs nvcc, no GPU)
	cmake --build $(BUILD) --target rashpa_device_programs
	tools/device_bundle.sh $(BUILD) build/device-bundle

test-device:  ## on a GPU machine: tests, compute-sanitizer, benchmarks of build/device-bundle; results in OUT
	tools/device_tests.sh build/device-bundle $(or $(OUT),out/device)

build/rtl/.installed: requirements/rtl.lock packages-rtl.txt | build/.packages
	@tools/install_packages.sh packages-rtl.txt
	test -x build/rtl/bin/python || $(PYTHON) -m venv build/rtl
	build/rtl/bin/python -m pip install --quiet --require-hashes -r requirements/rtl.lock
	touch $@

test-rtl: build build/rtl/.installed  ## rtl/: lint, C++ and cocotb benches, proofs; those whose names RTL_ONLY matches; without it the judged sender
	build/rtl/bin/python tools/rtl/test_rtl.py --jobs $(JOBS) --only '$(RTL_ONLY)'
	$(if $(RTL_ONLY),,$(BIN)/python -m pytest python/tests/node/judge/test_judged_card.py)

synth: build/rtl/.installed  ## rtl/ for UltraScale+: size and LUT levels a block, beside bench/results/rtl_synth.json; SYNTH=--changed: of changed ones
	build/rtl/bin/python tools/rtl/synth.py $(SYNTH) --jobs $(JOBS)

pythons: $(VENV)/.requirements build/.packages  ## newer Pythons of Debian in build/pythons, for wheels; those that cannot be had are named
	tools/fetch_pythons.sh $(BIN)/python build/pythons 3.12 3.13 3.14

wheel: $(VENV)/.requirements build/.packages  ## build/wheel/dist: wheels for the Pythons of PYTHONS, which install and run without a compiler
	tools/make_wheel.sh $(BIN)/python $(PYTHONS)

test-wheel: wheel build/.browser  ## rashpa demo from those wheels with each of PYTHONS in an empty environment, and the tutorial's way to a live image
	tools/test_wheel.sh $(BIN)/python $(PYTHONS)

bench: build  ## the benchmarks, results in out/bench
	mkdir -p out/bench
	$(BIN)/rashpa bench link --link roce --output out/bench/link.json
	$(BIN)/rashpa bench link --link pcie --output out/bench/link_pcie.json
	$(BIN)/rashpa bench kernel jungfrau --output out/bench/jungfrau.json

lint: build  ## format, types and layers; includes and clang-tidy of what changed since LINT_BASE (make tidy: of everything)
	git ls-files -co --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --package python.tests
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_spdx.py
	$(BIN)/python tools/check_waits.py
	$(BIN)/python tools/check_clock.py
	$(BIN)/python tools/check_orders.py
	$(BIN)/python tools/check_sizes.py
	$(BIN)/python tools/check_tested.py
	$(BIN)/python tools/make_rooms.py --check
	$(BIN)/python tools/make_card_registers.py --check
	$(BIN)/python tools/prose_lint.py
	$(BIN)/python tools/wrap_prose.py --check
	git ls-files -co --exclude-standard '*CMakeLists.txt' '*.cmake' | xargs $(BIN)/gersemi --check
	git ls-files -co --exclude-standard | xargs $(BIN)/codespell
	$(BIN)/python tools/check_includes.py --build $(BUILD) --changed
	$(BIN)/python tools/tidy.py --build $(BUILD) --changed

tidy: build  ## every C++ file compiled alone, and clang-tidy on it
	$(BIN)/python tools/check_includes.py --build $(BUILD)
	$(BIN)/python tools/tidy.py --build $(BUILD)

asan tsan: build/.packages  ## the C++ tests with sanitizers
	cmake --preset $@
	cmake --build --preset $@
	ctest --preset $@ --no-tests=error --parallel $(TEST_JOBS)

# Apart from the tests, so that it can be done while something else waits.
build-sanitizers: build/.packages
	cmake --preset asan
	cmake --build --preset asan
	cmake --preset tsan
	cmake --build --preset tsan --target $(TSAN_TESTS:%=rashpa_%_test)

sanitizers: build-sanitizers  ## asan of all, and tsan where threads meet
	ctest --preset asan --no-tests=error --parallel $(TEST_JOBS)
	ctest --preset tsan --no-tests=error --parallel $(TEST_JOBS) -R '^($(subst $(SPACE),|,$(TSAN_TESTS)))$$'

# Compiled here, and what needs neither network nor clock is run by QEMU.
aarch64: build/.packages  ## all libraries for aarch64 by a cross compiler, and the tests of AARCH64_TESTS there
	@tools/install_packages.sh packages-aarch64.txt
	test -d build/aarch64/sysroot || tools/aarch64_sysroot.sh build/aarch64/sysroot
	cmake --preset aarch64
	cmake --build --preset aarch64 --target $(AARCH64_LIBRARIES:%=rashpa_%) $(AARCH64_TESTS:%=rashpa_%_test)
	ctest --preset aarch64 --no-tests=error -R '^($(subst $(SPACE),|,$(AARCH64_TESTS)))$$'

changelog: $(VENV)/.requirements  ## CHANGELOG.md from the fragments of changes/, which go
	tools/release/changelog.sh $(BIN)/python

# One after the other: a `make` that has looked for Pythons does not see those that it fetches.
release:  ## all files of a release in build/release-files, each tried in an empty environment, and the tag; DRAFT=1: no tag
	-@tools/install_packages.sh packages-release.txt
	tools/release/check_tree.sh
	$(MAKE) pythons
	$(MAKE) test-wheel docs
	tools/release/make_release.sh $(BIN)/python

# In no lock: a tool of this target alone, for the Pythons that it has wheels for.
build/atheris/.installed: $(VENV)/.requirements
	$(BIN)/python -m pip install --quiet --no-deps --only-binary :all: --target build/atheris atheris==$(ATHERIS)
	touch $@

fuzz: build build/atheris/.installed  ## every fuzzer, or those of FUZZERS, FUZZ_SECONDS each (600), FUZZ_JOBS at a time (1)
	cmake --preset fuzz
	cmake --build --preset fuzz
	tools/run_fuzzers.sh build/fuzz $(FUZZ_SECONDS) $(BIN)/python $(FUZZERS)

build/docs/.installed: requirements/docs.lock $(VENV)/.requirements
	$(PIP_INSTALL) --target build/docs/tools -r requirements/docs.lock
	touch $@

docs: build/docs/.installed mkdocs.yml  ## the documentation as pages in build/docs/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=build/docs/tools $(BIN)/python -m mkdocs build --strict --quiet

gallery: build build/.browser  ## the pictures of docs/gallery.md, taken anew in a browser
	$(BIN)/python -m tests.browser.gallery

reference: build  ## docs/reference and README's table, after a change of the run file's models, a kernel or a command
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/make_works.py
	$(BIN)/python tools/make_rooms.py
	$(BIN)/python tools/bench_tables.py

stub: build  ## python/rashpa/_native.pyi, after a change of the binding
	$(BIN)/python tools/make_native_stub.py

# Later layers take the versions of earlier ones.
lock: $(VENV)/.requirements  ## pins the layers of requirements/ again
	test -x build/lock/bin/pip-compile || { $(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet pip-tools; }
	cd requirements && for name in run test lint docs beamline rtl; do \
	  ../build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
	    --no-emit-find-links --no-emit-index-url --no-emit-trusted-host --output-file $$name.lock $$name.in || exit 1; \
	done

clean:  ## what the build made
	rm -rf $(BUILD) build/asan build/tsan build/fuzz build/.installed out

distclean: clean  ## and the virtual environment
	rm -rf $(VENV) build

help:
	@grep -hE '^[a-z-]+( [a-z-]+)*:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## +/\t/' | expand -t 14
