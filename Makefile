# SPDX-License-Identifier: Apache-2.0
#
# docker hostexec. `make demo` shows it, `make install` installs it, `make check` is what
# has to pass. It needs Go; demo and integration tests need a Docker engine too.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.0.0-dev)
PLUGIN   := bin/docker-hostexec
PLUGINS   = $(or $(DOCKER_CONFIG),$(HOME)/.docker)/cli-plugins
LDFLAGS  := -s -w -X github.com/docker-hostexec/hostexec/plugin.Version=$(VERSION)

# The shim runs in the engine's Linux, whatever that is. It is embedded compressed.
ARCHES   := amd64 arm64 arm 386 ppc64le s390x riscv64
SHIMS    := $(ARCHES:%=plugin/inject/shims/linux-%.zst)
SHIMSRC  := go.mod $(filter-out %_test.go,$(wildcard cmd/hostexec/*.go shim/*.go shim/room/*.go shim/wire/*.go))

# Tests named Integration need an engine, as do the measurements; all others must not.
UNIT     := -skip 'Integration|TestBench'
E2E      := -count=1 -timeout 60m ./e2e/...
# They wait more than they compute: two halves beside each other take two thirds of the time.
HALVES   := Integration[A-J] Integration[K-Z]

.PHONY: build install demo check test test-integration test-race test-whole test-portable e2e lint fmt bench shims cross engine busybox sshd chromium podman compose screenshots clean

build: $(PLUGIN)

# Go knows best what is up to date; only the shims it embeds have to be there first.
.PHONY: $(PLUGIN)
$(PLUGIN): $(SHIMS)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/docker-hostexec

shims: $(SHIMS)

# Its parts begin on pages. Go makes room for those of 64 KiB, which this one has not.
PAGES_s390x := -R 4096

# A shim ends before it collects any garbage: the collector that is smaller, and sooner ready, will do.
COLLECTOR := $(shell GOEXPERIMENT=nogreenteagc $(GO) env GOEXPERIMENT 2>/dev/null)

plugin/inject/shims/linux-%.zst: $(SHIMSRC) bin/pack
	CGO_ENABLED=0 GOOS=linux GOARCH=$* GOARM=7 GOEXPERIMENT=$(COLLECTOR) $(GO) build -trimpath -ldflags '-s -w -buildid= $(PAGES_$*)' -o bin/shims/linux-$*/hostexec ./cmd/hostexec
	bin/pack bin/shims/linux-$*/hostexec $@

bin/pack: plugin/inject/pack.go go.mod
	$(GO) build -o $@ $<

install: build
	mkdir -p '$(PLUGINS)'
	install -m 755 $(PLUGIN) '$(PLUGINS)/docker-hostexec'
	@echo 'installed $(PLUGINS)/docker-hostexec: try docker hostexec run --help'

# An image with nothing in it, whose only program is the host's make.
demo: build engine
	tar -cf - -T /dev/null | docker import - hostexec-demo >/dev/null
	env -u MAKEFLAGS -u MAKELEVEL $(PLUGIN) run --rm --proxy make --workspace=examples/demo hostexec-demo make
	@echo 'There was no make in that container, and nothing else. It was the make of this host.'

# What make test does test-race does, too, but for the numbers of test-whole. It waits more
# than it computes.
check: lint
	@$(MAKE) --no-print-directory -j2 -O test-race test-whole test-portable cross compose
	@$(MAKE) --no-print-directory test-integration

test: $(SHIMS)
	$(GO) test $(UNIT) ./...

test-race: $(SHIMS)
	$(GO) test -race $(UNIT) ./...

# Tests that do a part of it under the race detector, which takes ten times as long.
test-whole:
	$(GO) test -run 'TestLeak|TestKilled' ./exec/shell ./exec/audit

# What agents on macOS have, as far as another system can run it: the rest is looked at by vet.
test-portable: $(SHIMS)
	$(GO) test -tags portable $(UNIT) ./exec/dir ./exec/proctree ./exec/executor ./exec/call ./exec/job ./shim ./plugin/watch ./plugin/agent
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./cmd/docker-hostexec ./exec/... ./shim/... ./plugin/...
	GOOS=darwin GOARCH=amd64 CGO_ENABLED=0 $(GO) vet ./exec/dir ./exec/proctree ./exec/executor ./shim ./plugin/control ./plugin/watch

test-integration e2e: build engine busybox chromium podman compose
	@$(MAKE) --no-print-directory -j2 -O $(HALVES)

.PHONY: $(HALVES)
$(HALVES):
	$(GO) test -run '$@' $(E2E)

lint:
	@bad=$$(gofmt -l cmd plugin exec shim e2e); test -z "$$bad" || { echo "not gofmt'ed, make fmt: $$bad" >&2; exit 1; }
	$(GO) mod verify >/dev/null
	$(GO) vet ./...

fmt:
	gofmt -w cmd plugin exec shim e2e

# The command line is for people on other systems too, whose engine is a Linux elsewhere.
cross: $(SHIMS)
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -o bin/cross/ ./cmd/docker-hostexec
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -o bin/cross/ ./cmd/docker-hostexec

# The table of docs/performance.md, from one run; then starting a command against a bare fork.
bench: build engine busybox sshd
	@$(GO) test -run TestBench -count=1 -timeout 30m -v ./e2e
	$(GO) test -run '^$$' -bench . ./exec/proctree ./exec/executor ./exec/policy ./exec/shell

# Without an engine the tests that need one fail here, and are not passed over.
engine:
	@docker info >/dev/null || { echo 'make: no Docker engine answers: docker info' >&2; exit 1; }

# The tests make an image of it.
busybox:
	@command -v busybox >/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y busybox-static >/dev/null; } || \
		{ echo 'make: the tests need a static busybox: apt-get install busybox-static' >&2; exit 1; }

# ssh is what calls are measured against.
sshd:
	@test -x /usr/sbin/sshd || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y openssh-server >/dev/null; } || \
		{ echo 'make: the benchmark needs sshd: apt-get install openssh-server' >&2; exit 1; }

