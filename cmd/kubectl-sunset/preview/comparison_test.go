// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/manifests"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// rulesAbout returns a policy with one rule for each target, such as "v1 Pod 2d" or "v1 Pod 2d false".
func rulesAbout(name, mode string, targets ...string) string {
	text := "---\napiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: " + name + "}\nspec:\n  mode: " + mode + "\n  rules:\n"
	for i, target := range targets {
		words := append(strings.Fields(target), "true")
		text += fmt.Sprintf("  - {name: r%d, target: {apiVersion: %s, kind: %s}, eligible: %q, startTime: object.metadata.creationTimestamp, ttl: %s}\n",
			i, words[0], words[1], words[3], words[2])
	}
	return text
}

func created(apiVersion, kind, namespace, name, time string) string {
	return fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {namespace: %q, name: %s, creationTimestamp: %q}}\n", apiVersion, kind, namespace, name, time)
}

// comparing returns a comparison of the policies inForce with the policies asked, and the objects. Policy "others" is a policy
// of the cluster.
func comparing(t *testing.T, inForce, asked, objects string) (*preview.Comparison, *load.Files) {
	t.Helper()
	compiler := fixture.Compiler(t)
	loader := load.NewLoader(compiler, policy.DefaultProtection())
	kinds := map[string]sets.Set[schema.GroupKind]{}
	policies := map[string][]*policy.Policy{}
	for _, text := range []string{inForce, asked} {
		files := opened(t, text+"---\n# nothing\n")
		in, err := load.Read(files, loader)
		expect.NoError(t, err)
		policies[text], kinds[text] = in.Rules(), sets.New[schema.GroupKind]()
		for _, p := range in.Policies {
			for _, rule := range p.Rules {
				if p.Name != "others" {
					kinds[text].Insert(policy.StoredAs(rule.Kind))
				}
			}
		}
	}
	input := preview.Input{
		Compiler: compiler, Policies: policies[asked], Programs: loader.Programs, Protection: loader.Protection,
		At: at, Kinds: kinds[asked],
	}
	return preview.NewComparison(input, preview.InForce{Policies: policies[inForce]}, kinds[inForce]), opened(t, objects)
}

func opened(t testing.TB, text string) *load.Files {
	t.Helper()
	files, err := manifests.Open(resource.FilenameOptions{Filenames: []string{manifests.Stdin}}, strings.NewReader(text))
	expect.NoError(t, err)
	t.Cleanup(func() { _ = files.Close() })
	return files
}

func compared(t *testing.T, inForce, asked, objects string) *preview.Result {
	t.Helper()
	c, files := comparing(t, inForce, asked, objects)
	result, err := c.Run(t.Context(), files.Feed())
	expect.NoError(t, err)
	return result
}

// changes formats each change as one line.
func changes(r *preview.Result) []string {
	lines := []string{}
	for _, c := range r.Changes {
		lines = append(lines, fmt.Sprintf("%s %s/%s %s %s to %s", c.Kind, c.Namespace, c.Name, c.Type, c.Before.Reason, c.After.Reason))
	}
	return lines
}

func TestChanges(t *testing.T) {
	const yesterday = "2026-02-28T12:00:00Z"
	onePod := created("v1", "Pod", "team", "a", yesterday)
	enforced := func(ttl string) string { return rulesAbout("p", "Enforce", "v1 Pod "+ttl) }
	for name, test := range map[string]struct {
		inForce, asked string
		want           []string
	}{
		"no rule before, due now":        {"", enforced("1h"), []string{"Pod team/a NewlyDeleted NotSelected to Expired"}},
		"no rule before, due later":      {"", enforced("9d"), []string{"Pod team/a NewlyDeleted NotSelected to Waiting"}},
		"no rule before, and kept":       {"", rulesAbout("p", "Enforce", "v1 Pod 1h false"), nil},
		"kept before":                    {rulesAbout("p", "Enforce", "v1 Pod 1h false"), enforced("1h"), []string{"Pod team/a NewlyDeleted NotEligible to Expired"}},
		"a dry run counts as kept":       {rulesAbout("p", "DryRun", "v1 Pod 1h"), enforced("1h"), []string{"Pod team/a NewlyDeleted DryRun to Expired"}},
		"the new policy is a dry run":    {enforced("9d"), rulesAbout("p", "DryRun", "v1 Pod 1h"), []string{"Pod team/a NewlyKept Waiting to DryRun"}},
		"suspended":                      {enforced("1h"), rulesAbout("p", "Suspend", "v1 Pod 1h"), []string{"Pod team/a NewlyKept Expired to Suspended"}},
		"the rule is removed":            {enforced("9d"), rulesAbout("p", "Enforce", "v1 Secret 1h"), []string{"Pod team/a NewlyKept Waiting to NotSelected"}},
		"a shorter TTL, due later":       {enforced("9d"), enforced("8d"), []string{"Pod team/a Sooner Waiting to Waiting"}},
		"a shorter TTL, due now":         {enforced("9d"), enforced("1d"), []string{"Pod team/a Sooner Waiting to Expired"}},
		"a longer TTL, due later before": {enforced("8d"), enforced("9d"), []string{"Pod team/a Later Waiting to Waiting"}},
		"a longer TTL, due now before":   {enforced("1d"), enforced("9d"), []string{"Pod team/a Later Expired to Waiting"}},
		"due in both cases":              {enforced("1h"), enforced("2h"), nil},
		"the same":                       {enforced("9d"), enforced("9d"), nil},
		"the same by another rule":       {enforced("9d"), rulesAbout("q", "Enforce", "v1 Pod 9d"), nil},
		"kept for another reason":        {rulesAbout("p", "Enforce", "v1 Pod 1h false"), rulesAbout("p", "DryRun", "v1 Pod 1h"), nil},
		"kept by a rule, then by none":   {rulesAbout("p", "Enforce", "v1 Pod 1h false"), rulesAbout("p", "Enforce", "v1 Secret 1h"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := compared(t, test.inForce, test.asked, onePod)
			if diff := cmp.Diff(append([]string{}, test.want...), changes(got)); diff != "" || !got.Compared {
				t.Error(diff)
			}
		})
	}
}

