// SPDX-License-Identifier: Apache-2.0

// Package mistakes contains mistakes that people make in policies.
//
// The right version has no other mistake, so every message about the wrong version concerns the mistake. The package does
// not contain expected messages.
package mistakes

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// rule is the part of the policy that mistakes in expressions replace.
const rule = "eligible: finished(object)"

const policy = `apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata:
  name: pods
spec:
  mode: DryRun
  rules:
  - name: finished
    target: {apiVersion: v1, kind: Pod, selector: {matchLabels: {app: web}}}
    ` + rule + `
    startTime: finishedAt(object)
    ttl: 7d
`

//go:embed mistakes.yaml
var written []byte

// Mistake is one mistake in a policy.
type Mistake struct {
	Name         string // a short description
	Is, ShouldBe string // the wrong part of the policy, and the right one
	Wrong, Right string // the policy with and without the mistake
	InFile       bool   // visible only in the file: the API server receives another object
}

// All returns the mistakes of mistakes.yaml.
func All() ([]Mistake, error) {
	var entries []struct {
		Mistake  string `json:"mistake"`
		InFile   bool   `json:"inFile"`
		Eligible string `json:"eligible"`
		Part     string `json:"part"`
		Wrong    string `json:"wrong"`
		Right    string `json:"right"`
	}
	if err := yaml.UnmarshalStrict(written, &entries); err != nil {
		return nil, err
	}
	var all []Mistake
	for _, e := range entries {
		part, wrong, right := cmp.Or(e.Part, e.Right), e.Wrong, e.Right
		if e.Eligible != "" {
			part, wrong, right = rule, fmt.Sprintf("eligible: %q", e.Eligible), fmt.Sprintf("eligible: %q", e.Right)
		}
		if !strings.Contains(policy, part) {
			return nil, fmt.Errorf("%s: the policy has no %q", e.Mistake, part)
		}
		all = append(all, Mistake{
			Name: e.Mistake, InFile: e.InFile, Is: cmp.Or(e.Eligible, e.Wrong), ShouldBe: e.Right,
			Wrong: strings.Replace(policy, part, wrong, 1), Right: strings.Replace(policy, part, right, 1),
		})
	}
	return all, nil
}
