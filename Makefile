# SPDX-License-Identifier: Apache-2.0
# Modules in test pin the tools, which run with `go tool`. You need to install only Go.

GENERATED := policy/v1alpha1/zz_generated.deepcopy.go 'crds/*.yaml' docs/reference/cel.md docs/reference/api.md docs/reference/kubectl-sunset.md docs/reference/kubectl-sunset-output.md cmd/kubectl-sunset/command/unused charts/sunset/files \
	cmd/kubectl-sunset/load/builtin.txt
# The tags of the programs, so that tests share their compiled packages.
TAGS := disable_grpc_modules,grpcnotrace
# make lint runs govet.
TEST_FLAGS ?= -timeout 30m -p 3 -vet=off -tags=$(TAGS)
# The packages whose tests take longest are first, so that none of them runs alone at the end. go test runs a package once, at its first place.
PACKAGES ?= ./test/integration ./test/playground ./test/chart ./policy/ledger ./test/faults ./test/bench ./test/release ./test/stores ./test/cluster ./...
FUZZTIME ?= 30s
TOOL := go tool -modfile=test/tools/go.mod
# It runs go test and repeats at the end what tests that failed printed, and only that.
GOTESTSUM := $(TOOL) gotestsum --format standard-quiet --hide-summary skipped
GOLANGCI_LINT := go tool -modfile=test/tools/golangci-lint/go.mod golangci-lint
GORELEASER := go tool -modfile=test/tools/goreleaser/go.mod goreleaser
HELM := go tool -modfile=test/controlplane/helm/go.mod helm
KUSTOMIZE := go tool -modfile=test/chart/kustomize/go.mod kustomize

# Releases are built without cgo too. With cgo, kustomize imports package plugin, which makes the linker keep all methods and requires gcc.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Code

