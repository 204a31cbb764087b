// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// The formats of a columnsPrinter: HEADER:PATH,..., and the name of a file with a line of headers and a line of paths.
const (
	asColumns     = "custom-columns"
	asColumnsFile = "custom-columns-file"
)

// columnsPrinter prints the columns that the user chooses, as kubectl get does: a row for each entry of a list, or one row for an
// object without a list. It prints the headers once.
type columnsPrinter struct {
	headers []string
	paths   []*jsonpath.JSONPath
	table   *text.Table // nil until the headers are printed
}

// columnsOf returns the printer of a format; nil for any other format.
func columnsOf(format string) (*columnsPrinter, error) {
	name, columns, _ := strings.Cut(format, "=")
	var headers, paths []string
	switch name {
	case asColumns:
		for column := range strings.SplitSeq(columns, ",") {
			header, path, _ := strings.Cut(column, ":")
			headers, paths = append(headers, header), append(paths, path)
		}
	case asColumnsFile:
		data, err := os.ReadFile(columns)
		if err != nil {
			return nil, fmt.Errorf("read the columns: %w", err)
		}
		first, second, _ := strings.Cut(string(data), "\n")
		headers, paths = strings.Fields(first), strings.Fields(second)
	default:
		return nil, nil
	}
	p := &columnsPrinter{headers: headers}
	for _, path := range paths {
		field := anyPath.FindStringSubmatch(path)
		column := jsonpath.New(path).AllowMissingKeys(true)
		if field == nil || column.Parse("{."+field[1]+field[2]+"}") != nil {
			return nil, fmt.Errorf("%s: %q is not a JSONPath; write each column as HEADER:PATH, such as NAME:.metadata.name", name, path)
		}
		p.paths = append(p.paths, column)
	}
	if len(headers) != len(paths) || len(paths) == 0 {
		return nil, fmt.Errorf("%s: %d headers and %d paths; write a line of headers, and a line with a path for each", name, len(headers), len(paths))
	}
	return p, nil
}

// anyPath is a path as kubectl accepts it, with or without the braces and the first dot.
var anyPath = regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`)

// listFields are the lists of documents of this command that have a row for each entry.
var listFields = []string{"items", "checks", "deletions", "kinds", "problems", "tests", "verdicts"}

// PrintObj implements printers.ResourcePrinter, for unstructured objects and for documents in JSON.
func (p *columnsPrinter) PrintObj(object runtime.Object, w io.Writer) error {
	var document map[string]any
	lists := listFields
	switch o := object.(type) {
	case *runtime.Unknown:
		if err := json.Unmarshal(o.Raw, &document); err != nil {
			return err
		}
	case runtime.Unstructured:
		document, lists = o.UnstructuredContent(), lists[:1]
	default:
		return fmt.Errorf("cannot print columns of %T", object)
	}
	rows := []any{document}
	for _, field := range lists {
		if entries, isList := document[field].([]any); isList {
			rows = entries
		}
	}
	cells := func(row int) []string {
		texts := make([]string, len(p.paths))
		for i, path := range p.paths {
			texts[i] = cell(path, rows[row])
		}
		return texts
	}
	if p.table == nil {
		p.table = text.NewTable(p.headers...)
		return p.table.Write(w, len(rows), cells)
	}
	for i := range rows {
		if err := p.table.Append(w, cells(i)); err != nil {
			return err
		}
	}
	return nil
}

// cell returns the values that a path finds; <none> if it finds none.
func cell(path *jsonpath.JSONPath, row any) string {
	found, err := path.FindResults(row)
	var texts []string
	for _, values := range found {
		for _, value := range values {
			texts = append(texts, fmt.Sprint(value.Interface()))
		}
	}
	if err != nil || len(texts) == 0 {
		return "<none>"
	}
	return strings.Join(texts, ",")
}
