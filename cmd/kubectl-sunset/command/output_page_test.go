// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/check"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/who"
	"github.com/sunset-k8s/sunset/test/expect"
)

const outputHead = `<!-- Generated from the Go types. To change it, change the comments of their fields and run make generate. -->

# Output of kubectl sunset

With ` + "`-o json`, `-o yaml`, `-o jsonpath` and `-o go-template`, these commands of [kubectl sunset](kubectl-sunset.md) print a document with" + `
` + "`apiVersion: cli.sunset-k8s.io/v1alpha1`" + ` and the kind below. The other commands print objects of Kubernetes or of
[Sunset](api.md). [Compatibility](compatibility.md#interfaces) says which changes to expect.

` + "With `-o custom-columns`, the commands print a row for each entry of `items`, `checks`, `deletions`, `kinds`, `problems`, `tests` or `verdicts`" + `
if the document has one of these lists, and otherwise one row.

| command | kind |
|---|---|
`

// documents are the results of commands, and the kinds of their documents. A document that another command has too is nil.
var documents = []struct {
	command, kind string
	document      any
}{
	{"archive get --record", "ArchiveRecord", archive.Document{}},
	{"archive ls", "ArchivedObjectList", archive.List{}},
	{"check", "InstallationReport", check.Report{}},
	{"explain", "Explanation", explain.Page{}},
	{"preview", "Preview", preview.Document{}},
	{"status", "PolicyStatusList", status.List{}},
	{"test", "TestReport", command.TestReport{}},
	{"unmark", "UnmarkReport", command.UnmarkReport{}},
	{"unused", "Preview", nil}, // of preview
	{"validate", "ValidationReport", command.ValidationReport{}},
	{"version", "VersionInfo", command.VersionInfo{}},
	{"who", "DeletionReport", who.Report{}},
}

// TestOutputPage: docs/reference/kubectl-sunset-output.md has the kinds of all documents and their fields.
func TestOutputPage(t *testing.T) {
	c := readComments(t, "../../../policy/archive", "../archive", "../check", "../explain", "../preview", "../status", "../who", "../../../policy/audit", ".", "../../../policy", "../../../policy/v1alpha1", "../../../engine")
	var page strings.Builder
	page.WriteString(outputHead)
	for _, d := range documents {
		fmt.Fprintf(&page, "| `%s` | [%s](#%s) |\n", d.command, d.kind, strings.ToLower(d.kind))
	}
	for _, d := range documents {
		if d.document == nil {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n| field | type | |\n|---|---|---|\n", d.kind)
		c.writeFields(&page, reflect.TypeOf(d.document), "")
	}
	expect.Golden(t, "../../../docs/reference/kubectl-sunset-output.md", page.String(), *update)
}

// comments are the comments of the fields of structs, by TYPE.FIELD with the package of the type.
type comments map[string]string

func readComments(t *testing.T, dirs ...string) comments {
	t.Helper()
	c := comments{}
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		expect.NoError(t, err)
		for _, path := range paths {
			source, err := os.ReadFile(path)
			expect.NoError(t, err)
			file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
			expect.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if of, ok := n.(*ast.TypeSpec); ok {
					c.add(file.Name.Name+"."+of.Name.Name, of.Type)
				}
				return true
			})
		}
	}
	return c
}

func (c comments) add(name string, of ast.Expr) {
	structure, ok := of.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		for _, f := range field.Names {
			text := field.Comment.Text()
			if text == "" {
				text, _, _ = strings.Cut(field.Doc.Text(), "\n+") // markers follow
			}
			text = regexp.MustCompile(`\bnil\b`).ReplaceAllString(text, "absent")
			c[name+"."+f.Name] = strings.NewReplacer("\n", " ", "|", `\|`).Replace(strings.TrimSpace(text))
		}
	}
}

// writeFields writes a row for each field, and below it the rows of its own fields.
func (c comments) writeFields(w *strings.Builder, of reflect.Type, path string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == reflect.TypeFor[metav1.TypeMeta](), name == "-", !f.IsExported():
			continue
		case f.Anonymous && name == "":
			c.writeFields(w, f.Type, path)
			continue
		}
		element, words, suffix := f.Type, "", ""
		for element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice && element != manifest {
			if element.Kind() == reflect.Slice {
				words, suffix = words+"list of ", suffix+"[]"
			}
			element = element.Elem()
		}
		fmt.Fprintf(w, "| `%s` | %s%s | %s |\n", path+name+suffix, words, word(element), c[of.String()+"."+f.Name])
		if element.Kind() == reflect.Struct && word(element) == "object" {
			c.writeFields(w, element, path+name+suffix+".")
		}
	}
}

// manifest is the type of objects of any kind.
var manifest = reflect.TypeFor[json.RawMessage]()

// word names a type in the words of JSON.
func word(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[metav1.Time]() || of == reflect.TypeFor[preview.Time]() || of == reflect.TypeFor[time.Time]():
		return "time"
	case of == manifest:
		return "object"
	case of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "string"
	}
	switch of.Kind() {
	case reflect.Struct:
		return "object"
	case reflect.Map:
		return "map"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}
