// SPDX-License-Identifier: Apache-2.0

// Command celdoc generates docs/reference/cel.md from the documentation in package engine.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/sunset-k8s/sunset/engine"
)

//go:embed cel.md.tmpl
var page string

func main() {
	out := flag.String("o", "", "file to write; empty means standard output")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "celdoc:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	text, err := render()
	if err != nil {
		return err
	}
	if out == "" {
		_, err = os.Stdout.Write(text)
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

func render() ([]byte, error) {
	t, err := template.New("cel.md").Funcs(template.FuncMap{"sample": sample, "gives": gives}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Functions":         engine.Functions,
		"Libraries":         engine.Libraries(),
		"Version":           engine.EnvironmentVersion,
		"MaxExpressionSize": engine.MaxExpressionSize,
		"MaxDepth":          engine.MaxDepth,
		"MaxNodes":          engine.MaxNodes,
		"MaxNesting":        engine.MaxNesting,
		"MaxRange":          engine.MaxRange,
		"MaxPrecision":      engine.MaxPrecision,
		"MaxRegexSize":      engine.MaxRegexSize,
		"MaxBuilt":          fmt.Sprintf("%d MiB", engine.MaxBuilt>>20),
		"Deadline":          engine.DefaultEvalDeadline,
		"Steps":             engine.MaxSteps,
		"NamespaceSize":     engine.MaxNamespaceSize,
		"ClusterSize":       engine.MaxClusterSize,
	})
	return b.Bytes(), err
}

// sample describes the object of an example: "job-complete" is a complete Job.
func sample(name string) string {
	kinds := map[string]string{"job": "a Job", "pod": "a Pod", "configmap": "a ConfigMap", "image": "an Image"}
	kind, state, _ := strings.Cut(name, "-")
	if state == "" {
		return kinds[kind]
	}
	return fmt.Sprintf("%s, %s", kinds[kind], state)
}

// gives formats the result of an example, in words or in CEL.
func gives(result string) string {
	if part, isError := strings.CutPrefix(result, "error: "); isError {
		return "an error: … " + part + " …"
	}
	return "`" + result + "`"
}
