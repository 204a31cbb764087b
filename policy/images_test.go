// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// imageRule is a rule about images without problems.
func imageRule(name string) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: name, Target: v1alpha1.Target{APIVersion: "node.sunset-k8s.io/v1alpha1", Kind: "Image"}, Eligible: "true", TTL: "7d",
	}
}

// mixed is a document with a rule about Jobs and one about images; each test spoils a copy.
func mixed() *policy.Document {
	d := fine()
	d.Spec.Rules = []v1alpha1.Rule{fineRule("jobs"), imageRule("images")}
	return d
}

func TestLoadOfRulesAboutImages(t *testing.T) {
	build := &metav1.LabelSelector{MatchLabels: map[string]string{"role": "build"}}
	tests := map[string]struct {
		change func(*v1alpha1.Rule)
		images policy.Images
		ttl    time.Duration
		nodes  map[string]bool // by the label role: whether the rule applies on such a node
	}{
		"defaults": {
			func(*v1alpha1.Rule) {}, policy.Images{MinAge: 2 * time.Minute}, policy.Week, map[string]bool{"": true, "build": true}},
		"with thresholds instead of a ttl": {
			func(r *v1alpha1.Rule) {
				r.TTL = ""
				r.Images = &v1alpha1.Images{MinAge: "1d", HighThresholdPercent: new(int32(85)), LowThresholdPercent: new(int32(80))}
			},
			policy.Images{MinAge: policy.Day, HasThresholds: true, High: 85, Low: 80}, policy.NeverTTL, nil},
		"for some nodes": {
			func(r *v1alpha1.Rule) { r.NodeSelector = build },
			policy.Images{MinAge: 2 * time.Minute}, policy.Week, map[string]bool{"": false, "build": true}},
		"with unpullable images": {
			func(r *v1alpha1.Rule) { r.Images = &v1alpha1.Images{AllowUnpullable: true, MinAge: "0s"} },
			policy.Images{AllowUnpullable: true}, policy.Week, nil},
		"with empty selectors": {
			func(r *v1alpha1.Rule) {
				r.Target.Selector, r.NodeSelector = &metav1.LabelSelector{}, &metav1.LabelSelector{}
			},
			policy.Images{MinAge: 2 * time.Minute}, policy.Week, map[string]bool{"": true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := mixed()
			test.change(&d.Spec.Rules[1])
			p := d.Load(policy.DefaultProtection())
			r := p.Rules[1]
			if len(p.Problems) > 0 || p.Rules[0].OnNodes() || !r.OnNodes() || r.Images != test.images || r.TTL != test.ttl {
				t.Errorf("problems %v, images %+v, ttl %s", p.Problems, r.Images, r.TTL)
			}
			for role, want := range test.nodes {
				expect.Equal(t, fmt.Sprintf("selects node %q", role), want, r.SelectsNode(labels.Set{"role": role}))
			}
		})
	}
}

