# `make help` lists the targets. Each installs what it needs first, and says so.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

SETUP := .make/setup
SWIFT := $(shell SWIFT="$(SWIFT)" $(SETUP) swift-path)

# SwiftPM keeps caches under HOME; where there is none to write to, it gets one of its own.
ifneq ($(shell test -d "$${HOME:-}" -a -w "$${HOME:-}" && echo yes),yes)
export HOME := $(CURDIR)/.build/home
endif

# No __pycache__ among the sources.
export PYTHONDONTWRITEBYTECODE := 1

RELEASE := .build/release
# When the release build was last made; binaries that nothing was changed in keep their date.
BUILT := .build/release-built
SWIFT_BUILD := $(SWIFT) build -Xswiftc -warnings-as-errors $(if $(JOBS),--jobs $(JOBS))
# lld comes with the toolchain. The system's linker warns of a function in FoundationEssentials that nothing here calls.
# pack-relative-relocs: what the program's own pointers need at each start is read from 9 KB, not from 1 MB (DT_RELR, which
# glibc knows since 2.36). cross-module-optimization: a page of a sweep takes a twentieth less CPU, the build half a minute more.
# The others make the same of these sources in every folder (`make reproduce`). Debug information would have this folder's path,
# and that of the cache of C modules, whose name is a hash of options with paths; .swift_modhash, by which a compiler finds out
# that it has nothing to do, is another such hash. The linker's build ID is made of all that.
RELEASE_FLAGS := -c release --static-swift-stdlib -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xswiftc -cross-module-optimization \
    -Xswiftc -file-prefix-map -Xswiftc "$(CURDIR)=." -Xcc "-ffile-prefix-map=$(CURDIR)=." \
    -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
# Of another architecture, against the system in the folder ARM64_SYSTEM (.make/arm64).
ifneq ($(ARM64_SYSTEM),)
RELEASE := .build/cross/release
RELEASE_FLAGS += --scratch-path .build/cross --triple aarch64-unknown-linux-gnu --sdk $(ARM64_SYSTEM) \
    --pkg-config-path $(ARM64_SYSTEM)/usr/lib/aarch64-linux-gnu/pkgconfig \
    -Xswiftc -sdk -Xswiftc $(ARM64_SYSTEM) -Xswiftc -resource-dir -Xswiftc $(ARM64_SYSTEM)/usr/libexec/swift/lib/swift_static
endif
# Where `make check` leaves what the tests said.
TEST_LOG := .build/test.log

# git: SwiftPM asks it about the package. g++: the C library's headers and the linker. libxml2, libncurses6: SwiftPM itself.
BUILD_PACKAGES := git g++ libc6-dev pkg-config libcurl4-openssl-dev libsqlite3-dev libxml2-dev zlib1g-dev libmd4c-dev libmd4c-html0 \
    libxml2 libncurses6
TOUR_PACKAGES := python3 sqlite3
# What the recipes of docs/recipes.md call.
RECIPE_PACKAGES := jq git
READER_PACKAGES := epubcheck libxml2-utils chromium
DEB_PACKAGES := dpkg-dev binutils git
RELEASE_PACKAGES := $(DEB_PACKAGES) apt-utils
# For a Debian of its own; iproute2 for its network. gcc: a clock that is ahead.
FRESH_PACKAGES := debootstrap python3 iproute2
REPRODUCE_PACKAGES := $(DEB_PACKAGES) gcc libc6-dev python3
# From man-db on: what reads manual pages, completions, the Debian package and the metrics.
TEST_PACKAGES := python3 python3-yaml sqlite3 openssl \
    man-db mandoc groff-base zsh fish shellcheck lintian $(RELEASE_PACKAGES) \
    prometheus prometheus-node-exporter