.PHONY: generate
generate: ## Generate the deepcopy functions, the CRDs, the generated pages of docs/reference and the copies in the chart
	$(TOOL) controller-gen object paths=./policy/v1alpha1
	$(TOOL) controller-gen crd paths=./policy/v1alpha1 output:crd:dir=crds
	go run ./crds/preserve crds/*.yaml
	go run ./crds/reference -o docs/reference/api.md
	for sample in $(filter-out %/definitions,$(wildcard samples/unused/*)); do cp $$sample/policy.yaml cmd/kubectl-sunset/command/unused/$$(basename $$sample).yaml; done
	for kind in configmaps secrets; do cp samples/unused-$$kind/policy.yaml cmd/kubectl-sunset/command/unused/$$kind.yaml; done
	go test ./cmd/kubectl-sunset/command -run 'TestReferencePage|TestOutputPage' -update
	go test ./cmd/kubectl-sunset/load -run TestBuiltinKindsAreGenerated -update
	go generate ./engine
	rm -rf charts/sunset/files/crds charts/sunset/files/admission charts/sunset/files/nodes
	mkdir -p charts/sunset/files/crds charts/sunset/files/nodes
	cp crds/*.yaml charts/sunset/files/crds/
	cp -r crds/admission charts/sunset/files/
	cp crds/nodes/rbac.yaml charts/sunset/files/nodes/

.PHONY: verify
verify: verify-generated verify-modules verify-docs verify-release lint ## Fail if a generated file or go.mod is out of date, a link is broken, or a linter reports a finding

.PHONY: verify-generated
verify-generated: generate
	git diff --exit-code -- $(GENERATED)
	@untracked=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	if [ -n "$$untracked" ]; then echo "generated, but not added to git:"; echo "$$untracked"; exit 1; fi

.PHONY: verify-modules
verify-modules:
	go mod tidy -diff

.PHONY: verify-docs
verify-docs:
	go test ./test -run 'Links|Pages|Runbook'

.PHONY: verify-release
verify-release:
	$(GORELEASER) check

.PHONY: lint
lint: ## Run golangci-lint (.golangci.yml), actionlint on workflows, and vale on comments, messages and pages
	$(GOLANGCI_LINT) fmt --diff
	$(GOLANGCI_LINT) run
	$(TOOL) actionlint
	go run ./test/prose

.PHONY: vulncheck
vulncheck: ## Report known vulnerabilities of the modules that the code uses (needs https://vuln.go.dev)
	$(TOOL) govulncheck ./...

.PHONY: chart
chart: ## Check the Helm chart; UPDATE=-update updates its golden files, its README and charts/rendered.yaml
	$(HELM) lint --strict charts/sunset
	go test ./test/chart $(UPDATE)

##### Pages

.PHONY: playground
playground: ## Build the playground, a page that shows in a browser what policies delete, into dist/playground (needs Node, npm and zstd)
	rm -rf dist/playground
	go run ./cmd/playground/build -o dist/playground playground

BASE ?= /

.PHONY: site
site: ## Build the documentation for a web server, with the playground and reports of the samples, into dist/site (BASE=/path/ on the server)
	rm -rf dist/site
	go run ./cmd/playground/build -o dist/site -base "$(BASE)" site

.PHONY: pictures
pictures: ## Take the pictures of the playground and of a report for README.md, into docs/images (needs Node, npm, zstd and Chromium)
	go test ./test/playground -run TestPicturesAreSmall -count=1 -pictures "$(CURDIR)/docs/images"

##### Release

.PHONY: snapshot
snapshot: ## Build kubectl-sunset for every platform, with checksums and the krew manifest, into dist/
	$(GORELEASER) release --snapshot --clean --skip=ko,sbom,sign

.PHONY: chart-package
chart-package: ## Build the archive of the chart for helm push, in dist/ (VERSION=v1.2.3)
	$(HELM) package charts/sunset --destination dist --version "$(VERSION:v%=%)" --app-version "$(VERSION)"

REGISTRY ?= registry.example.com/sunset
INSTALL ?= dist/install.yaml

.PHONY: install-manifests
install-manifests: ## Write the objects of the chart with default values to dist/install.yaml (VERSION=v1.2.3 REGISTRY=registry.example.com/sunset)
	mkdir -p $(dir $(INSTALL))
	$(KUSTOMIZE) build charts | sed 's|image: sunset-controller:.*|image: $(REGISTRY)/sunset-controller:$(VERSION)|' > $(INSTALL)

.PHONY: record
record: control-plane ## Record what this version writes, for tests of upgrades from it (VERSION=v1.2.3)
	go test ./test/upgrade -run TestRecordingOfEachVersionIsRead -record "$(VERSION)"

##### Tests

.PHONY: control-plane
control-plane: # once per machine: build the API server and controllers for tests, Helm, kustomize, Prometheus, DuckDB, the interpreters of health checks and the engine of the playground
	go run ./test/cluster/prebuild
	$(HELM) version --short
	$(KUSTOMIZE) version
	cd test/monitoring/prometheus && go test -run '^$$' ./...
	cd test/gitops/health && go test -run '^$$' ./...
	cd test/stores/duckdb && if command -v g++ >/dev/null; then echo 'SELECT 1' | CGO_ENABLED=1 GOFLAGS=-mod=readonly go run . >/dev/null; fi
	go run ./cmd/playground/build engine

.PHONY: check
check: lint ## Run the linters and the unit tests, which need no control plane
	go test -vet=off ./cmd/... ./controllers/... ./crds/... ./engine/... ./policy/... ./test ./test/mutants

.PHONY: test
test: export GOGC = 400
test: control-plane ## Run all tests, including those on a real control plane
	$(GOTESTSUM) -- $(TEST_FLAGS) $(PACKAGES)

.PHONY: test-race
test-race: control-plane ## Run all tests, and replicas of the fault scenarios, with the race detector; tests also check the lock order
	CGO_ENABLED=1 SUNSET_FAULTS_BUILD=race $(GOTESTSUM) -- -race $(TEST_FLAGS) -tags=$(TAGS),lockorder $(PACKAGES)

.PHONY: test-pages
test-pages: control-plane ## Run all tests of the playground and other pages: every sample, 1,000 random cases, every look of the site, with screenshots in dist/screenshots/index.html (about 15 minutes)
	rm -rf dist/screenshots
	SUNSET_LONG=1 go test -v -timeout 1h ./test/playground -screenshots "$(CURDIR)/dist/screenshots"

.PHONY: test-long
test-long: control-plane ## Run what make test omits or shortens: more states of a ledger and more random cases, thirty days, a thousand policies, all benchmarks in small sizes (at most 40 minutes)
	SUNSET_LONG=1 go test -v -timeout 1h -run TestDay ./test/day
	SUNSET_LONG=1 go test -timeout 30m -run 'TestMultiKueue|TestManyPolicies|TestCommandsOfPages/kubectl-sunset' ./test/integration
	SUNSET_LONG=1 go test -timeout 30m ./test/bench
	SUNSET_LONG=1 go test -v -run Interleavings -timeout 2h ./policy/ledger
	SUNSET_LONG=1 go test -timeout 30m ./policy ./engine ./controllers/kube/references ./controllers/node/images/history ./controllers/retention/...

SEEDS ?= 20
TIME ?=

.PHONY: faults
faults: control-plane ## Run every fault scenario, and the mutants that they must detect; then SEEDS=20 random schedules, or for TIME=30m
	@code=0; \
	SUNSET_FAULTS=all go test -v -timeout 0 -skip TestRandomSchedules ./test/faults -beside 20 || code=1; \
	SUNSET_FAULTS=all SUNSET_FAULTS_SEEDS="$(SEEDS)" SUNSET_FAULTS_TIME="$(TIME)" go test -v -timeout 0 -run TestRandomSchedules ./test/faults -beside 20 || code=1; \
	exit $$code

MUTANTS ?= all
GREMLINS ?=

.PHONY: mutants
mutants: ## Check that tests detect each mutant of test/mutants (MUTANTS=regexp); GREMLINS=./policy adds the mutants of gremlins for one package
	SUNSET_MUTANTS="$(MUTANTS)" go test -v -timeout 0 -run TestMutantsAreKilled ./test/mutants
	@if [ -n "$(GREMLINS)" ]; then go tool -modfile=test/mutants/gremlins/go.mod gremlins unleash "$(GREMLINS)" --timeout-coefficient 20 --output-statuses l; fi

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME
	@grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$$file"); do \
			echo "$$file: $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## Measure Sunset, its alternatives and the raw limit, in one table (some hours)
	go run ./test/bench

KOR ?=
POPEYE ?=

.PHONY: peers
peers: control-plane ## Compare what kor, popeye and Sunset report about the objects of the samples (KOR=/path/to/kor POPEYE=/path/to/popeye)
	go run ./test/peers -kor "$(KOR)" -popeye "$(POPEYE)"

.PHONY: demo
demo: ## Show Sunset on a separate control plane (DEMO_ONCE=1 ends after one run)
	@dir=$$(mktemp -d); trap : INT; \
	go build -o "$$dir/demo" ./test/demo && "$$dir/demo"; code=$$?; \
	rm -rf "$$dir"; exit $$code
