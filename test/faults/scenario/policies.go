// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// Policy creates a ClusterRetentionPolicy from the YAML of its spec. Unless the spec says otherwise, the policy selects only
// the scenario's namespaces and needs no approval.
func (s *Scenario) Policy(name, spec string) *v1alpha1.ClusterRetentionPolicy {
	s.Helper()
	object := s.written(v1alpha1.ClusterRetentionPolicyKind, s.Namespace+"-"+name, spec)
	defaults(object, "approval", map[string]any{"maxObjects": int64(1_000_000), "maxPercent": int64(100)})
	defaults(object, "namespaceSelector", map[string]any{"matchLabels": map[string]any{scenarioLabel: s.Namespace}})
	s.MustCreate(object)
	p := &v1alpha1.ClusterRetentionPolicy{}
	expect.NoError(s, s.Get(s.Context(), client.ObjectKeyFromObject(object), p))
	return p
}

// Override creates a RetentionPolicy in the scenario's namespace from the YAML of its spec.
func (s *Scenario) Override(name, spec string) *v1alpha1.RetentionPolicy {
	s.Helper()
	object := s.written(v1alpha1.RetentionPolicyKind, name, spec)
	s.MustCreate(object)
	p := &v1alpha1.RetentionPolicy{}
	expect.NoError(s, s.Get(s.Context(), client.ObjectKeyFromObject(object), p))
	return p
}

// written returns a policy exactly as the YAML says: unknown and missing fields are sent unchanged.
func (s *Scenario) written(kind schema.GroupVersionKind, name, spec string) *unstructured.Unstructured {
	s.Helper()
	fields := map[string]any{}
	expect.NoError(s, yaml.Unmarshal([]byte(spec), &fields))
	object := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	object.SetGroupVersionKind(kind)
	object.SetName(name)
	return object
}

// defaults sets a field of a spec that does not have it.
func defaults(object *unstructured.Unstructured, field string, value map[string]any) {
	if _, written, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", field); !written {
		_ = unstructured.SetNestedMap(object.Object, value, "spec", field) // spec is a map
	}
}

// Edit changes a policy's spec.
func (s *Scenario) Edit(p *v1alpha1.ClusterRetentionPolicy, change func(*v1alpha1.ClusterRetentionPolicySpec)) {
	s.Helper()
	current := &v1alpha1.ClusterRetentionPolicy{}
	expect.NoError(s, s.Get(s.Context(), client.ObjectKeyFromObject(p), current))
	before := current.DeepCopy()
	change(&current.Spec)
	expect.NoError(s, s.Patch(s.Context(), current, client.MergeFrom(before)))
}

// Status waits until the status of a policy is as wanted.
func (s *Scenario) Status(p *v1alpha1.ClusterRetentionPolicy, want func(v1alpha1.RetentionPolicyStatus) error) {
	s.Helper()
	s.Eventually(func() error {
		current := &v1alpha1.ClusterRetentionPolicy{}
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(p), current); err != nil {
			return err
		}
		if err := want(current.Status); err != nil {
			return cluster.WithYAML(err, current.Status)
		}
		return nil
	})
}

// Condition returns a condition of a status; if it is missing, one with status Unknown.
func Condition(status v1alpha1.RetentionPolicyStatus, name string) metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name, Status: metav1.ConditionUnknown, Reason: "Missing"}
}

// Ledger returns the ledger of a policy; nil if it has none yet.
func (s *Scenario) Ledger(p *v1alpha1.ClusterRetentionPolicy) *v1alpha1.RetentionLedger {
	s.Helper()
	l := &v1alpha1.RetentionLedger{}
	err := s.Get(s.Context(), types.NamespacedName{Name: string(p.UID)}, l)
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return l
}
