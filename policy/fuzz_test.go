package policy_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// FuzzParse reads anything, as JSON and as YAML. Nothing may panic, and what has a problem may not be in force unharmed.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"spec": {"rules": [{"name": "a", "ttl": "1d"}]}}`))
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
		t.Errorf("problems were lost: %v, then %v", d.Problems, p.Problems)
	}
	if len(p.Rules) != len(d.Spec.Rules) {
		t.Fatalf("%d rules became %d", len(d.Spec.Rules), len(p.Rules))
	}
	for _, r := range p.Rules {
		if !r.Invalid() {
			checkValid(t, r)
		}
	}
	policy.NewBook([]*policy.Policy{p}, nil, policy.Protection{}).Page(jobs.GroupKind(), "team-a")
}

func checkValid(t *testing.T, r *policy.Rule) {
	switch {
	case r.TTL < 0, r.Kind.Kind == "", r.Kind.Version == "", r.ID.Rule == "", r.Spec.Eligible == "", r.Spec.StartTime == "",
		(r.Spec.TTL == "") == (r.Spec.TTLExpression == ""), policy.DefaultProtection().Kind(r.Kind.GroupKind()),
		r.Mode != v1alpha1.DryRun && r.Mode != v1alpha1.Enforce && r.Mode != v1alpha1.Suspended:
		t.Errorf("valid, and yet %+v", r)
	}
}
