// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decodeTable decodes a server's response and keeps the format of numbers.
func decodeTable(data []byte) (metav1.Table, error) {
	var t metav1.Table
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err := decoder.Decode(&t)
	return t, err
}

// kubectlTable prints a server's table like kubectl get, with the same columns and tab stops.
func kubectlTable(t metav1.Table) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 6, 4, 3, ' ', 0)
	var head []string
	for _, column := range t.ColumnDefinitions {
		if column.Priority == 0 {
			head = append(head, strings.ToUpper(column.Name))
		}
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range t.Rows {
		fmt.Fprintln(w, strings.Join(kubectlCells(t.ColumnDefinitions, row.Cells), "\t"))
	}
	_ = w.Flush() // writing to a strings.Builder cannot fail
	return b.String()
}

func kubectlCells(columns []metav1.TableColumnDefinition, cells []any) []string {
	var texts []string
	for i, value := range cells {
		switch {
		case i >= len(columns) || columns[i].Priority != 0:
		case value == nil:
			texts = append(texts, "")
		default:
			texts = append(texts, fmt.Sprint(value))
		}
	}
	return texts
}