# For tests that only root can run, and others skip: networks of their own, and a machine with a systemd of its own.
ifeq ($(shell id -u),0)
TEST_PACKAGES += iproute2 nftables systemd-container dbus libpam-systemd
endif
# With TARGETS, what these test targets ask for.
ifneq ($(TARGETS),)
ifeq ($(filter CommandsTests PackageTests ServiceTests,$(TARGETS)),)
TEST_PACKAGES := $(filter python3 sqlite3 openssl iproute2 nftables,$(TEST_PACKAGES))
endif
endif
# systemd: systemd-analyze, which needs no running systemd.
LINT_PACKAGES := systemd
# gcc: the clock of the daemon's machine (Tests/Storm/clock.c).
STORM_PACKAGES := gcc libc6-dev
# Both are begun as services where they are installed so; `make scale` starts its own, in a folder.
SCALE_PACKAGES := postgresql nats-server python3-psycopg2
BENCH_PACKAGES := systemd python3 python3-venv socat openssl gcc g++ libsimdjson-dev ca-certificates iproute2 strace

.PHONY: help
help:
	@echo 'make run          pull a timeline from a development server, in the foreground (Ctrl-C ends it)'
	@echo '                  SERVER=https://… API_KEY_FILE=… for a real server'
	@echo 'make demo         the same as a scripted tour that checks itself, under a minute'
	@echo 'make readers      what export writes, read by epubcheck, xmllint and a browser without a window'
	@echo 'make recipes      the recipes of docs/recipes.md that prsnlctl changes feeds, some seconds'
	@echo 'make build        release binaries in $(RELEASE)'
	@echo 'make test         every test; FILTER=… for some, TARGETS=StoreTests to build only those'
	@echo 'make storm        kills, faults and writes without end, judged: STORM_SECONDS=600 for each dialect, SEED=…,'
	@echo '                  DIALECT=C for one; STORM_SAVE=1 writes the figures into docs/reliability.md; then make long-search'
	@echo 'make text-kills   kills while texts are fetched: KILLS=1000, what each costs, and the texts byte for byte'
	@echo 'make pull-kills   kills during first pulls: KILLS=1000, what each costs, and each copy compared'
	@echo 'make start-kills  daemons with work to do, started and killed four at once: KILLS=1000'
	@echo 'make soak         40 days in half an hour: does anything grow? SOAK_DAYS=2 to try it; SOAK_SAVE=1 writes the table'
	@echo 'make scale        changes into PostgreSQL and NATS, all of it killed: KILLS=1000, SEED=…; SCALE_MEASURE=1 for the figures'
	@echo 'make screens      updates the screens that tests expect; look at them with git diff'
	@echo 'make long-search  the tests that try random cases, with all of their cases'
	@echo 'make mutants      the rules of the outbox, broken in turn: a test has to notice each'
	@echo 'make test-user    as root: those whose result depends on the user, as one who may open 1,024 files'
	@echo 'make check        what CI runs: format lint, build, tests, demo, recipes, scale, a minute of storm for each dialect, 240 kills'
	@echo 'make lint         the format lint, the units and the words; make format corrects the first, lint-units and lint-words are the others'
	@echo 'make test-server  SERVER=… API_KEY_FILE=…: read-only check of a real server'
	@echo 'make bench        every figure of docs/benchmarks.md; ROWS=pull,idle for some; BENCH_SAVE=1 writes the page'
	@echo 'make sanitize     the tests under the thread and address sanitizers; ONLY=thread for one'
	@echo 'make fuzz         libFuzzer on what comes from outside, FUZZ_SECONDS=60 for each target; ONLY=netlink for one'
	@echo 'make install      as root: programs, units, manual pages in PREFIX=/usr/local; DESTDIR=… for a folder'
	@echo 'make uninstall    removes what make install made; configuration and copy stay'
	@echo 'make debian13     as root: demo, tests and package in a fresh Debian 13, with the Swift of that; debian12 likewise'
	@echo 'make deb          the Debian package, in .build/deb; ARCH=arm64, as root: that of arm64, in .build/deb-other'
	@echo 'make arm64-check  as root: installs that of arm64 by qemu, and tries it'
	@echo 'make reproduce    builds the package twice, in two folders on two days, and compares it byte for byte'
	@echo 'make release      packages, sources, sums, notes and a repository for apt, in $(RELEASE_FILES); docs/releasing.md'
	@echo 'make release-check  as root: installs that in a fresh Debian, SUITE=trixie for another one; make container: in a container'
	@echo 'make clean        removes .build and .run'

