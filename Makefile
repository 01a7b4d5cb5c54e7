# SPDX-License-Identifier: Apache-2.0
#
# docker hostexec. `make install` installs it, `make demo` shows it, `make check` runs all tests. All targets need Go.
# demo and the integration tests also need a Docker engine.

GO       ?= go
# One set of flags, so that programs, their tests and the linters use the same compiled packages. The race detector
# needs cgo.
export GOFLAGS += -trimpath
export CGO_ENABLED := 0
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.0.0-dev)
PLUGIN   := bin/docker-hostexec
PLUGINS   = $(or $(DOCKER_CONFIG),$(HOME)/.docker)/cli-plugins
# The compiler and the linters collect their garbage less often: they need more memory, and a fifth less time.
LESSGC   := GOGC=400
LDFLAGS  := -s -w -X github.com/docker-hostexec/hostexec/plugin/metadata.Version=$(VERSION)

# The plugin contains a compressed shim for each architecture that an engine may run on.
ARCHES   := amd64 arm64 arm 386 ppc64le s390x riscv64
SHIMS    := $(ARCHES:%=plugin/inject/shims/linux-%.zst)
SHELLS   := $(ARCHES:%=plugin/inject/shells/linux-%.zst)
SHIMSRC  := go.mod $(filter-out %_test.go,$(wildcard cmd/hostexec/*.go shim/*.go shim/initproc/*.go shim/wire/*.go))
SHELLSRC := go.mod exec/shell/install.bash $(filter-out %_test.go,$(wildcard cmd/hostexec-shell/*.go \
	$(patsubst %,exec/%/*.go,shell executor proctree dir limit names osenv)))

# Only tests named Integration and the measurements may need an engine.
UNIT     := -skip 'Integration|TestBench|TestSoak'
# make lint vets all packages.
UNVETTED := -vet=off
# Parallel tests mostly wait: for grace periods, and for the engine.
E2E      := -count=1 -timeout 50m -parallel 6 $(UNVETTED)
# Because they wait, two parts of them run at a time, or one beside the race tests. In this order, the last two end at
# about the same time.
PARTS    := Integration[A-D] Integration[E-O] Integration[S-Z] Integration[P-R]
# Some tests observe a moment that a busy machine can miss. A failed test runs once more, alone; its first failure stays
# in the output. The run fails if a test fails twice, if more than six tests fail, or on a panic or a data race.
ONCEMORE := $(GO) tool gotestsum --format pkgname --rerun-fails=1 --rerun-fails-max-failures=6 --rerun-fails-abort-on-data-race

.PHONY: build install demo check test test-integration test-race test-whole test-32 e2e lint fmt bench plots attack attack-modes fuzz chaos soak reliability shims cross engine tools compose screenshots recording \
	manual release release-snapshot package reproduce release-tools clean

build: $(PLUGIN)

# Go decides whether the program is up to date. The shims that it embeds must exist first.
.PHONY: $(PLUGIN)
$(PLUGIN): $(SHIMS) $(SHELLS)
	$(LESSGC) $(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/docker-hostexec

shims: $(SHIMS) $(SHELLS)

# The segments of a program begin on pages. Go assumes pages of 64 KiB, but s390x has smaller ones.
PAGES_s390x := -R 4096
# ppc64le has pages of 64 KiB. Without inlined functions, the shim has one page less.
SMALL_ppc64le := -gcflags=all=-l

# A shim ends before it collects garbage, so it gets the collector that is smaller and starts faster.
COLLECTOR := $(shell GOEXPERIMENT=nogreenteagc $(GO) env GOEXPERIMENT 2>/dev/null)

# Two changes of Go's runtime for shims: the message if no thread can be created, because no code of ours runs then;
# and which signals it handles, and how the shim subscribes to them, which was a tenth of a call. Go ignores directories
# that begin with _.
OVERLAY  := bin/_overlay/$(shell $(GO) env GOVERSION)/overlay.json
$(OVERLAY): plugin/inject/nothread.sed plugin/inject/signals.sed
	mkdir -p $(@D)
	sed -f plugin/inject/nothread.sed "$$($(GO) env GOROOT)/src/runtime/os_linux.go" >$(@D)/os_linux.go
	sed -f plugin/inject/signals.sed "$$($(GO) env GOROOT)/src/runtime/signal_unix.go" >$(@D)/signal_unix.go
	grep -q 'hostexec: ' $(@D)/os_linux.go
	test "$$(grep -c 'hostexec: ' $(@D)/signal_unix.go)" = 3
	goroot="$$($(GO) env GOROOT)/src/runtime" && printf '{"Replace": {"%s": "%s", "%s": "%s"}}\n' \
		"$$goroot/os_linux.go" '$(CURDIR)/$(@D)/os_linux.go' "$$goroot/signal_unix.go" '$(CURDIR)/$(@D)/signal_unix.go' >$@

plugin/inject/shims/linux-%.zst: $(SHIMSRC) bin/pack $(OVERLAY)
	$(LESSGC) GOOS=linux GOARCH=$* GOARM=7 GOEXPERIMENT=$(COLLECTOR) $(GO) build -buildvcs=false -overlay $(OVERLAY) $(SMALL_$*) -ldflags '-s -w -buildid= $(PAGES_$*)' -o bin/shims/linux-$*/hostexec ./cmd/hostexec
	bin/pack bin/shims/linux-$*/hostexec $@

# The program that runs shells in containers.
plugin/inject/shells/linux-%.zst: $(SHELLSRC) bin/pack
	$(LESSGC) GOOS=linux GOARCH=$* GOARM=7 $(GO) build -buildvcs=false -ldflags '-s -w -buildid=' -o bin/shells/linux-$*/hostexec-shell ./cmd/hostexec-shell
	bin/pack bin/shells/linux-$*/hostexec-shell $@

bin/pack: plugin/inject/pack.go go.mod
	$(GO) build -o $@ $<

install: build
	mkdir -p '$(PLUGINS)'
	install -m 755 $(PLUGIN) '$(PLUGINS)/docker-hostexec'
	@echo 'installed $(PLUGINS)/docker-hostexec: try docker hostexec run --help'

# Runs the host's make from a container of an empty image.
demo: build engine
	tar -cf - -T /dev/null | docker import - hostexec-demo >/dev/null
	env -u MAKEFLAGS -u MAKELEVEL $(PLUGIN) run --rm --proxy make --workspace=examples/demo hostexec-demo make
	@echo 'The image of that container is empty: make ran on this host.'

# test-race includes the tests of make test; test-whole runs some of them without the race detector. The programs are
# compiled first. Then the long tests run two at a time: they wait as much as they compute.
check: engine tools lint
	@$(MAKE) --no-print-directory -j2 -O build test-whole test-32 cross compose package
	@$(MAKE) --no-print-directory -j2 -O $(firstword $(PARTS)) race $(filter-out $(firstword $(PARTS)),$(PARTS))

test: $(SHIMS) $(SHELLS)
	$(GO) test $(UNIT) ./...

test-race: $(SHIMS) $(SHELLS) tools
	@$(MAKE) --no-print-directory race

# The tests themselves collect their garbage as usual.
.PHONY: race
race:
	CGO_ENABLED=1 $(LESSGC) $(ONCEMORE) --packages=./... -- -race -exec 'env -u GOGC' $(UNIT) $(UNVETTED)

# Tests that do only a part of their work under the race detector, because it takes ten times as long; and tests of
# signals with the runtime of shims.
test-whole: $(OVERLAY)
	$(GO) test $(UNVETTED) -run 'TestLeak|TestKilled|TestManyCalls|TestThousand|Property' ./exec/shell ./exec/executor ./exec/audit ./exec/policy ./exec/approval ./plugin/control
	$(GO) test $(UNVETTED) -overlay $(OVERLAY) -run 'Signal|Nohup' ./shim

# Numbers in frames must also fit an int of 32 bits: on amd64, the tests of frames and of flow control run as 386. Not
# every amd64 kernel runs such programs. The tests are only compiled then.
test-32: export GOARCH = 386
test-32:
	@test "$$($(GO) env GOHOSTOS GOHOSTARCH | xargs)" = 'linux amd64' || exit 0; \
	$(GO) vet ./shim/wire ./exec/call ./exec/executor ./plugin/carrier/relay && $(GO) test -c -o bin/wire-386.test ./shim/wire || exit; \
	bin/wire-386.test -test.run '^$$' >/dev/null || { echo 'make: this kernel runs no 386 programs: test-32 only compiles'; exit 0; }; \
	$(GO) test ./shim/wire && $(GO) test -run 'Credit|Input|Relay' ./exec/call ./plugin/carrier/relay

test-integration e2e: build engine tools compose package
	@$(MAKE) --no-print-directory -j2 -O $(PARTS)

.PHONY: $(PARTS)
$(PARTS):
	$(ONCEMORE) --packages=./e2e/... -- -run '$@' $(E2E)

lint:
	@bad=$$(gofmt -l cmd plugin exec shim e2e .ci); test -z "$$bad" || { echo "not gofmt'ed, make fmt: $$bad" >&2; exit 1; }
	$(GO) mod verify >/dev/null
	$(GO) mod tidy -diff
	$(LESSGC) $(GO) vet ./... && $(GO) vet .ci/provenance.go
	$(LESSGC) $(GO) tool staticcheck -checks all,-ST1000,-ST1003 ./...
	@dead=$$($(LESSGC) $(GO) tool deadcode ./... | grep -v '^[a-z/]*test/'); test -z "$$dead" || { echo "$$dead" >&2; exit 1; }

fmt:
	gofmt -w cmd plugin exec shim e2e .ci

# The command line also builds for other systems, whose engine runs on Linux elsewhere. deadcode checks the types of the
# whole program without compiling it.
cross: $(SHIMS) $(SHELLS)
	@deadcode=$$($(GO) tool -n deadcode) && for system in darwin windows; do \
		GOOS=$$system $(LESSGC) $$deadcode ./cmd/docker-hostexec >/dev/null || exit; done

# Prints tables, whose main rows are in docs/performance.md, and then benchmarks of single packages. It compares calls
# with D-Bus and a proxy of inotifywait, too, and writes the series that make plots draws.
bench: TOOLS += /usr/bin/inotifywait:inotify-tools dbus-daemon:dbus /usr/libexec/flatpak-session-helper:flatpak \
	/usr/libexec/flatpak-xdg-utils/flatpak-spawn:flatpak-xdg-utils
bench: build engine tools
	@HOSTEXEC_REPORTS='$(CURDIR)/e2e/reports/bench.jsonl' $(GO) test -run TestBench -count=1 -timeout 60m -v ./e2e
	$(GO) test -run '^$$' -bench . ./exec/proctree ./exec/executor ./exec/policy ./exec/shell ./exec/audit

# All tests of e2e/attacks.md. make check has them, too.
attack: build engine tools
	@grep -ohE '`[a-z/0-9]+\.(Test|Fuzz)[A-Za-z0-9]+`' e2e/attacks.md | tr -d '`' | sort -u | \
		awk -F. '{t[$$1] = t[$$1] "|" $$2} END {for (p in t) print p, "^(" substr(t[p], 2) ")$$"}' | \
		while read -r package tests; do $(GO) test -count=1 -timeout 60m -run "$$tests" "./$$package" || exit 1; done

# Prints what a hostile program can do on the host, in a sandbox, in a container and by git-push: e2e/tables/modes.md.
attack-modes: build engine tools
	@$(GO) test -run 'TestIntegrationAttackModes$$' -count=1 -v ./e2e

# Faults under load, and a constant load: a leg of each, whose report is added to e2e/reports.
CHAOS ?= 40m
SOAK  ?= 40m

chaos: build engine tools
	HOSTEXEC_CHAOS=$(CHAOS) HOSTEXEC_REPORTS='$(CURDIR)/e2e/reports/chaos.jsonl' $(GO) test -run 'TestIntegrationChaos$$' -count=1 -timeout 2h -v ./e2e

soak: build engine tools
	HOSTEXEC_SOAK=$(SOAK) HOSTEXEC_REPORTS='$(CURDIR)/e2e/reports/soak.jsonl' $(GO) test -run 'TestSoak$$' -count=1 -timeout 2h -v ./e2e

# The tables of docs/reliability.md.
reliability:
	$(GO) test -run 'TestReliability$$' -count=1 ./e2e -args -write

# The plots of docs/performance.md, from the series of the last make bench.
plots:
	$(GO) test -run 'TestDocPlots$$' -count=1 ./e2e -args -write

# Runs each fuzz target for FUZZTIME, one after the other. Inputs that fail are written to testdata/fuzz, whose files are
# the first inputs of all runs, and also those of make test. FUZZ=PACKAGE runs the targets of some packages. Without
# GUIDED, binaries are built sooner, and run without the coverage that guides the search. Before Go 1.27, the end of the
# time can be reported as a failure (go.dev/issue/75804).
FUZZTIME ?= 10m
FUZZ     ?= .
GUIDED   ?= -fuzz .

fuzz:
	@set -e; mkdir -p bin/fuzz; cache=$$($(GO) env GOCACHE)/fuzz/$$($(GO) list -m); \
	for package in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd exec plugin shim | xargs -n1 dirname | sort -u | grep '$(FUZZ)'); do \
		binary='$(CURDIR)/bin/fuzz/'$$(echo $$package | tr / -).test; $(GO) test -c $(GUIDED) -o "$$binary" ./$$package; \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' $$package/*_test.go); do \
			echo "$$package.$$target"; \
			(cd $$package && "$$binary" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 1s -test.fuzzcachedir "$$cache/$$package") 2>&1 | tee bin/fuzz/log; \
			grep -qx 'PASS\|    context deadline exceeded' bin/fuzz/log; \
		done; \
	done

# Without an engine, the tests that need one fail here. They are not skipped.
engine:
	@docker info >/dev/null || { echo 'make: no Docker engine answers: docker info' >&2; exit 1; }

# COMMAND:PACKAGE: programs that the tests run, and their Debian packages. The race detector needs a C compiler. Images
# are made from busybox, and one by debootstrap. The measurements compare calls with ssh.
TOOLS := git:git make:make g++:g++ perl:perl rsync:rsync cmake:cmake ninja:ninja-build autoconf:autoconf patch:patch \
	/usr/bin/python3:python3 less:less ps:procps tmux:tmux busybox:busybox-static bindfs:bindfs gcc:gcc /usr/include/stdio.h:libc6-dev \
	curl:curl wget:wget openssl:openssl rpm:rpm /usr/sbin/debootstrap:debootstrap \
	ssh:openssh-client /usr/sbin/sshd:openssh-server podman:podman runc:runc chromium:chromium \
	/usr/share/fonts/truetype/liberation:fonts-liberation /usr/lib/python3/dist-packages/pytest:python3-pytest

tools:
	@missing=; for tool in $(TOOLS); do path=$${tool%%:*}; \
		command -v "$$path" >/dev/null || test -e "$$path" || missing="$$missing $${tool#*:}"; done; \
	test -z "$$missing" || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing >/dev/null; } || \
		{ echo "make: the tests need Debian packages: apt-get install$$missing" >&2; exit 1; }

