// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// apply creates a cluster-scoped object from YAML, in which GROUP stands for an API group of the scenario, and removes it at
// the end.
func apply(s *scenario.Scenario, manifest string) *unstructured.Unstructured {
	s.Helper()
	object := read(s, manifest)
	s.MustCreate(object)
	s.Cleanup(func() { _ = s.Delete(context.Background(), object.DeepCopy()) })
	return object
}

// read returns an object from YAML, as for apply.
func read(s *scenario.Scenario, manifest string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	expect.NoError(s, yaml.Unmarshal([]byte(grouped(s, manifest)), &object.Object))
	return object
}

// grouped replaces GROUP with the scenario's API group.
func grouped(s *scenario.Scenario, text string) string {
	return strings.ReplaceAll(text, "GROUP", s.Namespace+".example.com")
}

// custom deletes custom resources of the scenario's group by a label.
const custom = `
mode: Enforce
rules:
- name: widgets
  target: {apiVersion: GROUP/VERSION, kind: Widget, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// customAt returns custom for a version.
func customAt(s *scenario.Scenario, version string) string {
	return strings.ReplaceAll(grouped(s, custom), "VERSION", version)
}