# SwiftPM writes absolute paths into .build, and fails in a check-out that was moved or copied, in words of its own.
PLACE := .build/place

.PHONY: setup-build setup-tour setup-recipes setup-test setup-storm setup-scale setup-bench setup-deb setup-release setup-fresh setup-readers setup-arm64-system setup-arm64
setup-build:
	@SWIFT="$(SWIFT)" $(SETUP) build $(BUILD_PACKAGES)
	@mkdir -p "$$HOME" .build
	@[ -e $(PLACE) ] || printf '%s\n' "$(CURDIR)" >$(PLACE)
	@[ "$$(cat $(PLACE))" = "$(CURDIR)" ] || { \
	    echo "make: .build is of $$(cat $(PLACE)), and this check-out is now in $(CURDIR): run make clean first" >&2; exit 1; }
setup-tour:
	@$(SETUP) packages $(TOUR_PACKAGES)
setup-recipes:
	@$(SETUP) packages $(RECIPE_PACKAGES)
setup-test:
	@$(SETUP) packages $(TEST_PACKAGES)
setup-storm:
	@$(SETUP) packages $(STORM_PACKAGES)
setup-scale:
	@$(SETUP) packages $(SCALE_PACKAGES)
setup-bench:
	@$(SETUP) packages $(BENCH_PACKAGES)
setup-deb:
	@$(SETUP) packages $(DEB_PACKAGES)
setup-release:
	@$(SETUP) packages $(RELEASE_PACKAGES)
setup-fresh:
	@$(SETUP) packages $(FRESH_PACKAGES)
setup-readers:
	@$(SETUP) packages $(READER_PACKAGES)
setup-arm64-system:
	@$(SETUP) packages $(BUILD_PACKAGES)
setup-arm64:
	@$(SETUP) packages debootstrap qemu-user-static

.PHONY: build
build: setup-build
	PRSNL_PROGRAMS_ONLY=yes $(SWIFT_BUILD) $(RELEASE_FLAGS)
	@touch $(BUILT)

# A debug build takes half the time, and a development server's items need no more. A real server's copy may be large.
.PHONY: run build-debug
build-debug: setup-build
	PRSNL_PROGRAMS_ONLY=run $(SWIFT_BUILD)
run: BINARIES := $(if $(SERVER),$(RELEASE),.build/debug)
run: setup-build setup-tour $(if $(SERVER),build,build-debug)
	@SERVER="$(SERVER)" API_KEY_FILE="$(API_KEY_FILE)" ITEMS="$(ITEMS)" BINARIES="$(BINARIES)" .make/run

.PHONY: demo
demo: setup-build setup-tour build
	@BINARIES=$(RELEASE) python3 Tests/Tour/demo.py

.PHONY: recipes
recipes: setup-tour setup-recipes binaries
	@BINARIES="$(BINARIES)" python3 Tests/Tour/recipes.py

# What export writes, with the programs of the distribution that read it. A browser is large: not a part of the check.
.PHONY: readers
readers: setup-tour setup-readers binaries
	@BINARIES="$(BINARIES)" python3 Tests/Tour/readers.py

# The official client is of PyPI, which a check must not need.
.PHONY: mcp-client
mcp-client: setup-build setup-tour build
	@test -x .run/mcp/bin/python || python3 -m venv .run/mcp
	@.run/mcp/bin/pip --quiet install mcp
	@BINARIES=$(RELEASE) .run/mcp/bin/python Tests/Tour/mcp_client.py

.PHONY: test-server
test-server: setup-build setup-tour build
	@BINARIES=$(RELEASE) SERVER="$(SERVER)" API_KEY_FILE="$(API_KEY_FILE)" python3 Tests/Tour/test_server.py

