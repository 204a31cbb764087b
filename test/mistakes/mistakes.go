// Package mistakes has mistakes that people make in policies.
//
// It promises that what is right has no other mistake, so that whatever is said of what is wrong is said of the mistake.
//
// It refuses to know what is said.
package mistakes

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// rule is the part of the policy that other expressions replace.
const rule = "eligible: finished(object)"

const policy = `apiVersion: sunset.x-k8s.io/v1alpha1
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
	Name         string // what it is, in a few words
	Is, ShouldBe string // the part of the policy that is wrong, and what should stand there
	Wrong, Right string // the policy with the mistake, and without
	InFile       bool   // only who reads the file sees it: the API server gets another object
}

// All are the mistakes of mistakes.yaml.
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
