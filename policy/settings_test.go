package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func TestSameSettings(t *testing.T) {
	tests := map[string]struct {
		change func(*policy.Rule)
		want   bool
	}{
		"nothing":             {func(*policy.Rule) {}, true},
		"the place in spec":   {func(r *policy.Rule) { r.Index = 7 }, true},
		"the text as written": {func(r *policy.Rule) { r.Spec.Name = "x" }, true},
		"the name":            {func(r *policy.Rule) { r.ID.Rule = "x" }, false},
		"the policy":          {func(r *policy.Rule) { r.ID.Policy = "x" }, false},
		"the expressions":     {func(r *policy.Rule) { r.Key = "x" }, false},
		"the mode":            {func(r *policy.Rule) { r.Mode = v1alpha1.Suspended }, false},
		"the TTL":             {func(r *policy.Rule) { r.TTL++ }, false},
		"where the TTL is":    {func(r *policy.Rule) { r.HasTTLExpression = true }, false},
		"validity":            {func(r *policy.Rule) { r.Problems = []policy.Problem{{}} }, false},
		"propagation":         {func(r *policy.Rule) { r.Propagation = metav1.DeletePropagationOrphan }, false},
		"events":              {func(r *policy.Rule) { r.Events = v1alpha1.EventsPerObject }, false},
		"the version":         {func(r *policy.Rule) { r.Kind.Version = "v2" }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := enforced("p", "r")
			test.change(changed)
			a, b := &policy.Page{Rules: []*policy.Rule{enforced("p", "r")}}, &policy.Page{Rules: []*policy.Rule{changed}}
			if a.SameSettings(b) != test.want || b.SameSettings(a) != test.want {
				t.Errorf("same is not %v", test.want)
			}
		})
	}
}

func TestSameSettingsWantsAsManyRules(t *testing.T) {
	r := enforced("p", "r")
	one, two := &policy.Page{Rules: []*policy.Rule{r}}, &policy.Page{Rules: []*policy.Rule{r, enforced("p", "s")}}
	if one.SameSettings(two) || two.SameSettings(one) {
		t.Error("another number of rules is the same")
	}
}