func TestLoadFindsProblemsOfRulesAboutImages(t *testing.T) {
	images := func(i v1alpha1.Images) func(*policy.Spec, *v1alpha1.Rule) {
		return spoil(func(r *v1alpha1.Rule) { r.Images = &i })
	}
	tests := map[string]struct {
		spoil func(*policy.Spec, *v1alpha1.Rule)
		path  string
	}{
		"another version":                 {spoil(func(r *v1alpha1.Rule) { r.Target.APIVersion = "node.sunset-k8s.io/v1" }), "target.apiVersion"},
		"another kind of the group":       {spoil(func(r *v1alpha1.Rule) { r.Target.Kind = "Images" }), "target.kind"},
		"one threshold, high":             {images(v1alpha1.Images{HighThresholdPercent: new(int32(85))}), "images.lowThresholdPercent"},
		"one threshold, low":              {images(v1alpha1.Images{LowThresholdPercent: new(int32(80))}), "images.highThresholdPercent"},
		"equal thresholds":                {images(v1alpha1.Images{HighThresholdPercent: new(int32(80)), LowThresholdPercent: new(int32(80))}), "images.lowThresholdPercent"},
		"a high threshold above 100":      {images(v1alpha1.Images{HighThresholdPercent: new(int32(101)), LowThresholdPercent: new(int32(80))}), "images.highThresholdPercent"},
		"a negative low threshold":        {images(v1alpha1.Images{HighThresholdPercent: new(int32(85)), LowThresholdPercent: new(int32(-1))}), "images.lowThresholdPercent"},
		"a minAge that is not a duration": {images(v1alpha1.Images{MinAge: "soon"}), "images.minAge"},
		"a label selector": {spoil(func(r *v1alpha1.Rule) {
			r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		}), "target.selector"},
		"a node selector that cannot be read": {spoil(func(r *v1alpha1.Rule) { r.NodeSelector = badSelector }), "nodeSelector.matchExpressions[0].operator"},
		"an outcome":                          {spoil(func(r *v1alpha1.Rule) { r.Outcome = "'x'" }), "outcome"},
		"bytes":                               {spoil(func(r *v1alpha1.Rule) { r.Bytes = "7" }), "bytes"},
		"an override":                         {spoil(func(r *v1alpha1.Rule) { r.OverrideBounds = &v1alpha1.OverrideBounds{} }), "overrideBounds"},
		"deletion of the owner":               {spoil(func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetOwner} }), "delete"},
		"a propagation policy":                {spoil(func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{PropagationPolicy: "Orphan"} }), "delete"},
		"an Event per object":                 {spoil(func(r *v1alpha1.Rule) { r.Events = v1alpha1.EventsPerObject }), "events"},
		"a percentage of a quota":             {spoil(func(r *v1alpha1.Rule) { r.Capacity = &v1alpha1.Capacity{PercentOfQuota: new(int32(50))} }), "capacity.percentOfQuota"},
		"a fair capacity":                     {spoil(func(r *v1alpha1.Rule) { r.Capacity = &v1alpha1.Capacity{Max: new(int32(50)), Share: "Fair"} }), "capacity.share"},
		"no ttl":                              {spoil(func(r *v1alpha1.Rule) { r.TTL = "" }), "ttl"},
		"limits":                              {func(s *policy.Spec, _ *v1alpha1.Rule) { s.Limits = &v1alpha1.Limits{MaxDeletions: 5, Window: "1h"} }, "target"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := mixed()
			test.spoil(&d.Spec, &d.Spec.Rules[1])
			checkProblem(t, d.Load(policy.DefaultProtection()), "spec.rules[1]."+test.path)
		})
	}
}

func TestImageTargetAPIVersions(t *testing.T) {
	for apiVersion, want := range map[string][]string{
		"node.sunset-k8s.io/v1alpha1": nil,
		"image.openshift.io/v1":       nil, // another kind of that name
		"sunset-k8s.io/v1alpha1":      {"spec.rules[1].target.apiVersion: sunset-k8s.io/v1alpha1 has no kind Image (for images of nodes, write node.sunset-k8s.io/v1alpha1)"},
		"node.k8s.io/v1":              {"spec.rules[1].target.apiVersion: node.k8s.io/v1 has no kind Image (for images of nodes, write node.sunset-k8s.io/v1alpha1)"},
		"v1":                          {"spec.rules[1].target.apiVersion: v1 has no kind Image (for images of nodes, write node.sunset-k8s.io/v1alpha1)"},
	} {
		d := mixed()
		d.Spec.Rules[1].Target.APIVersion = apiVersion
		expect.Equal(t, apiVersion, want, policy.Lines(d.Load(policy.DefaultProtection()).Problems))
	}
}

