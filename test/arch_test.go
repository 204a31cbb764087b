// SPDX-License-Identifier: Apache-2.0

// Package test checks what needs more than one package: in this directory the structure of the code, and below it the
// control plane, the integration tests and the demo.
package test

import (
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"
)

// layers are in the order in which imports may point: a layer imports itself and later layers, never earlier ones.
var layers = []string{"test", "cmd", "controllers", "engine", "policy", "policy/v1alpha1"}

// layer returns the position of a package in layers. cmd and test may import crds, and crds imports none of our packages.
func layer(dir string) (int, bool) {
	if under(dir, "policy/v1alpha1") || under(dir, "crds") {
		return len(layers) - 1, true
	}
	i := slices.IndexFunc(layers, func(l string) bool { return under(dir, l) })
	return i, i >= 0
}

func under(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

func underAny(dir string, parents ...string) bool {
	return slices.ContainsFunc(parents, func(p string) bool { return under(dir, p) })
}

func TestImportsPointOneWay(t *testing.T) {
	for _, s := range sources(t) {
		from, ok := layer(s.dir)
		if !ok {
			t.Errorf("%s belongs to no layer", s.name)
			continue
		}
		for imported := range s.imports() {
			if ours, found := strings.CutPrefix(imported, module+"/"); found && !mayImport(s, from, ours) {
				t.Errorf("%s imports %s", s.name, ours)
			}
		}
	}
}

func mayImport(s source, from int, ours string) bool {
	to, ok := layer(ours)
	switch {
	case !ok:
		return false
	case under(ours, "crds"):
		return underAny(s.dir, "crds", "cmd", "test")
	case under(s.dir, "crds"):
		return false
	case under(ours, "test"):
		return s.isTest || under(s.dir, "test")
	default:
		return from <= to
	}
}

// homes lists the layers that may import a module.
var homes = map[string][]string{
	"github.com/google/cel-go":            {"engine", "test/faults/checker"},
	"cel.dev/expr":                        {"engine"},
	"k8s.io/apiserver/pkg/cel":            {"engine", "test/faults/checker"},
	"github.com/hashicorp/golang-lru":     {"engine"},
	"sigs.k8s.io/controller-runtime":      {"controllers", "cmd", "test"},
	"k8s.io/client-go":                    {"controllers", "cmd", "test"},
	"k8s.io/cli-runtime":                  {"cmd", "test"},
	"github.com/spf13":                    {"cmd"},
	"github.com/open-policy-agent":        {"controllers"},
	"github.com/openreports/reports-api":  {"policy/report", "controllers/reports", "test"},
	"github.com/prometheus/client_golang": {"controllers", "cmd", "test"},
	"k8s.io/component-base":               {"controllers/process/features", "controllers/process/tracing"},
	"go.opentelemetry.io":                 {"controllers/process/tracing", "controllers/retention"},
	"github.com/google/btree":             {"controllers"},
	"github.com/robfig/cron":              {"policy", "test/faults/checker"},
	"golang.org/x/sys":                    {"controllers/node/images", "controllers/node/agent", "test/containerd", "test/cluster", "test/fixture"},
	"k8s.io/cri-api":                      {"controllers/node/images/cri", "test/containerd"},
	"google.golang.org/grpc":              {"controllers/node/images", "controllers/process/tracing", "test/containerd", "test/volumes"},
	"github.com/distribution/reference":   {"controllers/node/images/cri", "cmd/kubectl-sunset/load"},
	"gocloud.dev":                         {"controllers/archives", "test"},
	"github.com/aws":                      {"controllers/archives/store", "test/stores"},
	"github.com/Azure":                    {"controllers/archives/store"},
	"google.golang.org/api":               {"controllers/archives/store"},
	"golang.org/x/oauth2":                 {"controllers/archives/store"},
	"filippo.io/age":                      {"policy/archive", "controllers/archives", "cmd/kubectl-sunset/command", "cmd/kubectl-sunset/archive", "test"},
	"github.com/klauspost/compress":       {"policy/archive", "test/day", "test/faults/history"},
	"github.com/parquet-go":               {"cmd/kubectl-sunset/archive/compact"},
	"github.com/google/go-cmp":            {"test"},
	"github.com/yuin/goldmark":            {"test"},
	"github.com/chromedp":                 {"test/playground"},

	"github.com/container-storage-interface": {"test/volumes"},
}

func TestModulesStayAtHome(t *testing.T) {
	for _, s := range sources(t) {
		for imported := range s.imports() {
			for outside, home := range homes {
				mayKnow := underAny(s.dir, home...) || s.isTest && outside == "github.com/google/go-cmp"
				if under(imported, outside) && !mayKnow {
					t.Errorf("%s imports %s, which only %s may import", s.name, imported, strings.Join(home, ", "))
				}
			}
		}
	}
}

// TestCheckerIsIndependent: the code that checks the product's decisions shares nothing with it except the API types.
func TestCheckerIsIndependent(t *testing.T) {
	for _, s := range sources(t) {
		if !underAny(s.dir, "test/faults/checker", "test/faults/history") || s.isTest {
			continue
		}
		for imported := range s.imports() {
			ours, found := strings.CutPrefix(imported, module+"/")
			if found && ours != "policy/v1alpha1" && !under(ours, "test/faults/history") {
				t.Errorf("%s imports %s", s.name, ours)
			}
		}
	}
}

// pure are the packages that promise to do no I/O, each with the modules that it may import besides the standard library
// and ours.
var pure = map[string][]string{
	"policy/v1alpha1": {"k8s.io/apimachinery"},
	"policy":          {"k8s.io/apimachinery", "sigs.k8s.io/json", "github.com/robfig/cron/v3"},
	"policy/rbac":     {"k8s.io/apimachinery"},
	"policy/ledger":   {"k8s.io/apimachinery"},
	"policy/agentapi": {"k8s.io/apimachinery"},
	"policy/timezone": {},
	"policy/audit":    {"k8s.io/apimachinery"},
	"policy/archive": {"k8s.io/apimachinery", "github.com/go-json-experiment/json", "filippo.io/age", "github.com/klauspost/compress/zstd",
		"golang.org/x/sync/errgroup"},
	"policy/archive/redact":   {"github.com/go-json-experiment/json/jsontext"},
	"policy/archive/settings": {"filippo.io/age"},
	"policy/digest":           {"k8s.io/apimachinery", "sigs.k8s.io/json"},
	"policy/report":           {"k8s.io/apimachinery", "k8s.io/api/core/v1", "github.com/openreports/reports-api"},
	"engine":                  nil, // homes lists them
	"engine/builtin":          {"k8s.io/apimachinery", "sigs.k8s.io/yaml"},
	"engine/cost":             {"github.com/google/cel-go"},
	"engine/diagnose":         {"github.com/google/cel-go", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/kube-openapi/pkg/validation/spec"},
	"engine/explain":          {"github.com/google/cel-go"},
	"engine/openapi":          {"github.com/google/cel-go", "k8s.io/apimachinery/pkg/runtime/schema", "k8s.io/kube-openapi"},
	"engine/syntax":           {"github.com/google/cel-go"},

	"controllers/kube/references":         {"k8s.io/apimachinery", "k8s.io/utils/clock"},
	"controllers/kube/references/extract": {"k8s.io/apimachinery"},
	"controllers/process/lockorder":       {},
	"controllers/process/wake":            {"k8s.io/utils/clock"},

	// The code that reads objects and computes previews, explanations and policy tests also runs in a browser.
	"cmd/kubectl-sunset/load": {"k8s.io/apimachinery", "k8s.io/kube-openapi/pkg/validation/spec", "sigs.k8s.io/json", "sigs.k8s.io/yaml",
		"go.yaml.in/yaml/v3", "golang.org/x/text", "github.com/distribution/reference"},
	"cmd/kubectl-sunset/offline":    {"k8s.io/apimachinery"},
	"cmd/kubectl-sunset/preview":    {"k8s.io/apimachinery", "golang.org/x/sync", "sigs.k8s.io/yaml"},
	"cmd/kubectl-sunset/explain":    {"k8s.io/apimachinery", "sigs.k8s.io/yaml"},
	"cmd/kubectl-sunset/policytest": {"sigs.k8s.io/yaml"},
	"cmd/kubectl-sunset/report":     {},

	"cmd/kubectl-sunset/archive":         {"k8s.io/apimachinery", "sigs.k8s.io/json"},
	"cmd/kubectl-sunset/archive/restore": {"k8s.io/apimachinery", "sigs.k8s.io/json"},

	"cmd/kubectl-sunset/status": {"k8s.io/apimachinery"},
	"cmd/kubectl-sunset/text":   {},
	"cmd/kubectl-sunset/who":    {"k8s.io/apimachinery"},
}

// io are the packages of the standard library that do I/O.
var io = []string{"net", "os", "io/fs", "io/ioutil", "path/filepath", "syscall", "log", "database", "plugin", "testing"}

func TestPureStayPure(t *testing.T) {
	for _, s := range sources(t) {
		mayKnow, isPure := pure[s.dir]
		if !isPure || s.isTest || s.isMain() {
			continue
		}
		for imported := range s.imports() {
			if underAny(imported, io...) && imported != "net/netip" && imported != "net/url" {
				t.Errorf("%s imports %s, and %s does no I/O", s.name, imported, s.dir)
			}
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			if _, pureToo := pure[ours]; isOurs && !pureToo {
				t.Errorf("%s imports %s, which does not promise to do no I/O as %s does", s.name, ours, s.dir)
			}
			if outside := strings.Contains(imported, "."); outside && mayKnow != nil && !underAny(imported, append(mayKnow, module)...) {
				t.Errorf("%s imports %s; %s may import only %s", s.name, imported, s.dir, strings.Join(mayKnow, ", "))
			}
		}
	}
}

// TestClockIsReadOnlyInCommandsAndTests: all other packages receive the time as a parameter, so tests can ask about any time.
func TestClockIsReadOnlyInCommandsAndTests(t *testing.T) {
	clocks := map[string][]string{"time": {"Now", "Since", "Until"}, "k8s.io/utils/clock": {"RealClock"}}
	for _, s := range sources(t) {
		if _, isPure := pure[s.dir]; s.isTest || underAny(s.dir, "cmd", "test") && !isPure {
			continue
		}
		imports := s.imports()
		for imported, readers := range clocks {
			name, ok := imports[imported]
			if ok && name == "." {
				t.Errorf("%s imports %s with a dot import", s.name, imported)
			}
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				if of, selected := selector(n); ok && of == name && slices.Contains(readers, selected) {
					t.Errorf("%s uses %s.%s; have the time passed in", s.name, of, selected)
				}
				return true
			})
		}
	}
}

// TestReceiptsComeFromRecords: only the package that writes and verifies a record makes the receipt that permits a deletion.
func TestReceiptsComeFromRecords(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || s.dir == "controllers/archives" {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			made, ok := n.(*ast.CompositeLit)
			if !ok || len(made.Elts) == 0 {
				return true
			}
			name, isName := made.Type.(*ast.Ident)
			of, selected := selector(made.Type)
			if selected == "Receipt" && of == s.imports()[module+"/policy"] || isName && name.Name == "Receipt" && s.dir == "policy" {
				t.Errorf("%s makes a policy.Receipt", s.name)
			}
			return true
		})
	}
}

// selector returns x and Y of an expression x.Y.
func selector(n ast.Node) (of, selected string) {
	expression, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := expression.X.(*ast.Ident); ok {
		return x.Name, expression.Sel.Name
	}
	return "", ""
}

func TestRootDirectoryHasOnlyKnownEntries(t *testing.T) {
	allowed := []string{"cmd", "policy", "engine", "controllers", "crds", "samples", "test", "docs", "charts", "dist",
		"go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
		"CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "OWNERS"}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) {
			t.Errorf("%s does not belong in the root directory", name)
		}
	}
}
