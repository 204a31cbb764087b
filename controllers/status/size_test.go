// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// entries is the maximum number of entries of each list in a status. Approvals are objects that users create: a version of a policy
// needs another one only after a change elsewhere. The two lists of namespaces share
// their maximum; only namespaces that have changed again while an approval is pending are in both.
var entries = map[string]int{
	"blockedBy": 5, "blocks": 5, "clusterRules": 100, "clusterRules.messages": 6, "conditions": 10 + len(policy.Lasting()),
	"enforced.approvals": 100, "enforced.uncounted": 64, "enforced.waitingNamespaces": v1alpha1.MaxPendingNamespaces / 2, "missingPermissions": v1alpha1.MaxMissingPermissions, "missingPermissions.verbs": 8,
	"pendingApproval.namespaces": v1alpha1.MaxPendingNamespaces / 2, "pendingApproval.rules": 64, "previews": 16, "previews.uncounted": 64,
	"rules": 64, "rules.distrustedMarks": v1alpha1.MaxDistrusted, "rules.errorSamples": policy.FailingKept, "rules.outcomes": ledger.MaxOutcomes + 1,
	"rules.problems": 6, "rules.reads": 51, "rules.soonest": policy.SoonestKept, "rules.warnings": 7,
}

// lengths is the maximum length of each text in bytes; 253, the longest name, for the others.
var lengths = map[string]int{
	"blockedBy.policy": 317, "blocks.policy": 317, "clusterRules.messages": 512, "conditions.message": policy.MaxConditionMessage,
	"enforced.approvals": 32, "enforced.uncounted": 63, "enforced.waitingNamespaces": 63, "enforced.hash": 32, "pendingApproval.hash": 32, "previews.hash": 32,
	"pendingApproval.namespaces": 63, "pendingApproval.rules": 63, "previews.uncounted": 63, "missingPermissions.namespace": 63, "missingPermissions.verbs": 16,
	"rules.name": 63, "rules.distrustedMarks": 63, "rules.outcomes.name": 63, "rules.problems": 512, "rules.reads": 512, "rules.warnings": 512,
	"rules.soonest.namespace": 63, "rules.soonest.owner": 317, "rules.errorSamples.namespace": 63, "rules.errorSamples.message": 256,
}

// fill gives a value its largest content.
func fill(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Type() == reflect.TypeFor[metav1.Time](), v.Type() == reflect.TypeFor[metav1.MicroTime]():
		v.Field(0).Set(reflect.ValueOf(now))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, path, v.Elem())
	case reflect.Struct:
		for field, at := range v.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fill(t, strings.Trim(path+"."+name, "."), at)
		}
	case reflect.Slice:
		n, known := entries[path]
		if !known {
			t.Errorf("the maximum number of entries of %s is not known", path)
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, path, v.Index(i))
		}
	case reflect.String:
		length, known := lengths[path]
		if !known {
			length = 253
		}
		v.SetString(strings.Repeat("x", length))
	case reflect.Int64, reflect.Int32:
		v.SetInt(1e9)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Errorf("%s has kind %s", path, v.Kind())
	}
}

// TestLargestStatusFitsIntoEtcd: every list and every text of a status has its largest content.
func TestLargestStatusFitsIntoEtcd(t *testing.T) {
	for name, test := range map[string]struct{ rules, clusterRules int }{
		"of a ClusterRetentionPolicy": {64, 0}, "of a RetentionPolicy": {64, 100}, "of few rules": {4, 0}, "of a RetentionPolicy without rules": {0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			s := v1alpha1.RetentionPolicyStatus{}
			fill(t, "", reflect.ValueOf(&s).Elem())
			s.Rules, s.ClusterRules = s.Rules[:test.rules], s.ClusterRules[:test.clusterRules]
			before := s.DeepCopy()
			status.Fit(&s)
			data, err := json.Marshal(s)
			expect.NoError(t, err)
			t.Logf("%d KiB", len(data)>>10)
			if len(data) > status.MaxBytes {
				t.Errorf("the status has %d bytes", len(data))
			}
			for i, r := range s.Rules {
				expect.Equal(t, "outcomes", before.Rules[i].Outcomes, r.Outcomes)
				if len(r.Problems) == 0 || len(r.Soonest) == 0 || len(r.ErrorSamples) == 0 || len(r.DistrustedMarks) == 0 {
					t.Errorf("a rule has lost all entries of a list: %+v", r)
				}
			}
			expect.Equal(t, "pending approval", before.PendingApproval, s.PendingApproval)
		})
	}
}

// TestLargeStatusIsShortened: 64 rules with many long problems and warnings keep all of the lines that fit.
func TestLargeStatusIsShortened(t *testing.T) {
	problems := slices.Repeat([]policy.Problem{{Path: "spec.rules[0].eligible", Message: strings.Repeat("m", 5000)}}, 100)
	var rules []*policy.Rule
	for i := range 64 {
		r := rule(fmt.Sprintf("%063d", i))
		r.Problems = problems
		rules = append(rules, r)
	}
	p := policyOf(v1alpha1.Enforce, rules...)
	s := viewOf(compiledOf(p), nil).Status(p)
	expect.Equal(t, "problems of a rule", 6, len(s.Rules[0].Problems))
	expect.Equal(t, "the last one", "and 95 more", s.Rules[0].Problems[5])
	for i := range s.Rules {
		s.Rules[i].Reads = slices.Repeat([]string{strings.Repeat("r", 512)}, 50)
		s.Rules[i].DistrustedMarks = []string{"team-a"}
	}
	status.Fit(&s)
	expect.Equal(t, "problems", 6, len(s.Rules[0].Problems))
	expect.Equal(t, "reads", 0, len(s.Rules[0].Reads))
	expect.Equal(t, "namespaces with distrusted marks", []string{"team-a"}, s.Rules[0].DistrustedMarks)
}