# Large programs that only tests and releases use are compiled without optimisation and without information for
# debuggers, in 3/5 of the time.
QUICKLY := -gcflags='all=-N -l -dwarf=false'

# The docker compose of the tests, because not every system has version 2. It is built once, from a copy of its module,
# in a minute or two.
COMPOSE := v2.40.3

compose: bin/docker-compose-$(COMPOSE)

bin/docker-compose-$(COMPOSE):
	@module=$$($(GO) mod download -json github.com/docker/compose/v2@$(COMPOSE) | sed -n 's/^.*"Dir": "\(.*\)".*$$/\1/p'); \
	test -d "$$module" || { echo 'make: the tests need docker compose, but its module cannot be downloaded' >&2; exit 1; }; \
	mkdir -p bin && copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && cp -r "$$module/." "$$copy" && chmod -R u+w "$$copy" && \
	$(LESSGC) $(GO) -C "$$copy" build $(QUICKLY) -ldflags '-s -w -X github.com/docker/compose/v2/internal.Version=$(COMPOSE)' -o '$(CURDIR)/$@' ./cmd

# The pictures of the documentation.
screenshots: $(SHIMS) $(SHELLS) tools
	mkdir -p docs/images
	HOSTEXEC_SCREENSHOTS='$(CURDIR)/docs/images' $(GO) test -run TestScreenshots -count=1 ./plugin/page