# The tests look at the page with it.
chromium:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } || \
		{ echo 'make: the tests need a browser: apt-get install chromium' >&2; exit 1; }

# The docker compose of the tests: not every system has one, and 1.x will not do. It is built
# from a copy of its module, once, which takes a minute or two.
COMPOSE := v2.40.3

compose: bin/docker-compose-$(COMPOSE)

bin/docker-compose-$(COMPOSE):
	@module=$$($(GO) mod download -json github.com/docker/compose/v2@$(COMPOSE) | sed -n 's/^.*"Dir": "\(.*\)".*$$/\1/p'); \
	test -d "$$module" || { echo 'make: the tests need docker compose, whose module cannot be had' >&2; exit 1; }; \
	mkdir -p bin && copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && cp -r "$$module/." "$$copy" && chmod -R u+w "$$copy" && \
	CGO_ENABLED=0 $(GO) -C "$$copy" build -trimpath -ldflags '-s -w -X github.com/docker/compose/v2/internal.Version=$(COMPOSE)' -o '$(CURDIR)/$@' ./cmd

# Calls have to do over its API what they do over Docker's.
podman:
	@{ command -v podman && command -v runc; } >/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y --no-install-recommends podman runc >/dev/null; } || \
		{ echo 'make: the tests need podman: apt-get install podman runc' >&2; exit 1; }

# The pictures of the documentation.
screenshots: $(SHIMS) chromium
	mkdir -p docs/images
	HOSTEXEC_SCREENSHOTS='$(CURDIR)/docs/images' $(GO) test -run TestScreenshots -count=1 ./plugin/page

clean:
	rm -rf bin $(SHIMS)
