// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/test/expect"
)

// read returns one line for each object: document, line, kind, name.
func read(t *testing.T, text string) ([]string, error) {
	t.Helper()
	var got []string
	err := load.EachItem("f.yaml", strings.NewReader(text), func(item load.Item) error {
		objects, err := item.Objects()
		for _, o := range objects {
			meta, _ := o["metadata"].(map[string]any)
			got = append(got, fmt.Sprintf("%d:%d %v %v %v", item.Document, item.Line, o["apiVersion"], o["kind"], meta["name"]))
		}
		return err
	})
	return got, err
}

func TestReadFindsObjects(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":       {"", nil},
		"only comments": {"# a\n---\n# b\n\n---\n", nil},
		"one document":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", []string{"1:1 v1 Pod a"}},
		"the last line without an end": {
			"kind: Pod\nmetadata: {name: a}\napiVersion: v1", []string{"1:1 v1 Pod a"},
		},
		"several documents; empty documents do not count": {
			"# license\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n# nothing\n--- # next\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n...\n",
			[]string{"1:3 v1 Pod a", "2:9 v1 Pod b"},
		},
		"a document on the line of its marker": {
			"--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n", []string{"1:1 v1 Pod a"},
		},
		"Windows line ends and a byte order mark": {
			"\xef\xbb\xbfapiVersion: v1\r\nkind: Pod\r\nmetadata: {name: a}\r\n---\r\napiVersion: v1\r\nkind: Pod\r\nmetadata: {name: b}\r\n",
			[]string{"1:1 v1 Pod a", "2:5 v1 Pod b"},
		},
		"a list in the format of kubectl": {
			"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
			[]string{"1:3 v1 Pod a", "1:7 v1 Pod b"},
		},
		"a list with indented items and comments": {
			"kind: List\napiVersion: v1\nitems: # all\n\n  # first\n  - kind: Pod\n    apiVersion: v1\n    metadata: {name: a}\n# odd\n  -\n    kind: Pod\n    apiVersion: v1\n    metadata: {name: b}\n",
			[]string{"1:6 v1 Pod a", "1:10 v1 Pod b"},
		},
		"text in an item that looks like a list": {
			"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data:\n    x: |\n      items:\n      - b\n\n      # c\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\nkind: List\n",
			[]string{"1:3 v1 ConfigMap a", "1:12 v1 Pod b"},
		},
		"a typed list whose kind is the last field": {
			"apiVersion: batch/v1\nitems:\n- metadata: {name: a, ownerReferences: [{kind: CronJob}]}\n- metadata:\n    name: b\nkind: JobList\n",
			[]string{"1:3 batch/v1 Job a", "1:4 batch/v1 Job b"},
		},
		"a list in flow style":      {"{kind: List, apiVersion: v1, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}\n", []string{"1:1 v1 Pod a"}},
		"a flow list in a block":    {"kind: List\napiVersion: v1\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]\n", []string{"1:1 v1 Pod a"}},
		"an empty list":             {"kind: List\napiVersion: v1\nitems: []\n", nil},
		"a list without items":      {"kind: List\napiVersion: v1\nitems:\n", nil},
		"a list inside a list":      {"kind: List\napiVersion: v1\nitems:\n- kind: PodList\n  apiVersion: v1\n  items:\n  - metadata: {name: a}\n", []string{"1:4 v1 Pod a"}},
		"JSON":                      {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, []string{"1:1 v1 Pod a"}},
		"JSON documents in a row":   {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\n\"metadata\":{\"name\":\"b\"}}\n", []string{"1:1 v1 Pod a", "2:3 v1 Pod b"}},
		"alternating JSON and YAML": {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}\n", []string{"1:1 v1 Pod a", "2:3 v1 Pod b", "3:7 v1 Pod c"}},
		"a JSON list":               {"{\n \"apiVersion\":\"v1\",\n \"items\": [\n  {\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}},\n  {\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}\n ],\n \"kind\":\"List\"\n}", []string{"1:4 v1 Pod a", "1:5 v1 Pod b"}},
		"a JSON list of the API":    {`{"kind":"JobList","apiVersion":"batch/v1","metadata":{},"items":[{"metadata":{"name":"a","managedFields":[{"apiVersion":"batch/v1"}]}}]}`, []string{"1:1 batch/v1 Job a"}},
		"an empty JSON list":        {`{"kind":"List","apiVersion":"v1","items":[]}`, nil},
		"a JSON list that is null":  {`{"kind":"List","apiVersion":"v1","items":null}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, test.text)
			expect.NoError(t, err)
			expect.Equal(t, "objects", test.want, got)
		})
	}
}

func TestReadSaysWhere(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"bad YAML":                 {"kind: Pod\n---\na: [\nb: c\n", "f.yaml:"},
		"bad YAML in an item":      {"items:\n- kind: Pod\n  apiVersion: v1\n- kind: \"Pod\n", "f.yaml:"},
		"a tab":                    {"apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n", "f.yaml:4: found character that cannot start any token"},
		"an expression in braces":  {"apiVersion: v1\nkind: Pod\nx: {count: 1, groupBy: object.a[?'b'].orValue('')}\n", "f.yaml:3: did not find expected ',' or '}' (between { and }, put a value that contains a bracket, a brace or a comma in quotes)"},
		"text":                     {"hello\n", "f.yaml:1: not a Kubernetes object but a text"},
		"no kind":                  {"# c\nmetadata: {name: a}\n", "f.yaml:2: not a Kubernetes object: apiVersion or kind is missing"},
		"an item without a kind":   {"items:\n- metadata: {name: a}\n", "f.yaml:2: not a Kubernetes object: apiVersion or kind is missing"},
		"incomplete JSON":          {"\n{\"kind\":\"Pod\",", "f.yaml:2: JSON document that starts at line 2: unexpected end of JSON input"},
		"invalid JSON":             {"{\"kind\": Pod}", "f.yaml:1: JSON document that starts at line 1: invalid character 'P'"},
		"items is not a list":      {`{"kind":"List","items":{}}`, "items is not a list"},
		"an item that is a number": {"{\"kind\":\"List\",\n\"items\":[\n3]}", "f.yaml:3: not a Kubernetes object but a number"},
		"not a number":             {"apiVersion: v1\nkind: Pod\nx: .nan\n", "f.yaml:1: json: unsupported value: NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, test.text)
			var at *load.Error
			if !errors.As(err, &at) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestReadStopsWhenToldTo(t *testing.T) {
	stop := errors.New("stop")
	for _, text := range []string{"items:\n- a: 1\n  kind: x\n- b: 2\n", `{"items":[{"apiVersion":"v1"},{}]}`, "a: 1\n---\nb: 2\n"} {
		calls := 0
		err := load.EachItem("f", strings.NewReader(text), func(load.Item) error { calls++; return stop })
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%q: error %v after %d items", text, err, calls)
		}
	}
}

func TestLinesOfAnyLength(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	yamlText := "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a, x: " + long + "}\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\nkind: List\n"
	jsonText := `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c","x":"` + long + `"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"d"}}]}`
	got, err := read(t, yamlText+"---\n"+jsonText+"\n---\n"+yamlText)
	want := []string{"1:3 v1 Pod a", "1:6 v1 Pod b", "2:11 v1 Pod c", "2:11 v1 Pod d", "3:15 v1 Pod a", "3:18 v1 Pod b"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// TestSplittingChangesNothing: splitting a list does not change its objects.
func TestSplittingChangesNothing(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../../samples/*/objects.yaml", "../../../samples/unused/*/objects.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 5 {
			t.Fatal(pattern, found, err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		if strings.Contains(string(text), "\n---\n") {
			continue
		}
		whole, err := yaml.YAMLToJSON(text)
		expect.NoError(t, err)
		compare(t, path, objects(t, string(whole)), objects(t, string(text)))
	}
}

func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	err := load.EachItem("f", strings.NewReader(text), func(item load.Item) error {
		some, err := item.Objects()
		all = append(all, some...)
		return err
	})
	expect.NoError(t, err)
	return all
}

func compare(t *testing.T, path string, want, got []map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("%s: %d objects: %s", path, len(got), diff)
	}
}
