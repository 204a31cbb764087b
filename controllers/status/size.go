// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// MaxBytes is the maximum size of a status. etcd accepts objects of 1.5 MiB by default, and the spec needs the rest.
const MaxBytes = 1 << 20

// fewRules is how many rules, of the policy and of ClusterRetentionPolicies, always fit: each needs less than 64 KiB.
const fewRules = 4

// shorter are the details that a status loses if it is too large, in this order. Users find most of them elsewhere: reads and
// problems with kubectl sunset validate, due objects with kubectl sunset preview.
var shorter = []func(*v1alpha1.RuleStatus){
	func(r *v1alpha1.RuleStatus) { r.Reads = nil },
	func(r *v1alpha1.RuleStatus) { r.Warnings, r.Problems = oneOf(r.Warnings), oneOf(r.Problems) },
	func(r *v1alpha1.RuleStatus) { r.Soonest = r.Soonest[:min(1, len(r.Soonest))] },
	func(r *v1alpha1.RuleStatus) { r.ErrorSamples = r.ErrorSamples[:min(1, len(r.ErrorSamples))] },
	func(r *v1alpha1.RuleStatus) {
		if len(r.DistrustedMarks) > 0 {
			r.DistrustedMarks = []string{v1alpha1.AllNamespaces}
		}
	},
}

// longMessage is the maximum length in bytes of a condition's message in a status that is too large.
const longMessage = 4 << 10

// fit drops details of a status until it has at most MaxBytes.
func fit(s *v1alpha1.RetentionPolicyStatus) {
	if len(s.Rules)+len(s.ClusterRules) <= fewRules || isSmall(s) {
		return
	}
	for i := range s.Conditions {
		s.Conditions[i].Message = policy.Shorten(s.Conditions[i].Message, longMessage)
	}
	for _, shorten := range shorter {
		if isSmall(s) {
			return
		}
		for i := range s.Rules {
			shorten(&s.Rules[i])
		}
	}
	if isSmall(s) {
		return
	}
	for i := range s.ClusterRules {
		s.ClusterRules[i].Messages = oneOf(s.ClusterRules[i].Messages)
	}
}

// oneOf returns the first line, and a line that says that there are more.
func oneOf(lines []string) []string {
	if len(lines) <= 1 {
		return lines
	}
	return []string{lines[0], "and more"}
}

// isSmall reports whether a status has at most MaxBytes. One that cannot be encoded counts as small: its write reports the error.
func isSmall(s *v1alpha1.RetentionPolicyStatus) bool {
	data, err := json.Marshal(s)
	return err != nil || len(data) <= MaxBytes
}
