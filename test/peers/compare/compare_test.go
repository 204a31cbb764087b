// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestParse: the outputs are shortened from those of the tools.
func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		parse func([]byte) (Reported, error)
		out   string
		want  []subject
	}{
		"kor has its own names of kinds": {ParseKor,
			`{"": {"Pv": ["pv-1"]}, "shop": {"Pvc": ["data"], "Role": ["left"], "Hpa": null}}`,
			[]subject{{"PersistentVolume", "", "pv-1"}, {"PersistentVolumeClaim", "shop", "data"}, {"Role", "shop", "left"}}},
		"popeye's findings about health and keys do not count": {ParsePopeye,
			`{"popeye": {"sections": [
			  {"linter": "configmaps", "issues": {"shop/a": [{"message": "[POP-400] Used? Unable to locate resource reference"}], "shop/b": [{"message": "[POP-401] Key \"x\" used? Unable to locate key reference"}]}},
			  {"linter": "clusterroles", "issues": {"c": [{"message": "[POP-400] Used? Unable to locate resource reference"}], "d": null}},
			  {"linter": "nodes", "issues": {"n": [{"message": "[POP-400] Used? Unable to locate resource reference"}]}}]}}`,
			[]subject{{"ClusterRole", "", "c"}, {"ConfigMap", "shop", "a"}}},
		"kubectl sunset unused": {ParseSunset,
			`{"kind": "Preview", "verdicts": [{"apiVersion": "v1", "kind": "Secret", "namespace": "shop", "name": "db", "action": "Wait"}]}`,
			[]subject{{"Secret", "shop", "db"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.parse([]byte(test.out))
			expect.NoError(t, err)
			if !got.HasAll(test.want...) || got.Len() != len(test.want) {
				t.Errorf("got %v, want %v", got.UnsortedList(), test.want)
			}
			if _, err := test.parse([]byte("no JSON")); err == nil {
				t.Error("accepts an output that is not JSON")
			}
		})
	}
}

// TestEachSampleHasItsOwnNamespace: also in the references between its objects.
func TestEachSampleHasItsOwnNamespace(t *testing.T) {
	dirs, err := SampleDirs("../../../samples")
	expect.NoError(t, err)
	s, err := Read(dirs...)
	expect.NoError(t, err)
	seen := map[subject]bool{}
	for _, o := range s.Objects {
		id := subject{o.GetKind(), o.GetNamespace(), o.GetName()}
		if seen[id] {
			t.Errorf("two samples have %s", id)
		}
		seen[id] = true
		if strings.Contains(string(must(o.MarshalJSON())), `amespace":"`+sharedNamespace+`"`) {
			t.Errorf("%s names the namespace %s", id, sharedNamespace)
		}
	}
	for _, pod := range []subject{{"Pod", "shop-accounts", "web-runs"}, {"Pod", "shop-volumes", "mounted-runs"}} {
		if !seen[pod] {
			t.Errorf("lacks the running %s", pod)
		}
	}
	if seen[subject{"Pod", "shop-workloads", "trial-runs"}] {
		t.Error("a Deployment that is scaled to zero has a Pod")
	}
	for id := range s.unused {
		if !seen[id] {
			t.Errorf("a want.yaml decides about %s, which is in no objects.yaml", id)
		}
	}
}

// TestPageCountsTheSamples: after a change of the samples, the page has to be written again from a run with kor and popeye.
func TestPageCountsTheSamples(t *testing.T) {
	dirs, err := SampleDirs("../../../samples")
	expect.NoError(t, err)
	s, err := Read(dirs...)
	expect.NoError(t, err)
	page, err := os.ReadFile("../../../docs/concepts/comparison-unused-kinds.md")
	expect.NoError(t, err)
	var got, want []string
	for _, row := range regexp.MustCompile(`(?m)^(\| \w+ \| \d+ \| \d+ \|) `).FindAllStringSubmatch(string(page), -1) {
		got = append(got, row[1])
	}
	for _, kind := range append(s.kinds(), "") {
		kept, unused := s.count(kind)
		want = append(want, fmt.Sprintf("| %s | %d | %d |", cmp.Or(kind, "all"), kept, unused))
	}
	expect.Equal(t, "kinds on the page, run make peers", strings.Join(want, "\n"), strings.Join(got, "\n"))
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func TestWrite(t *testing.T) {
	s := &State{unused: map[subject]bool{{"Role", "shop", "left"}: true, {"Role", "shop", "reader"}: false, {"Pod", "shop", "debug"}: true}}
	var b strings.Builder
	found := Reported{}
	found.Insert(subject{"Role", "shop", "left"}, subject{"Role", "shop", "reader"}, subject{"Role", "other", "x"})
	expect.NoError(t, Write(&b, s, []Column{{"kor", found}}))
	for _, want := range []string{"| kind | kept | unused | kor |", "| Pod | 0 | 1 | 0, 0, 1 |", "| Role | 1 | 1 | 1, 1, 0 |", "| all | 1 | 2 | 1, 1, 1 |",
		"kor, kept objects reported:\n  Role shop/reader\n", "kor, misses:\n  Pod shop/debug\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// TestPrepare: the API server refuses an object without these changes.
func TestPrepare(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Secret", "type": "kubernetes.io/tls", "metadata": map[string]any{"name": "a", "uid": "1"}}}
	Prepare(o)
	if o.GetUID() != "" || o.Object["stringData"].(map[string]any)["tls.key"] != "" {
		t.Errorf("got %v", o.Object)
	}
}