.PHONY: lint lint-units lint-words format
lint: setup-build lint-units lint-words
# Swift wraps a function that is itself the value of a Mutex once more with each withLock, until the stack is full.
	@! grep -rnE 'Mutex(<[^>]*->|\(\{)' Sources || { echo 'make: put the function into a struct, as Store.serverNow does' >&2; exit 1; }
	$(SWIFT) format lint --strict --recursive --parallel Sources Tests Tools Package.swift
lint-units:
	@$(SETUP) packages $(LINT_PACKAGES)
	@.make/lint-units
lint-words:
	@.make/lint-words
format: setup-build
	$(SWIFT) format --in-place --recursive --parallel Sources Tests Tools Package.swift

# The tests start the binaries of the same debug build, which `swift build --build-tests` makes too. docs/testing.md describes
# how .make/test runs them side by side. Tests that need root say so without it, and are counted.
.PHONY: test
test: export PRSNL_TEST_TARGETS := $(TARGETS)
test: setup-build setup-test
	$(SWIFT_BUILD) --build-tests
	@.make/test $(if $(FILTER),--only "$(FILTER)") 2>&1 | { trap '' TERM INT; tee $(TEST_LOG); }

# As root: the tests whose result depends on the user, once more as a user who may open 1,024 files. The engine's tests are
# not among them: they touch nothing but a folder and a socket of their own.
USER_TESTS := ^(PRSNLCore|Store|Console|Control|Commands|Configuration|NetMonitor|PRSNLClient)Tests|DescriptorTests|LoginCommandTests
USER_TESTS := $(USER_TESTS)|LoginFateTests|SecretsTests|FileModeTests|OncePullTests|CommandLineTests
USER_LOG := .build/test-user.log
.PHONY: test-user
test-user: export PRSNL_TEST_TARGETS := $(TARGETS)
test-user: setup-build setup-test
	$(SWIFT_BUILD) --build-tests
	@SWIFT="$(SWIFT)" .make/test-user --only "$(if $(FILTER),$(FILTER),$(USER_TESTS))" 2>&1 | { trap '' TERM INT; tee $(USER_LOG); }

# docs/reliability.md says what is tried. A seed repeats the plan of a run; how the processes fall over each other does not
# come from a seed.
STORM_SECONDS ?= 600
.PHONY: storm
storm: setup-tour setup-storm binaries
	@BINARIES="$(BINARIES)" python3 Tests/Storm/storm.py --seconds $(STORM_SECONDS) \
	    $(if $(SEED),--seed $(SEED)) $(if $(DIALECT),--dialect $(DIALECT)) $(if $(STORM_SAVE),--save)
	@$(if $(LONG_SEARCH),$(MAKE) --no-print-directory long-search)

# Kills while texts are fetched, and nothing else: what a kill costs, and whether each text is the server's in the end.
KILLS ?= 1000
.PHONY: text-kills
text-kills: setup-tour binaries
	@BINARIES="$(BINARIES)" python3 Tests/Storm/kills.py --kills $(KILLS) $(if $(SEED),--seed $(SEED)) \
	    $(if $(DIALECT),--dialect $(DIALECT)) $(if $(STORM_SAVE),--save)

# Kills during first pulls: what a kill costs, and whether each copy is the server's in the end.
.PHONY: pull-kills
pull-kills: setup-tour binaries
	@BINARIES="$(BINARIES)" python3 Tests/Storm/pulls.py --kills $(KILLS) $(if $(SEED),--seed $(SEED)) \
	    $(if $(STORM_SAVE),--save)

# Daemons with work to do, started and killed four at once: none may end by itself. BINARIES=.build/sanitize-thread/debug tries
# those of a sanitizer.
.PHONY: start-kills
start-kills: setup-tour binaries
	@BINARIES="$(BINARIES)" python3 Tests/Storm/starts.py --kills $(KILLS) $(if $(SEED),--seed $(SEED)) \
	    $(if $(STORM_SAVE),--save)