# The README's recording: what a user types and sees, from a real run. Equal runs give equal bytes.
recording: TOOLS += termtosvg:termtosvg
recording: build engine tools
	HOSTEXEC_RECORDING='$(CURDIR)/bin/demo.cast' $(GO) test -run 'TestIntegrationRecording$$' -count=1 ./e2e
	termtosvg render bin/demo.cast docs/images/demo.svg -t window_frame -D 4000

# Programs that make a release. The first two have more requirements than go.mod should have, so they are built below
# bin, from their own modules, once for each version.
GORELEASER := bin/tools/goreleaser-v2.15.1/goreleaser
CYCLONEDX  := bin/tools/cyclonedx-gomod-v1.10.0/cyclonedx-gomod
PROVENANCE := bin/tools/provenance/provenance

release-tools: $(GORELEASER) $(CYCLONEDX) $(PROVENANCE)

bin/tools/goreleaser-%/goreleaser:
	GOBIN='$(CURDIR)/$(@D)' $(LESSGC) $(GO) install $(QUICKLY) -ldflags '-s -w' github.com/goreleaser/goreleaser/v2@$*

# An SBOM has a checksum of the program that wrote it: this one has equal bytes on all machines.
bin/tools/cyclonedx-gomod-%/cyclonedx-gomod:
	GOBIN='$(CURDIR)/$(@D)' $(LESSGC) $(GO) install -ldflags '-s -w' github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$*