func TestOperatorsNobodyKnows(t *testing.T) {
	for operator, hint := range map[metav1.LabelSelectorOperator]string{
		"in": "did you mean In?", "notin": "did you mean NotIn?", "Matches": "In, NotIn, Exists or DoesNotExist",
		"": "In, NotIn, Exists or DoesNotExist", "In": "In needs a list of values",
		"NotExists": "did you mean DoesNotExist?", "DoesntExist": "did you mean DoesNotExist?", "!exists": "did you mean DoesNotExist?",
		"nin": "In, NotIn, Exists or DoesNotExist", "!In": "In, NotIn, Exists or DoesNotExist", "not-in": "did you mean NotIn?",
		"exist": "did you mean Exists?", "Equals": "In, NotIn, Exists or DoesNotExist",
	} {
		d := mixed()
		s := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "role", Operator: operator}}}
		d.Spec.NamespaceSelector, d.Spec.Rules[1].NodeSelector = s, s
		found := d.Load(policy.DefaultProtection()).Problems
		if len(found) != 2 || found[0].Hint != hint || found[1].Hint != hint {
			t.Errorf("%q: %v, want the hint %q", operator, found, hint)
		}
	}
}

func TestImageFieldsNeedAnImageTarget(t *testing.T) {
	d := mixed()
	d.Spec.Rules[0].Images, d.Spec.Rules[0].NodeSelector = &v1alpha1.Images{}, &metav1.LabelSelector{}
	const why = ": only a rule about images of nodes can have this field (leave it out, or write target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image})"
	want := []string{"spec.rules[0].images" + why, "spec.rules[0].nodeSelector" + why}
	expect.Equal(t, "problems", want, policy.Lines(d.Load(policy.DefaultProtection()).Problems))
}

func TestNamespacesHaveNoRulesAboutImages(t *testing.T) {
	d := mixed()
	d.Kind, d.Metadata.Namespace, d.Spec.ServiceAccountName = "RetentionPolicy", "team-a", "cleaner"
	want := []string{"spec.rules[1].target.kind: images of nodes are cluster-scoped (only a ClusterRetentionPolicy can have rules about images)"}
	expect.Equal(t, "problems", want, policy.Lines(d.Load(policy.DefaultProtection()).Problems))
}

func TestNamespacesCannotOverrideRulesAboutImages(t *testing.T) {
	d := fine()
	d.Kind, d.Metadata.Name, d.Metadata.Namespace = "RetentionPolicy", "ours", "team-a"
	d.Spec = policy.Spec{Mode: v1alpha1.Enforce, Overrides: []v1alpha1.RuleOverride{
		{Policy: "batch", Rule: "images", TTL: "1d"}, {Policy: "batch", Suspend: new(true)},
	}}
	ours := d.Load(policy.DefaultProtection())
	namespaces := map[string]policy.Namespace{"team-a": {}}
	b := policy.NewSnapshot([]*policy.Policy{mixed().Load(policy.DefaultProtection()), ours}, namespaces, policy.DefaultProtection())
	want := []string{"spec.overrides[0].rule: rule batch/images targets images of nodes, which are cluster-scoped (leave the override out)"}
	expect.Equal(t, "problems", want, policy.Lines(b.Policies()[1].Problems))
	if rules := b.ClusterRules("team-a"); len(rules) != 1 || rules[0].ID.Rule != "jobs" {
		t.Errorf("rules of the namespace are %v", rules)
	}
	effective := b.Effective(v1alpha1.ImageKind.GroupKind(), "")
	if len(effective.Rules) != 1 || effective.Rules[0].Suspended || effective.Rules[0].TTL != policy.Week {
		t.Errorf("rules about images are %+v", effective.Rules)
	}
}

func TestImagesAreNotInTheLedgerOfTheirPolicy(t *testing.T) {
	d := mixed()
	d.Spec.Rules[0].Outcome = "'done'"
	p := d.Load(policy.DefaultProtection())
	if len(p.Problems) > 0 || !p.Rules[0].Ledger || p.Rules[1].Ledger {
		t.Errorf("problems %v, in the ledger: Jobs %v, images %v", p.Problems, p.Rules[0].Ledger, p.Rules[1].Ledger)
	}
}