# The release daemon for weeks, with clocks that run 2,000 times as fast: what grows without bound is a finding. As root, the
# link is cut too.
SOAK_DAYS ?= 40
.PHONY: soak
soak: setup-tour setup-storm binaries
	@BINARIES="$(BINARIES)" python3 Tests/Storm/soak.py --days $(SOAK_DAYS) \
	    $(if $(SEED),--seed $(SEED)) $(if $(SOAK_SAVE),--save)

# docs/scale.md, "Beyond one machine", with the real servers. The system's Python, which has psycopg2.
.PHONY: scale
scale: setup-tour setup-scale binaries
	@BINARIES="$(BINARIES)" /usr/bin/python3 Tests/Scale/scale.py --kills $(KILLS) $(if $(SEED),--seed $(SEED)) \
	    $(if $(SCALE_MEASURE),--measure)

# What whole screens should look like, from what they look like now (Tests/CommandsTests/Screens).
.PHONY: screens
screens: setup-build setup-test
	$(SWIFT_BUILD) --build-tests
	@PRSNL_WRITE_SCREENS=yes .make/test --only 'CommandsTests'

# The tests that try random cases, with all of their cases: `make test` tries a few of them.
LONG_SEARCH ?= LostAnswerTests|OutboxModelTests|WishModelTests|OutboxLoadTests|\.KillTests/|/noSequenceOfAnswers|CrowdTests|SliceTests|DesiredTests|PlanTests|/itemsThatArriveWhile
.PHONY: long-search
long-search: setup-build setup-test
	$(SWIFT_BUILD) --build-tests
	@PRSNL_LONG_SEARCH=yes TEST_PATIENCE=0 .make/test --only "$(LONG_SEARCH)"

# The rules of the outbox, broken in turn: a test has to notice each.
.PHONY: mutants
mutants: setup-build setup-test
	@python3 Tests/Mutants/mutants.py

.PHONY: check
check: lint build test test-user demo recipes
	@$(MAKE) --no-print-directory scale KILLS=20
# What breaks a promise often is found twice. What comes once in an hour of storm is reported, and its files are kept.
	@$(MAKE) --no-print-directory storm STORM_SECONDS=60 LONG_SEARCH= \
	    || { echo 'The storm has found something; a second one decides.'; \
	        $(MAKE) --no-print-directory storm STORM_SECONDS=60 LONG_SEARCH=; }
	@$(MAKE) --no-print-directory text-kills KILLS=40
	@$(MAKE) --no-print-directory start-kills KILLS=200

# The whole way of a newcomer, in a fresh Debian of its own below .run, as root: its Swift, demo, tests, package. Debian 12 gets
# this machine's Swift.
.PHONY: debian12 debian13
debian12: SUITE := bookworm
debian13: SUITE := trixie
debian12 debian13:
	@$(SETUP) packages debootstrap
	@.make/in-debian $(SUITE) .run/$@

.PHONY: bench
bench: setup-build setup-bench setup-tour
# With what the benchmarks alone need.
	PRSNL_PROGRAMS_ONLY=bench $(SWIFT_BUILD) $(RELEASE_FLAGS)
	@touch $(BUILT)
	@BINARIES=$(RELEASE) ROWS="$(ROWS)" BENCH_SAVE="$(BENCH_SAVE)" python3 Tests/Benchmarks/bench.py

# Each sanitizer needs a build of its own. Its memory does not fit into the unit's sandbox, nor into what tests allow a
# program, and its library has the words that no daemon of ours may have.
UNSANITIZED := ServiceTests|HostileNumbersTests|DaemonProgramTests|memoryDoesNotGrowWithAServersList
SANITIZERS := $(if $(ONLY),$(ONLY),thread address)
.PHONY: sanitize
sanitize: export TSAN_OPTIONS := suppressions='$(CURDIR)/.make/tsan.supp'
# Leaks of the tests themselves are not looked for: a test's server may be held by the closures of its own faults. Those of
# the programs are, because a test gives them an environment of its own.
sanitize: export ASAN_OPTIONS := detect_leaks=0
sanitize: setup-build setup-test
	@for sanitizer in $(SANITIZERS); do \
	    echo "== $$sanitizer sanitizer"; \
	    $(SWIFT_BUILD) --build-tests --sanitize=$$sanitizer --scratch-path .build/sanitize-$$sanitizer; \
	    BUILD=.build/sanitize-$$sanitizer TEST_PATIENCE=0 .make/test --skip '$(UNSANITIZED)' $(if $(FILTER),--only "$(FILTER)"); \
	done