$(PROVENANCE): .ci/provenance.go go.mod
	$(GO) build -o $@ $<

# What packages contain besides the plugin: manual pages, completion scripts and the changelog.
manual: $(PLUGIN)
	rm -rf bin/manual && mkdir -p bin/manual
	$(PLUGIN) man bin/manual
	for shell in bash fish zsh; do $(PLUGIN) completion $$shell >bin/manual/docker-hostexec.$$shell || exit; done
	gzip -9n bin/manual/*.1
	gzip -9nc CHANGELOG.md >bin/manual/CHANGELOG.md.gz

# A release, below bin/dist; .goreleaser.yaml says what it contains. release-snapshot and package publish nothing, and
# package is for the platform of this machine only. Their version is the tag of the commit, if it has one and nothing was
# changed. release uploads a draft for that tag: see CONTRIBUTING.md.
TAG = $(shell git tag --points-at HEAD 2>/dev/null)
release-snapshot package: RELEASE = $(if $(filter $(VERSION),$(TAG)),--skip=publish --skip=sign,--snapshot --skip=sign)
package: TARGET = $(shell $(GO) env GOOS GOARCH | paste -s -d _)
# Who builds it, as the provenance says.
BUILDER ?= https://github.com/docker-hostexec/hostexec/blob/main/CONTRIBUTING.md\#releases

# goreleaser wants to know an origin, which not every clone has.
release release-snapshot package: release-tools $(SHIMS) $(SHELLS)
	sed '/^ *- [a-z]*_[a-z0-9_]*$$/{/ $(or $(TARGET),.*)\(_7\)*$$/!d}' .goreleaser.yaml >bin/goreleaser.yaml
	PATH='$(dir $(abspath $(CYCLONEDX))):$(dir $(abspath $(PROVENANCE)))':"$$PATH" BUILDER='$(BUILDER)' \
		MODIFIED=$(if $(filter %-dirty,$(VERSION)),true,false) \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/docker-hostexec/hostexec \
		env -u MAKEFLAGS -u MAKELEVEL $(GORELEASER) release --clean --config bin/goreleaser.yaml $(RELEASE)
	cp install.sh bin/dist
	cd bin/dist && sha256sum --check --quiet checksums.txt

# Builds again what make package has built: in another directory, and with an empty cache of Go, unless CACHE names one.
# Both builds must give the same bytes. AGAIN=release-snapshot does it for all platforms.
AGAIN := package
reproduce:
	@dir=$$(mktemp -d) && trap 'chmod -R u+w "$$dir"; rm -rf "$$dir"' EXIT && git clone -q --shared . "$$dir/hostexec" && \
	git ls-files -z -c -o --exclude-standard | tar --null -T - -c | tar -x -C "$$dir/hostexec" && umask 077 && \
	GOCACHE="$${CACHE:-$$dir/cache}" $(MAKE) --no-print-directory -C "$$dir/hostexec" $(AGAIN) GORELEASER='$(abspath $(GORELEASER))' CYCLONEDX='$(abspath $(CYCLONEDX))' >"$$dir/log" 2>&1 || \
		{ cat "$$dir/log"; exit 1; }; \
	diff bin/dist/checksums.txt "$$dir/hostexec/bin/dist/checksums.txt" && echo 'both builds gave the same bytes'

clean:
	rm -rf bin $(SHIMS) $(SHELLS)
