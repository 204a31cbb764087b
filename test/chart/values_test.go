// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// value describes one value of values.yaml. The comment of a value also covers the values below it.
type value struct{ path, standard, comment string }

var key = regexp.MustCompile(`^( *)([A-Za-z0-9.-]+):(?: (.*))?$`)

// values returns the values of values.yaml in order; bare are the paths without a comment.
func values(t *testing.T) (all []value, bare []string) {
	t.Helper()
	var path, comment []string
	for _, line := range strings.Split(string(read(t, chart+"/values.yaml")), "\n") {
		text, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		found := key.FindStringSubmatch(line)
		switch {
		case isComment:
			comment = append(comment, strings.TrimSpace(text))
			continue
		case found == nil:
			comment = nil
			continue
		}
		depth := len(found[1]) / 2
		path = append(path[:depth], found[2])
		at := strings.Join(path, ".")
		within := slices.ContainsFunc(all, func(v value) bool { return strings.HasPrefix(at, v.path+".") })
		switch {
		case len(comment) > 0:
			all = append(all, value{at, found[3], strings.Join(comment, " ")})
		case found[3] != "" && !within:
			bare = append(bare, at)
		}
		comment = nil
	}
	return all, bare
}

// TestReadmeHasEveryValue: the README of the chart ends with a table that equals values.yaml.
func TestReadmeHasEveryValue(t *testing.T) {
	const begin = "| value | default | |\n|---|---|---|\n"
	all, bare := values(t)
	if len(all) < 30 || len(bare) > 0 {
		t.Fatalf("%d values, without comments: %v", len(all), bare)
	}
	readme, _, found := strings.Cut(string(read(t, chart+"/README.md")), begin)
	if !found {
		t.Fatal("the README has no table of values")
	}
	readme += begin
	for _, v := range all {
		readme += fmt.Sprintf("| `%s` | `%s` | %s |\n", v.path, v.standard, v.comment)
	}
	expect.Golden(t, chart+"/README.md", readme, *update)
}

// TestSchemaHasEveryValue: the schema has the values of values.yaml and no others.
func TestSchemaHasEveryValue(t *testing.T) {
	all, _ := values(t)
	var paths []string
	for _, v := range all {
		paths = append(paths, v.path)
	}
	schema := map[string]any{}
	expect.NoError(t, json.Unmarshal(read(t, chart+"/values.schema.json"), &schema))
	got := leaves(t, schema, schema, "")
	got = slices.DeleteFunc(got, func(path string) bool { return path == "global" }) // Helm sets it for every chart
	slices.Sort(paths)
	slices.Sort(got)
	expect.Equal(t, "values.schema.json", paths, got)
}

// leaves returns the paths of a schema below which no property has a name. An object with properties must not accept
// others.
func leaves(t *testing.T, schema, of map[string]any, path string) (all []string) {
	t.Helper()
	if name, refers := of["$ref"].(string); refers {
		of = schema["$defs"].(map[string]any)[strings.TrimPrefix(name, "#/$defs/")].(map[string]any)
	}
	properties, has := of["properties"].(map[string]any)
	if has && of["additionalProperties"] != false {
		t.Errorf("%q accepts unknown properties", path)
	}
	if !has || strings.HasSuffix(path, "resources") {
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		all = append(all, leaves(t, schema, properties[name].(map[string]any), strings.TrimPrefix(path+"."+name, "."))...)
	}
	return all
}