func TestWarningsOfShortLivesOfImages(t *testing.T) {
	for ttl, want := range map[string][]string{
		"1h":  nil,
		"59m": {"spec.rules[1].ttl: images that are removed after 59m may be pulled again repeatedly (write 1h or longer; to free disk space, write images.highThresholdPercent and lowThresholdPercent)"},
		"x":   nil, // a problem already
	} {
		d := mixed()
		d.Spec.Rules[0].TTL, d.Spec.Rules[1].TTL = "1m", ttl
		expect.Equal(t, ttl, want, policy.Lines(d.Load(policy.DefaultProtection()).Warnings()))
	}
}

func TestDecideAboutImages(t *testing.T) {
	start := now.Add(-10 * hour)
	due := policy.Facts{Selected: true, Eligible: true, Start: start, FirstSeen: start}
	tests := map[string]struct {
		flags  policy.Flags
		change func(*policy.Evaluation)
		want   policy.Verdict
	}{
		"expired":                 {0, func(*policy.Evaluation) {}, policy.Verdict{Action: policy.Delete, Reason: policy.Expired, Due: start.Add(hour)}},
		"pinned":                  {policy.IsPinned, func(*policy.Evaluation) {}, policy.Verdict{Reason: policy.Pinned, Due: start.Add(hour)}},
		"in use":                  {policy.IsInUse, func(*policy.Evaluation) {}, policy.Verdict{Reason: policy.InUse, Due: start.Add(hour)}},
		"unpullable":              {0, func(r *policy.Evaluation) { r.Facts.Unpullable = true }, policy.Verdict{Reason: policy.Unpullable}},
		"unpullable, and allowed": {0, func(r *policy.Evaluation) { r.Facts.Unpullable, r.Rule.Images.AllowUnpullable = true, true }, policy.Verdict{Action: policy.Delete, Reason: policy.Expired, Due: start.Add(hour)}},
		"younger than minAge":     {0, func(r *policy.Evaluation) { r.Rule.Images.MinAge = 12 * hour }, policy.Verdict{Action: policy.Wait, Reason: policy.Waiting, Due: start.Add(12 * hour)}},
		"above a disk threshold": {
			0, func(r *policy.Evaluation) { r.Rule.TTL, r.Rank.Excess = 100*hour, true }, policy.Verdict{Action: policy.Delete, Reason: policy.OverCapacity, Due: now}},
		"above a disk threshold, younger than minAge": {
			0, func(r *policy.Evaluation) {
				r.Rule.TTL, r.Rank.Excess, r.Rule.Images.MinAge = 100*hour, true, 12*hour
			},
			policy.Verdict{Action: policy.Wait, Reason: policy.Waiting, Due: start.Add(12 * hour)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := policy.Evaluation{Rule: enforced("nodes", "images"), Facts: due, Known: true}
			r.Rule.Kind = v1alpha1.ImageKind
			test.change(&r)
			v, _ := policy.Decide(policy.Subject{Name: "sha256:1", Created: start, Flags: test.flags}, []policy.Evaluation{r}, now)
			got := policy.Verdict{Action: v.Action, Reason: v.Reason, Due: v.Due}
			expect.Equal(t, "verdict", test.want, got)
		})
	}
}

func TestImageOfSeveralGroups(t *testing.T) {
	member := func(uid string, age time.Duration, group string, also ...string) policy.Candidate {
		return policy.Candidate{UID: types.UID(uid), Group: group, Also: also, Start: now.Add(-age)}
	}
	ranking := policy.Ranking{Allowance: func(string) policy.Allowance { return policy.Allowance{Keep: 2} }}
	members := []policy.Candidate{
		member("newest of a", 1*hour, "a"),
		member("third of a, second of b", 3*hour, "a", "b"),
		member("second of a", 2*hour, "a"),
		member("third of b: the image with two groups takes a place", 4*hour, "b"),
		member("first of b", 1*hour, "b"),
		member("fourth of a and of b", 5*hour, "a", "b"),
	}
	want := []bool{true, true, true, false, true, false}
	for i, result := range ranking.Rank(members) {
		expect.Equal(t, fmt.Sprintf("%s: newest", members[i].UID), want[i], result.Newest)
	}
}
