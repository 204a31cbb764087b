// SPDX-License-Identifier: Apache-2.0

// Package sources lists the files of this module from which go builds packages. go.mod and go.sum determine the sources of other modules.
package sources

import (
	"slices"
	"strings"
)

// each is what go list prints for a package of this module: the paths of files, one in a line.
const each = `{{$dir := .Dir}}{{with .Module}}{{if .Main}}{{.GoMod}}{{"\n"}}{{.Dir}}/go.sum{{"\n"}}` +
	`{{range $.GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{range $.EmbedFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`

// Arguments returns the arguments of the go command whose output Parse reads.
func Arguments(packages ...string) []string {
	return append([]string{"list", "-deps", "-f", each}, packages...)
}

// Parse returns the absolute paths of go.mod, go.sum and the sources of packages, sorted, each once.
func Parse(list string) []string {
	var files []string
	for line := range strings.Lines(list) {
		if file := strings.TrimSuffix(line, "\n"); file != "" {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
