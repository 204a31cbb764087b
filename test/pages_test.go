// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
)

// mostWords is the number of words that a page may have. Generated pages may have more.
const mostWords = 2000

var generatedPages = []string{
	"charts/sunset/README.md", "docs/reference/api.md", "docs/reference/cel.md", "docs/reference/kubectl-sunset.md",
	"docs/reference/kubectl-sunset-output.md",
}

func TestPagesAreShort(t *testing.T) {
	texts := repository(t)
	for name, text := range texts {
		words := len(strings.Fields(string(text)))
		if strings.HasSuffix(name, ".md") && words > mostWords && !slices.Contains(generatedPages, name) {
			t.Errorf("%s has %d words, want at most %d: split it by idea", name, words, mostWords)
		}
	}
	for _, name := range generatedPages {
		if texts[name] == nil {
			t.Errorf("%s does not exist", name)
		}
	}
}

// outputs are the files of tests with the output that pages show in blocks of the language text, or the tests that compare it.
var outputs = map[string]string{
	"docs/concepts/policies.md":       "engine/example_test.go",
	"docs/concepts/status.md":         "TestEventsAboutSingleObjectsAreBounded",
	"docs/reference/configuration.md": "TestFileThatCannotBe",
	"docs/tasks/enforce-a-policy.md":  "cmd/kubectl-sunset/command/testdata/preview-diff-table.txt",
	"docs/tasks/find-who-deleted.md":  "cmd/kubectl-sunset/command/testdata/who.txt",
	"docs/tasks/limit-deletions.md":   "controllers/status/testdata/reasons.txt",
	"docs/tasks/query-archives.md":    "TestQueriesOfThePage", // the name of a file
	"docs/tasks/send-digests.md":      "TestPageShowsADigest",
}

// TestOutputOfPagesIsThatOfTests: a test prints each output that a page shows in a block of the language text, with other numbers.
func TestOutputOfPagesIsThatOfTests(t *testing.T) {
	same := func(text string) string { return regexp.MustCompile(`[0-9]+|\s+`).ReplaceAllString(text, "0") }
	texts, tests := repository(t), map[string]bool{}
	for _, text := range texts {
		for _, declared := range regexp.MustCompile(`(?m)^func (Test\w+)\(t `).FindAllSubmatch(text, -1) {
			tests[string(declared[1])] = true
		}
	}
	shown := map[string]bool{}
	for name, text := range texts {
		if !strings.HasPrefix(name, "docs/") || !strings.HasSuffix(name, ".md") || slices.Contains(generatedPages, name) {
			continue
		}
		for _, block := range regexp.MustCompile("(?ms)^( *)```text\n(.*?)^ *```$").FindAllStringSubmatch(string(text), -1) {
			shown[name] = true
			switch file := outputs[name]; {
			case file == "":
				t.Errorf("%s: name the test that prints this output:\n%s", name, block[2])
			case strings.Contains(file, "/") && !strings.Contains(same(string(texts[file])), same(strings.TrimSpace(block[2]))):
				t.Errorf("%s: %s does not contain\n%s", name, file, block[2])
			case !strings.Contains(file, "/") && !tests[file]:
				t.Errorf("%s: no test has the name %s", name, file)
			}
		}
	}
	for name := range outputs {
		if !shown[name] {
			t.Errorf("%s shows no output", name)
		}
	}
}

// TestTablesOfPagesHaveTheColumns: each table that a page shows for "$ kubectl get" of a kind of Sunset has the columns of its
// CustomResourceDefinition.
func TestTablesOfPagesHaveTheColumns(t *testing.T) {
	texts := repository(t)
	kinds := columnsOfKinds(t, texts)
	found := 0
	for name, text := range texts {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, table := range kubectlGet.FindAllStringSubmatch(string(text), -1) {
			want, ok := kinds.of(table[1], table[2])
			if !ok || strings.Contains(table[2], "yaml") || strings.Contains(table[2], "jsonpath") {
				continue
			}
			found++
			if got := strings.Join(strings.Fields(table[3]), " "); got != want {
				t.Errorf("%s: %s of kubectl get %s, want %s", name, got, table[1], want)
			}
		}
	}
	if found < 4 {
		t.Errorf("found only %d tables", found)
	}
}

func TestWrongTablesOfPagesAreFound(t *testing.T) {
	kinds := columnsOfKinds(t, repository(t))
	for asked, want := range map[[2]string]string{
		{"cret", " batch"}:     "NAME MODE MATCHED DUE BLOCKED DELETED READY AGE",
		{"cret", " # shorter"}: "NAME MODE MATCHED DUE BLOCKED DELETED READY AGE",
		{"ret", " -A"}:         "NAMESPACE NAME MODE MATCHED DUE BLOCKED DELETED READY AGE",
		{"jobs", ""}:           "",
	} {
		got, _ := kinds.of(asked[0], asked[1])
		expect.Equal(t, fmt.Sprint(asked), want, got)
	}
}

// kubectlGet matches a command that gets a resource, its other arguments, and the next line.
var kubectlGet = regexp.MustCompile(`(?m)^ *\$ kubectl get (\S+)(.*)\n *(.*)$`)

// columns are the columns of a kind, by the names of its resource.
type columns map[string][]apiextensionsv1.CustomResourceColumnDefinition

func columnsOfKinds(t *testing.T, texts map[string][]byte) columns {
	t.Helper()
	all := columns{}
	for name, text := range texts {
		if ok, _ := path.Match("crds/*.yaml", name); !ok {
			continue
		}
		var definition apiextensionsv1.CustomResourceDefinition
		expect.NoError(t, yaml.Unmarshal(text, &definition))
		names := definition.Spec.Names
		for _, resource := range append(names.ShortNames, names.Plural, names.Singular) {
			all[resource] = definition.Spec.Versions[0].AdditionalPrinterColumns
		}
	}
	return all
}

// of returns the header of the table that kubectl get prints, and whether it is about a kind of Sunset.
func (c columns) of(resource, args string) (header string, ok bool) {
	columns, ok := c[resource]
	if !ok {
		return "", false
	}
	words := strings.Fields(args)
	names := []string{"NAME"}
	if slices.Contains(words, "-A") || slices.Contains(words, "--all-namespaces") {
		names = slices.Insert(names, 0, "NAMESPACE")
	}
	for _, column := range columns {
		if column.Priority == 0 || slices.Contains(words, "wide") {
			names = append(names, strings.ToUpper(column.Name))
		}
	}
	return strings.Join(names, " "), true
}
