# weir: every target that needs explaining explains itself below.
# "make" alone prints the list.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLAYWRIGHT  = playwright-core@1.64.1
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME   ?= 30s
SOAK       ?= 30m
BENCH_SECONDS ?= 5
IMAGE      ?= weir
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT     ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
DOCKER     ?= $(shell for tool in docker podman buildah; do if $$tool info >/dev/null 2>&1; then echo $$tool; break; fi; done)

# What is not docker must be asked for a format that can hold a HEALTHCHECK.
IMAGEFLAGS  = $(if $(filter docker,$(DOCKER)),,--format docker)

# The SQLite engine is C, so everything here is built with cgo.
export CGO_ENABLED = 1

.DEFAULT_GOAL := help
.PHONY: help build run demo test browser interop check vet format lint vuln bench fuzz soak image clean tools cgo

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: cgo ## build the program as ./weir
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o weir .

run: build ## build and serve, with the settings of the environment
	./weir

demo: build ## build and show what weir does to a storm, in under a minute
	./weir demo

test: tools cgo ## run all tests, with the race detector and in random order
	go test -race -shuffle=on -timeout 20m ./...

# The npm package goes into a folder that is thrown away. Screenshots are kept
# where BROWSER_SHOTS names a folder.
browser: cgo ## use the dashboard in Chromium (needs chromium, node, npm)
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	npm install --silent --no-audit --no-fund --no-save --prefix "$$folder" $(PLAYWRIGHT); \
	NODE_PATH="$$folder/node_modules" go test -tags browser -run '^TestDashboardInABrowser$$' -timeout 5m ./e2e

# Skipped where no registry answers.
interop: cgo ## the senders' own libraries sign and verify (needs node, npm)
	@cd e2e/interop && go test -tags interop -count=1 -timeout 5m

check: vet format lint vuln test browser interop ## what CI runs: the checks, then all tests

vet: cgo ## go vet
	go vet -tags browser,interop ./...

format: ## fail where gofmt would change a file
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "not formatted by gofmt:"; echo "$$files"; exit 1; fi

lint: cgo ## staticcheck
	go run $(STATICCHECK) -tags browser,interop ./...

vuln: ## known vulnerabilities in what the program calls
	@out=$$(go run $(GOVULNCHECK) ./... 2>&1); status=$$?; \
	if [ $$status -ne 0 ] && echo "$$out" | grep -q 'fetching vulnerabilities'; then \
		echo "govulncheck skipped: database unreachable"; \
	else echo "$$out"; exit $$status; fi

bench: cgo ## speed and size as ratios within one run (BENCH_STORED=1000000)
	BENCH_SECONDS=$(BENCH_SECONDS) go test -run '^$$' -bench '^BenchmarkSpeed$$' -benchtime 1x -timeout 30m ./e2e

fuzz: cgo ## run each fuzz test for FUZZTIME (default 30s)
	@set -e; for package in $$(go list ./...); do \
		for name in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$name"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

soak: cgo ## kill, flood and fail for SOAK (default 30m), and count what is lost
	SOAK=$(SOAK) go test -count=1 -v -run '^TestSoak$$' -timeout 2h ./e2e

image: ## build the container image with docker, podman or buildah
	@if [ -z "$(DOCKER)" ]; then echo "no docker, podman or buildah answers here" >&2; exit 1; fi
	$(DOCKER) build $(IMAGEFLAGS) -t $(IMAGE) --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) .

clean: ## remove what the targets above made
	rm -f weir *.test *.prof

tools:
	@.ci/install gcc=gcc promtool=prometheus curl=curl openssl=openssl

cgo:
	@if [ "$$(go env CGO_ENABLED)" != 1 ]; then echo "weir needs cgo: set CGO_ENABLED=1" >&2; exit 1; fi
	@if ! command -v "$$(go env CC | cut -d' ' -f1)" >/dev/null; then \
		echo "weir needs a C compiler for SQLite: install gcc, or set CC" >&2; exit 1; fi
