// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// FuzzParse reads any data, as JSON and as YAML. It must not panic, and a rule with a problem must be invalid.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"spec": {"rules": [{"name": "a", "ttl": "1d"}]}}`))
	f.Add([]byte(`{"kind": "RetentionPolicy", "metadata": {"namespace": "team-a"}, "spec": {"mode": "Enforce", "overrides": [{"policy": "p", "ttl": "1h", "keepNewest": {"count": 2}}]}}`))
	f.Add([]byte(`{"spec": {"rules": [{"name": "a", "target": {"apiVersion": "batch/v1", "kind": "Job"}, "eligible": "true", "keepNewest": {"count": 1}, "capacity": {"percentOfQuota": 9}, "overrideBounds": {"minTTL": "1h", "maxTTL": "2h"}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if converted, err := yaml.YAMLToJSON(data); err == nil {
			read(t, converted)
		}
		read(t, data)
	})
}

func read(t *testing.T, data []byte) {
	d, err := policy.Parse(data)
	if err != nil {
		return
	}
	p := d.Load(policy.DefaultProtection())
	if len(d.Problems) > 0 && len(p.Problems) < len(d.Problems) {
		t.Errorf("problems are lost: %v, then %v", d.Problems, p.Problems)
	}
	if len(p.Rules) != len(d.Spec.Rules) {
		t.Fatalf("%d rules became %d", len(d.Spec.Rules), len(p.Rules))
	}
	for _, r := range p.Rules {
		if !r.Invalid() {
			checkValid(t, r)
		}
	}
	for i, o := range p.Overrides {
		if ttl := o.TTL; !o.Invalid && (o.Policy == "" || ttl == nil && !o.Suspend && o.Keep == nil && d.Spec.Overrides[i].Suspend == nil || ttl != nil && *ttl < 0) {
			t.Errorf("a valid override: %+v", o)
		}
	}
	policy.NewSnapshot([]*policy.Policy{p, policyOf("p", about(jobs, "jobs"))}, nil, policy.Protection{}).Effective(jobs.GroupKind(), "team-a")
}

func checkValid(t *testing.T, r *policy.Rule) {
	b := r.Bounds
	switch {
	case r.Kind.Kind == "", r.Kind.Version == "", r.ID.Rule == "", r.Spec.Eligible == "", policy.DefaultProtection().Kind(r.Kind.GroupKind()),
		r.Spec.TTL != "" && r.Spec.TTLExpression != "", r.Spec.TTL == "" && r.Spec.TTLExpression == "" && r.Spec.Capacity == nil,
		(r.TTL < 0) != (r.Spec.TTL == "" && r.Spec.TTLExpression == ""), r.Keep < 0, r.Capacity.Max < 0, r.Capacity.ByQuota && r.Capacity.Fair,
		b.Min != nil && b.Max != nil && *b.Min > *b.Max, b.Keep != nil && *b.Keep < 0, r.Namespace != "" && r.ServiceAccount == "",
		r.Mode != v1alpha1.DryRun && r.Mode != v1alpha1.Enforce && r.Mode != v1alpha1.Suspend:
		t.Errorf("a valid rule: %+v", r)
	}
}
