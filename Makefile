# Everything a contributor runs. `make check` is exactly what CI runs.
#
# Needed: Go 1.21 or newer (it fetches the toolchain that go.mod names) and gcc for the race detector, and for the end-to-end suite Python 3.11+ and
# Node 20+ (npm for the browser tests, too). The rest is installed here, pinned: linters through Go modules, SDKs and the model server into .venv and
# node_modules; from Debian's packages, not pinned, the servers that the stores are tested against.

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

MODULES  := . bench tests/e2e tests/deploy tests/otel tests/browser
FUZZTIME ?= 2000x
ROUNDS   ?= 15
# Packages that are tested at once: some wait for servers meanwhile.
TESTED   := $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
# What goes before a program that computes while others mind the time: `make check` says nice.
NICE     ?=
# Where make can (GNU make 4), what targets say that run side by side is told one target after the other.
HELD     := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.PHONY: help run build test check check-waiting check-computing fmt lint vet vuln gosec race fuzz e2e otel ui browser bench bench-test stores test-tools clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and run the demo: a gateway with three simulated providers, no key needed
	bin/evergate demo

build: ## build the static binary bin/evergate
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/evergate ./cmd/evergate

test: ## the quick tests: go test -race ./...
	go test -race ./...

# Two rows side by side: the suites that start servers and browsers, which wait for them much of the time and mind how long things take, and behind them
# what only computes. Then the race tests, which use all there is. `lint` has all that `vet` finds.
check: ## everything CI runs: format, lint and vet, race tests, deploy/, fuzzing, end-to-end, the dashboard in a browser
	@$(MAKE) --no-print-directory -j2 $(HELD) NICE='nice -n 10' check-waiting check-computing
	@$(MAKE) --no-print-directory race

check-waiting:
	@for t in e2e otel browser; do $(MAKE) --no-print-directory $$t || exit 1; done

check-computing:
	@for t in lint fuzz vuln deploy-check ui bench-test; do $(MAKE) --no-print-directory $$t || exit 1; done

fmt: ## format all Go files
	@for m in $(MODULES); do (cd $$m && go run $(GOLANGCI) fmt) || exit 1; done

lint: ## format check and linters
	@for m in $(MODULES); do echo "lint $$m"; (cd $$m && $(NICE) go run $(GOLANGCI) fmt --diff && $(NICE) go run $(GOLANGCI) run) || exit 1; done

vet: ## go vet
	@for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done

vuln: ## known vulnerabilities in what the program and the toolchain of go.mod bring (skipped where the list of them cannot be reached)
	$(NICE) scripts/vulncheck .

gosec: ## gosec alone, which lint runs, too
	go run $(GOLANGCI) run --enable-only gosec

race: stores ## all tests of the program under the race detector, and without it those that count what is left or spent, or start hundreds of gateways
	EVERGATE_REAL_STORES=$${EVERGATE_REAL_STORES:-1} go test -race -timeout 15m -p $(TESTED) ./internal/app ./... # the longest first
	go test -run 'Leak|TestScale|TestLedgerLarge|TestOverviewOfManyGroups|TestHostile|TestGuardrailsRedactEverywhere' ./internal/app ./internal/replica ./internal/store/sqlite

bench-test: ## tests of the benchmark tools
	cd bench && $(NICE) go test ./...

deploy-check: ## what deploy/ ships, against BuildKit, hadolint, Compose, Helm, Kubernetes' types and systemd
	scripts/install-deploy-tools
	cd tests/deploy && $(NICE) go test -count=1 -timeout 20m ./...

fuzz: ## each fuzz target for FUZZTIME (2000x; 1m and the like work, too)
	$(NICE) scripts/fuzz $(FUZZTIME)

e2e: stores test-tools ## end to end: real model servers behind, real SDKs in front (MODEL=mock: simulated servers)
	cd tests/e2e && go test -count=1 -timeout 20m -parallel 4 -v ./... # at a time: most of what runs side by side waits most of the time

otel: ## traces against a real OpenTelemetry collector
	cd tests/otel && go test -count=1 -timeout 5m ./...

ui: ## the dashboard's types and unit tests, and that internal/dashboard/dist is what ui/ gives
	$(NICE) ui/check

browser: ## the dashboard in a real Chromium; screenshots in tests/browser/out
	scripts/install-browser
	cd tests/browser && go test -count=1 -timeout 5m -v ./...

stores: ## install the servers that the stores are tested against: Redis, PostgreSQL, PgBouncer
	scripts/install-stores

test-tools: ## install what the end-to-end suite needs
	scripts/install-test-tools

bench: build ## measure against a bare reverse proxy (ROUNDS=15; ROUNDS=3 for a quick look)
	bench/run $(ROUNDS)

clean: ## remove what was built and installed here
	rm -rf bin bench/out .venv tests/sdk/ts/node_modules tests/sdk/ts/build tests/agents/node_modules tests/browser/node_modules tests/browser/out
