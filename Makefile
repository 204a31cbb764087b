# Tools are pinned by the tool lines of go.mod and run with `go tool`; nothing else has to be installed but Go.

GENERATED := policy/v1alpha1/zz_generated.deepcopy.go 'crds/*.yaml' docs/cel.md docs/reference.md charts/sunset/files
TEST_FLAGS ?= -timeout 30m -p 2
# The integration tests take longest: they begin first, and everything else runs beside them.
PACKAGES ?= ./test/integration ./...
FUZZTIME ?= 30s
HELM := go tool -modfile=test/controlplane/helm/go.mod helm

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Code

.PHONY: generate
generate: ## Write the deepcopy functions, the CRDs, docs/cel.md, docs/reference.md and what the chart copies again
	go tool controller-gen object paths=./policy/v1alpha1
	go tool controller-gen crd paths=./policy/v1alpha1 output:crd:dir=crds
	go run ./crds/preserve crds/*.yaml
	go run ./crds/reference -o docs/reference.md
	go generate ./engine
	rm -rf charts/sunset/files/crds charts/sunset/files/admission charts/sunset/files/nodes
	mkdir -p charts/sunset/files/crds charts/sunset/files/nodes
	cp crds/*.yaml charts/sunset/files/crds/
	cp -r crds/admission charts/sunset/files/
	cp crds/nodes/rights.yaml charts/sunset/files/nodes/

.PHONY: verify
verify: verify-generated verify-modules verify-docs lint ## Fail if a generated file or go.mod is out of date, a link leads nowhere, or a linter finds something

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

.PHONY: lint
lint: ## Run gofmt, go vet and staticcheck, and vale on comments, messages and pages
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	go run ./test/prose

.PHONY: chart
chart: ## Check the Helm chart; UPDATE=-update writes its golden files and the table in docs/install.md again
	$(HELM) lint --strict charts/sunset
	go test ./test/chart $(UPDATE)

##### Release

.PHONY: archives
archives: ## Build kubectl-sunset for every platform, with checksums and the krew manifest, into dist/ (VERSION=v1.2.3)
	go run ./test/release -version "$(VERSION)" -o dist

.PHONY: record
record: control-plane ## Keep what this version writes, for upgrades from it to be tested (VERSION=v1.2.3)
	go test ./test/upgrade -run TestEveryFormatIsRead -record "$(VERSION)"

##### Tests

.PHONY: control-plane
control-plane: # once per machine: builds the real API server and controllers that tests run against, Helm and Prometheus
	go run ./test/cluster/prebuild
	$(HELM) version --short
	cd test/monitoring/prometheus && CGO_ENABLED=0 go test -run '^$$' ./...

.PHONY: check
check: lint ## Run what needs no control plane: linters and unit tests
	go test ./cmd/... ./controllers/... ./crds/... ./engine/... ./policy/... ./test ./test/mutants

.PHONY: test
test: control-plane ## Run all tests; those of the cluster against a real control plane
	go test $(TEST_FLAGS) $(PACKAGES)

.PHONY: test-race
test-race: control-plane ## Run all tests with the race detector and checks of the lock order, and replicas of the fault scenarios with the former
	SUNSET_FAULTS_BUILD=race go test -race -tags lockorder $(TEST_FLAGS) $(PACKAGES)

.PHONY: test-long
test-long: control-plane ## Explore more of what can happen to a ledger, kill the controller at every write, and live through thirty days, and run MultiKueue (about 30 minutes)
	SUNSET_LONG=1 go test -v -timeout 1h -run TestADay ./test/day
	SUNSET_LONG=1 go test -timeout 30m -run 'TestKilledAtEveryWrite|TestMultiKueue' ./test/integration
	SUNSET_LONG=1 go test -v -run Interleavings -timeout 2h ./policy/ledger

SEEDS ?= 20
TIME ?=

.PHONY: faults
faults: control-plane ## Run every fault scenario, and mutants that these must catch; then SEEDS=20 random schedules, or for TIME=30m (about 40 minutes)
	@code=0; \
	SUNSET_FAULTS=all go test -v -timeout 0 -skip TestRandomSchedules ./test/faults || code=1; \
	SUNSET_FAULTS=all SUNSET_FAULTS_SEEDS="$(SEEDS)" SUNSET_FAULTS_TIME="$(TIME)" go test -v -timeout 0 -run TestRandomSchedules ./test/faults || code=1; \
	exit $$code

MUTANTS ?= all
GREMLINS ?=

.PHONY: mutants
mutants: ## Check that tests notice each small change of test/mutants (MUTANTS=regexp); GREMLINS=./policy adds every mutant of gremlins for one package
	SUNSET_MUTANTS="$(MUTANTS)" go test -v -timeout 0 -run TestMutantsAreKilled ./test/mutants
	@if [ -n "$(GREMLINS)" ]; then go tool -modfile=test/mutants/gremlins/go.mod gremlins unleash "$(GREMLINS)" --timeout-coefficient 20 --output-statuses l; fi

.PHONY: fuzz
fuzz: ## Fuzz every fuzz target for FUZZTIME each
	@grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$$file"); do \
			echo "$$file: $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## Measure Sunset beside its peers and the raw limit, in one table (about 40 minutes)
	go run ./test/bench

.PHONY: demo
demo: ## Watch Sunset at work on a control plane of its own (DEMO_ONCE=1 ends it after one round)
	@dir=$$(mktemp -d); trap : INT; \
	go build -o "$$dir/demo" ./test/demo && "$$dir/demo"; code=$$?; \
	rm -rf "$$dir"; exit $$code
