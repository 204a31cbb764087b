// SPDX-License-Identifier: Apache-2.0

// Package health evaluates the health checks of a page as Argo CD, Flux and kstatus do.
package health

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// check is what the expressions of the page say about an object.
type check struct {
	object string // in YAML, without apiVersion, kind and name
	flux   status.Status
}

const (
	ready   = "{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Other, status: 'False'}, {type: Ready, status: 'True', reason: Ready}]}}"
	waiting = "with the expressions below, Flux waits"
)

// checks are objects for each row of the table of the page, by its first cell.
var checks = map[string][]check{
	"`observedGeneration` is not the generation, or `Ready` is Unknown": {
		{strings.Replace(ready, "generation: 2", "generation: 3", 1), status.InProgressStatus},
		{of("Unknown", "Pending"), status.InProgressStatus},
		{"{metadata: {generation: 1}, status: {conditions: [{type: Ready, status: Unknown, reason: Pending}]}}", status.InProgressStatus},
	},
	"`Ready` is True, also for a dry run and while [`limits`](limit-deletions.md) delay deletions": {{ready, status.CurrentStatus}},
	"the same, with the mode `Suspend`, or `suspend` of a RetentionDigest":                         {{of("True", "Suspended"), status.CurrentStatus}},
	"`Ready` is False with the reason `ApprovalRequired`":                                          {{of("False", "ApprovalRequired"), status.CurrentStatus}},
	"`Ready` is False with another reason, such as `RuleInvalid`, `Forbidden`, `ArchiveUnavailable` or `NotAccepted`": {
		{of("False", "RuleInvalid"), status.FailedStatus}, {of("False", "ArchiveUnavailable"), status.FailedStatus},
	},
}

func of(is, reason string) string {
	return strings.NewReplacer("'True'", "'"+is+"'", "reason: Ready", "reason: "+reason).Replace(ready)
}

func TestHealthChecksOfThePage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/tasks/use-gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	script, expressions := argo(t, page), flux(t, page)
	rows := regexp.MustCompile(`(?m)^\| (.*) \| (\w+)(?:; (.*))? \| (\w+) \|$`).FindAllStringSubmatch(page, -1)
	var names []string
	for _, row := range rows {
		names = append(names, row[1])
		for _, c := range checks[row[1]] {
			object := parse(t, c.object)
			if got, err := status.Compute(object); err != nil || string(got.Status) != row[2] {
				t.Errorf("%s: kstatus: %v, %v, want %s: %s", row[1], got, err, row[2], c.object)
			}
			if got := run(t, script, object); got != row[4] {
				t.Errorf("%s: Argo CD: %s, want %s: %s", row[1], got, row[4], c.object)
			}
			// A status reader of Flux reports an error as Unknown, and Flux waits.
			got, err := expressions.Evaluate(t.Context(), object)
			if err != nil {
				got = &status.Result{Status: status.UnknownStatus}
			}
			if got.Status != c.flux {
				t.Errorf("%s: Flux: %s (%v), want %s: %s", row[1], got.Status, err, c.flux, c.object)
			}
			if want := c.flux == status.UnknownStatus; want != (row[3] == waiting) {
				t.Errorf("%s: the page says %q", row[1], row[3])
			}
		}
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(checks)); !slices.Equal(want, names) {
		t.Errorf("the table of the page has the rows %q, want %q", names, want)
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(strings.Replace(text, "{metadata:", "{apiVersion: sunset-k8s.io/v1alpha1, kind: ClusterRetentionPolicy, metadata:", 1)))
	if err == nil {
		err = object.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return object
}

// block returns the first block of YAML of the page that contains a text.
func block(t *testing.T, page, contains string) []byte {
	t.Helper()
	for _, found := range regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
		if strings.Contains(found[1], contains) {
			return []byte(found[1])
		}
	}
	t.Fatalf("no block has %s", contains)
	return nil
}

// argo returns the script of the page.
func argo(t *testing.T, page string) string {
	t.Helper()
	const key = "resource.customizations.health.sunset-k8s.io_ClusterRetentionPolicy"
	var settings struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(block(t, page, key), &settings); err != nil || settings.Data[key] == "" {
		t.Fatalf("no script: %v", err)
	}
	return settings.Data[key]
}

// run runs a script with the libraries that Argo CD opens for health checks, and returns the status.
func run(t *testing.T, script string, object *unstructured.Unstructured) string {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", value(state, object.Object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	return state.Get(-1).(*lua.LTable).RawGetString("status").String()
}

// value converts a value of JSON as Argo CD does.
func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range of {
			table.RawSetString(key, value(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range of {
			table.Append(value(state, item))
		}
		return table
	case string:
		return lua.LString(of)
	case int64:
		return lua.LNumber(of)
	case bool:
		return lua.LBool(of)
	default:
		return lua.LNil
	}
}

// flux returns the expressions of the page, parsed by Flux.
func flux(t *testing.T, page string) *cel.StatusEvaluator {
	t.Helper()
	var kustomization struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	if err := yaml.Unmarshal(block(t, page, "healthCheckExprs"), &kustomization); err != nil || len(kustomization.Spec.HealthCheckExprs) != 1 {
		t.Fatalf("no expressions: %v", err)
	}
	evaluator, err := cel.NewStatusEvaluator(&kustomization.Spec.HealthCheckExprs[0].HealthCheckExpressions)
	if err != nil {
		t.Fatal(err)
	}
	return evaluator
}
