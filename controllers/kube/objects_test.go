// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var now = fixture.Now

var (
	clusters = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Cluster"}
)

// mapper knows the kinds of these tests.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(fixture.Jobs, meta.RESTScopeNamespace)
	m.Add(fixture.Pods, meta.RESTScopeNamespace)
	m.Add(fixture.Secrets, meta.RESTScopeNamespace)
	m.Add(fixture.ConfigMaps, meta.RESTScopeNamespace)
	m.Add(policy.ClaimKind, meta.RESTScopeNamespace)
	m.Add(policy.VolumeSnapshotKind, meta.RESTScopeNamespace)
	m.Add(clusters, meta.RESTScopeRoot)
	return m
}

// compile compiles a rule that makes every object of a kind eligible from its creation on. Options change the rule.
func compile(t testing.TB, c *engine.Compiler, kind schema.GroupVersionKind, options ...func(*v1alpha1.Rule)) *engine.Program {
	t.Helper()
	r := v1alpha1.Rule{
		Name:     "all",
		Target:   v1alpha1.Target{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind},
		Eligible: "true", StartTime: "object.metadata.creationTimestamp", TTL: "1h",
	}
	for _, o := range options {
		o(&r)
	}
	r.StartTime = "timestamp(" + r.StartTime + ")"
	compiled, problems := c.Rule(r, nil, "spec.rules[0]")
	if compiled == nil {
		t.Fatal(problems)
	}
	return compiled
}

func eligible(expression string) func(*v1alpha1.Rule) {
	return func(r *v1alpha1.Rule) { r.Eligible = expression }
}

func selected(label, value string) func(*v1alpha1.Rule) {
	return func(r *v1alpha1.Rule) {
		r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
	}
}

// permit returns a permit to delete a subject because of a single rule.
func permit(t *testing.T, kind schema.GroupVersionKind, s policy.Subject, propagation metav1.DeletionPropagation) policy.DeletePermit {
	t.Helper()
	r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Kind: kind, Mode: v1alpha1.Enforce, Propagation: propagation}
	snapshot := policy.NewSnapshot([]*policy.Policy{{Name: "p", Namespaces: labels.Everything(), Rules: []*policy.Rule{r}}}, nil, policy.Protection{})
	facts := policy.Facts{Selected: true, Eligible: true, Start: now}
	_, w := policy.Decide(s, []policy.Evaluation{{Rule: snapshot.Rules(kind.GroupKind())[0], Facts: facts, Known: true}}, now.Add(time.Hour))
	if !w.Valid() {
		t.Fatal("no permit")
	}
	return w
}