# Each target for this long, or with FUZZ_RUNS inputs, on one core; docs/fuzzing.md says what is fuzzed and what to do with a finding.
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: setup-build
	@SWIFT="$(SWIFT)" FUZZ_SECONDS="$(FUZZ_SECONDS)" FUZZ_RUNS="$(FUZZ_RUNS)" ONLY="$(ONLY)" INPUT="$(INPUT)" Tests/Fuzz/run

# What is installed and packed: the release build, or another folder with binaries, taken as they are.
BINARIES ?= $(RELEASE)
PREFIX ?= /usr/local
DESTDIR ?=
# Those of other architectures lie apart: `.build/deb/prsnld_*.deb` is this machine's.
DEB_FOLDER ?= $(if $(FOREIGN),.build/deb-other,.build/deb)

# Builds only where something changed since, and never as root in another user's folder, who could then not clean it.
.PHONY: binaries
binaries:
	@if [ "$(BINARIES)" = "$(RELEASE)" ] && \
	    { [ ! -e $(BUILT) ] || [ -n "$$(find Sources Tests/DevServer Tools Package.swift -newer $(BUILT) -print -quit)" ]; }; then \
	    if [ "$$(id -u)" = 0 ] && [ "$$(stat -c %u .)" != 0 ]; then \
	        echo 'make: there is no build of these sources; as yourself: make build' >&2; exit 1; \
	    fi; \
	    $(MAKE) --no-print-directory build; \
	fi

.PHONY: install uninstall deb arm64-check
install: binaries
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" BINARIES="$(BINARIES)" systemd/install install
uninstall:
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" systemd/install uninstall
# Of another architecture than this machine's; a variable of the environment may mean something else.
ifeq ($(origin ARCH),command line)
FOREIGN := $(filter-out $(shell dpkg --print-architecture),$(ARCH))
endif
ifneq ($(FOREIGN),)
deb: setup-arm64
	@[ "$(ARCH)" = arm64 ] || { echo "make: ARCH=$(ARCH) is neither this machine's architecture nor arm64" >&2; exit 1; }
	@OUT="$(DEB_FOLDER)" VERSION="$(VERSION)" COMPRESSION="$(COMPRESSION)" .make/arm64 deb
else
deb: setup-deb binaries
# An older build beside the new one would also be what `.build/deb/prsnld_*.deb` names.
	@$(if $(filter .build/deb,$(DEB_FOLDER)),rm -f .build/deb/prsnld_*)
	@BINARIES="$(BINARIES)" OUT="$(DEB_FOLDER)" VERSION="$(VERSION)" COMPRESSION="$(COMPRESSION)" systemd/debian/build
endif
arm64-check: KILLS := 50
arm64-check: DEB_FOLDER := .build/deb-other
arm64-check: setup-arm64 setup-tour
	@OUT="$(DEB_FOLDER)" KILLS="$(KILLS)" .make/arm64 check

# docs/releasing.md has the order, and what is left to a person.
RELEASE_FILES ?= .build/release-files
.PHONY: reproduce release release-check container
reproduce: setup-build
	@$(SETUP) packages $(REPRODUCE_PACKAGES)
	@SWIFT="$(SWIFT)" .make/reproduce
release: setup-release binaries
	@BINARIES="$(BINARIES)" OUT="$(RELEASE_FILES)" COMPRESSION="$(COMPRESSION)" DRAFT="$(DRAFT)" .make/release
release-check: setup-fresh
	@RELEASE="$(RELEASE_FILES)" SUITE="$(SUITE)" .make/release-check
container: setup-fresh binaries
	@.make/container "$(RELEASE_FILES)" "$(BINARIES)"

.PHONY: clean
clean:
	rm -rf .build .run