func TestChangesAreOrderedAndVerdictsAreThoseAskedFor(t *testing.T) {
	const time = "2026-02-28T12:00:00Z"
	objects := created("v1", "Secret", "b", "s", time) + created("v1", "Pod", "b", "w", time) + created("v1", "Pod", "b", "x", time) +
		created("v1", "Pod", "a", "z", time) + created("v1", "Node", "", "n", time)
	got := compared(t, rulesAbout("p", "Enforce", "v1 Secret 9d", "v1 ConfigMap 1d"), rulesAbout("p", "Enforce", "v1 Pod 1d"), objects)
	want := []string{
		"Pod a/z NewlyDeleted NotSelected to Expired",
		"Pod b/w NewlyDeleted NotSelected to Expired",
		"Pod b/x NewlyDeleted NotSelected to Expired",
		"Secret b/s NewlyKept Waiting to NotSelected",
	}
	expect.Equal(t, "changes", want, changes(got))
	wantRows := []string{"v1 Pod a/z Delete Expired p/r0", "v1 Pod b/w Delete Expired p/r0", "v1 Pod b/x Delete Expired p/r0"}
	expect.Equal(t, "rows", wantRows, rows(got))
	if len(got.Counts) != 1 {
		t.Errorf("counts %v, want only those of the new rule", got.Counts)
	}
}

func TestKindsReadAtAnotherVersionAreNotCompared(t *testing.T) {
	const time = "2026-02-28T12:00:00Z"
	inForce, asked := rulesAbout("p", "Enforce", "g/v1 Thing 9d", "v1 Pod 9d"), rulesAbout("p", "Enforce", "g/v2 Thing 1d", "v1 Pod 1d")
	objects := created("g/v2", "Thing", "a", "t", time) + created("v1", "Pod", "a", "p", time)
	c, _ := comparing(t, inForce, asked, objects)
	want := []string{"Thing.g is not compared: the rules in force read it at version g/v1, the rules in the files at g/v2"}
	expect.Equal(t, "what is not compared", want, c.Uncompared())
	got := compared(t, inForce, asked, objects)
	expect.Equal(t, "changes", []string{"Pod a/p Sooner Waiting to Expired"}, changes(got))
	if len(got.Rows) != 2 || len(got.Failures) > 0 {
		t.Errorf("rows %v, failures %v", rows(got), got.Failures)
	}
}

func TestComparisonReadsWhatEitherSideIsAbout(t *testing.T) {
	c, _ := comparing(t, rulesAbout("p", "Enforce", "v1 Pod 9d", "v1 Secret 1d"), rulesAbout("p", "Enforce", "v1 Pod 1d"), "# nothing")
	got := sets.New(c.Targets()...)
	want := sets.New(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	if !got.Equal(want) || len(c.Targets()) != 2 {
		t.Errorf("targets %v", c.Targets())
	}
	invalid := strings.Replace(rulesAbout("p", "Enforce", "g/v2 Thing 1d"), "startTime", "wrong", 1)
	c, _ = comparing(t, rulesAbout("p", "Enforce", "g/v1 Thing 9d"), invalid, "# nothing")
	expect.Equal(t, "targets", []schema.GroupVersionKind{{Group: "g", Version: "v1", Kind: "Thing"}}, c.Targets())
}

// TestComparisonStoresOnlyDifferences: a comparison stores only rows that differ.
func TestComparisonStoresOnlyDifferences(t *testing.T) {
	others := rulesAbout("others", "Enforce", "v1 Secret 9d")
	for name, test := range map[string]struct {
		inForce, asked string
		want           int
	}{
		"the same":                  {rulesAbout("p", "Enforce", "v1 Pod 9d"), rulesAbout("p", "Enforce", "v1 Pod 9d"), 0},
		"all differ":                {rulesAbout("p", "Enforce", "v1 Pod 9d"), rulesAbout("p", "Enforce", "v1 Pod 8d"), 100},
		"one kind differs":          {rulesAbout("p", "Enforce", "v1 Pod 9d") + others, rulesAbout("p", "Enforce", "v1 Pod 8d") + others, 100},
		"a rule fails on all":       {rulesAbout("p", "Enforce", "v1 Pod 9d object.x"), rulesAbout("p", "Enforce", "v1 Pod 9d"), 100},
		"the same, for other kinds": {rulesAbout("p", "Enforce", "v1 Pod 9d", "v1 Secret 8d") + others, rulesAbout("p", "Enforce", "v1 Pod 9d") + others, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := comparing(t, test.inForce, test.asked, "# nothing")
			if got := c.Held(t.Context(), podsAndSecrets(100)...); got != test.want {
				t.Errorf("%d rows and failures are stored, want %d", got, test.want)
			}
		})
	}
}

// podsAndSecrets returns n Pods and n Secrets that are an hour old.
func podsAndSecrets(n int) []map[string]any {
	var objects []map[string]any
	for i := range n {
		for _, kind := range []string{"Pod", "Secret"} {
			meta := map[string]any{"namespace": "a", "name": fmt.Sprint(i), "creationTimestamp": at.Add(-time.Hour).Format(time.RFC3339)}
			objects = append(objects, map[string]any{"apiVersion": "v1", "kind": kind, "metadata": meta})
		}
	}
	return objects
}
