// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"testing/quick"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var (
	history = &policy.Archive{To: "history"}
	version = policy.Subject{Namespace: "team-a", Name: "job", UID: "u", ResourceVersion: "7", Created: started}
)

func archiving(a *policy.Archive) func(*policy.Evaluation) {
	return func(e *policy.Evaluation) { e.Rule.Archive = a }
}

// permitOf returns a permit to delete a subject.
func permitOf(t *testing.T, s policy.Subject, options ...func(*policy.Evaluation)) policy.DeletePermit {
	t.Helper()
	_, w := policy.Decide(s, evaluations(says("a", options...)), now)
	if !w.Valid() {
		t.Fatal("no permit")
	}
	return w
}

func receipt(t policy.Target, change ...func(*policy.Receipt)) policy.Receipt {
	r := policy.Receipt{Target: t, Rule: says("a").Rule.ID, Archive: history, Segment: "segments/1", At: now}
	for _, c := range change {
		c(&r)
	}
	return r
}

func TestClear(t *testing.T) {
	w := permitOf(t, version, archiving(history))
	target := policy.TargetOf(w.Rule().Kind, version)
	same := *history
	for name, test := range map[string]struct {
		receipt policy.Receipt
		want    bool
	}{
		"a receipt of this version":          {receipt(target), true},
		"settings that are equal":            {receipt(target, func(r *policy.Receipt) { r.Archive = &same }), true},
		"read in another version of its API": {receipt(target, func(r *policy.Receipt) { r.Target.Kind.Version = "v2" }), true},
		"no receipt":                         {policy.Receipt{}, false},
		"an earlier version":                 {receipt(target, func(r *policy.Receipt) { r.Target.ResourceVersion = "6" }), false},
		"another object of the name":         {receipt(target, func(r *policy.Receipt) { r.Target.UID = "v" }), false},
		"another archive":                    {receipt(target, func(r *policy.Receipt) { r.Archive = &policy.Archive{To: "other"} }), false},
		"other settings":                     {receipt(target, func(r *policy.Receipt) { r.Archive = &policy.Archive{To: "history", Events: true} }), false},
		"another rule":                       {receipt(target, func(r *policy.Receipt) { r.Rule.Rule = "b" }), false},
		"another policy":                     {receipt(target, func(r *policy.Receipt) { r.Rule.Policy = "other" }), false},
		"another policy of the name":         {receipt(target, func(r *policy.Receipt) { r.PolicyUID = "other" }), false},
		"no archive":                         {receipt(target, func(r *policy.Receipt) { r.Archive = nil }), false},
		"no segment":                         {receipt(target, func(r *policy.Receipt) { r.Segment = "" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := policy.Clear(w, target, test.receipt, policy.SnapshotReceipt{})
			if (err == nil) != test.want || c.Permits(target) != test.want || c.Permit().Valid() != test.want {
				t.Errorf("%v, permits it: %v", err, c.Permits(target))
			}
			if err != nil && !strings.Contains(err.Error(), `"history" has no verified record of resourceVersion 7 of `) {
				t.Error(err)
			}
		})
	}
}

func TestClearancePermitsOneTarget(t *testing.T) {
	w := permitOf(t, version, archiving(history))
	target := policy.TargetOf(w.Rule().Kind, version)
	c, err := policy.Clear(w, target, receipt(target), policy.SnapshotReceipt{})
	expect.NoError(t, err)
	expect.Equal(t, "target", target, c.Target())
	expect.Equal(t, "receipt", receipt(target), c.Receipt())
	for name, change := range map[string]func(*policy.Target){
		"version": func(t *policy.Target) { t.ResourceVersion = "8" }, "object": func(t *policy.Target) { t.UID = "v" },
		"name": func(t *policy.Target) { t.Name = "other" }, "namespace": func(t *policy.Target) { t.Namespace = "other" },
		"kind": func(t *policy.Target) { t.Kind.Kind = "Other" },
	} {
		other := target
		if change(&other); c.Permits(other) {
			t.Errorf("another %s is permitted", name)
		}
	}
	if none := (policy.Clearance{}); none.Permits(policy.Target{}) || none.Permits(target) || none.Permit().Valid() || none.Receipt() != (policy.Receipt{}) {
		t.Error("the zero Clearance permits something")
	}
}

func TestClearRefusesWhatThePermitDoesNotName(t *testing.T) {
	w := permitOf(t, version)
	target, other := policy.TargetOf(w.Rule().Kind, version), policy.Target{Name: "other", UID: "v", ResourceVersion: "1"}
	for name, test := range map[string]struct {
		permit policy.DeletePermit
		target policy.Target
	}{
		"no permit": {policy.DeletePermit{}, target}, "another target": {w, other}, "no target": {w, policy.Target{}},
		"the subject instead of the owner": {permitOf(t, version, deletesOwner(job)), target},
	} {
		if c, err := policy.Clear(test.permit, test.target, receipt(test.target), policy.SnapshotReceipt{}); err == nil || c.Permits(test.target) {
			t.Errorf("%s: cleared", name)
		}
	}
	if c, err := policy.Clear(w, target, receipt(other), policy.SnapshotReceipt{}); err != nil || !c.Permits(target) || c.Receipt() != (policy.Receipt{}) {
		t.Errorf("a rule that does not archive: %v", err)
	}
}

// TestClearForAnOwner: the record must be of the owner, in the version that is deleted.
func TestClearForAnOwner(t *testing.T) {
	w := permitOf(t, version, deletesOwner(job), archiving(history))
	target := policy.Target{Kind: job.Kind, Namespace: "team-a", Name: job.Name, UID: job.UID, ResourceVersion: "9"}
	if _, err := policy.Clear(w, target, receipt(target), policy.SnapshotReceipt{}); err != nil {
		t.Error(err)
	}
	if _, err := policy.Clear(w, target, receipt(policy.TargetOf(w.Rule().Kind, version)), policy.SnapshotReceipt{}); err == nil {
		t.Error("the record of the subject is enough for its owner")
	}
}

// TestClearOnlyWithItsReceipt: a Clearance of a rule that archives has the receipt of its target.
func TestClearOnlyWithItsReceipt(t *testing.T) {
	w := permitOf(t, version, archiving(history))
	target := policy.TargetOf(w.Rule().Kind, version)
	cleared := 0
	check := func(uid, other, resourceVersion, segment, archive bool) bool {
		r := receipt(target)
		pick := func(keep bool, to *string) {
			if !keep {
				*to += "x"
			}
		}
		uidText := string(r.Target.UID)
		pick(uid, &uidText)
		r.Target.UID = types.UID(uidText)
		pick(resourceVersion, &r.Target.ResourceVersion)
		if !segment {
			r.Segment = ""
		}
		if !archive {
			r.Archive = &policy.Archive{To: "history", Events: other, Redact: []string{"spec"}}
		}
		c, err := policy.Clear(w, target, r, policy.SnapshotReceipt{})
		if err == nil {
			cleared++
		}
		return (err == nil) == (uid && resourceVersion && segment && archive) && c.Permits(target) == (err == nil)
	}
	expect.NoError(t, quick.Check(check, &quick.Config{MaxCount: 2000}))
	if cleared == 0 {
		t.Error("no receipt was enough")
	}
}

// TestArchiveComparisonHasEveryField: a record that was made with other settings is another record.
func TestArchiveComparisonHasEveryField(t *testing.T) {
	base := func() *policy.Archive { return &policy.Archive{To: "history", Logs: &policy.ArchiveLogs{TailBytes: 1}} }
	checkFields(t, base, irrelevant{"Logs": "has fields of its own"}, func(a, b *policy.Archive) bool { return !a.Equal(b) || !b.Equal(a) })
	checkFields(t, func() *policy.ArchiveLogs { return &policy.ArchiveLogs{} }, irrelevant{}, func(a, b *policy.ArchiveLogs) bool {
		one, other := base(), base()
		one.Logs, other.Logs = a, b
		return !one.Equal(other)
	})
	none := (*policy.Archive)(nil)
	without := base()
	without.Logs = nil
	if !none.Equal(nil) || none.Equal(base()) || base().Equal(nil) || without.Equal(base()) || base().Equal(without) {
		t.Error("nil is not compared")
	}
}

func TestPermitsOfOtherArchivesDiffer(t *testing.T) {
	w := permitOf(t, version, archiving(history))
	for name, a := range map[string]*policy.Archive{"none": nil, "another": {To: "other"}} {
		if o := permitOf(t, version, archiving(a)); w.Same(o) || o.Same(w) {
			t.Errorf("%s: the permit is the same", name)
		}
	}
}

func TestLoadArchive(t *testing.T) {
	const pods, jobs = `"target": {"apiVersion": "v1", "kind": "Pod"}`, `"target": {"apiVersion": "batch/v1", "kind": "Job"}`
	load := func(t *testing.T, target, rest string) *policy.Policy {
		t.Helper()
		return parse(t, `{"spec": {"rules": [{"name": "a", `+target+`, "ttl": "1h", `+rest+`}]}}`).Load(policy.DefaultProtection())
	}
	pod, job := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Group: "batch", Kind: "Job"}
	for name, test := range map[string]struct {
		target, rest string
		want         *policy.Archive
	}{
		"only to": {jobs, `"archive": {"to": "history"}`, history},
		"everything": {jobs, `"archive": {"to": "history", "dependents": ["Pod", "Job.batch"], "events": true, "logs": {"tailBytes": "1Mi", "required": true}, "redact": ["spec.b", "spec.a"]}`,
			&policy.Archive{To: "history", Dependents: []schema.GroupKind{pod, job}, Events: true, Logs: &policy.ArchiveLogs{TailBytes: 1 << 20, Required: true}, Redact: []string{"spec.a", "spec.b"}}},
		"logs of a Pod": {pods, `"archive": {"to": "history", "logs": {"tailBytes": 1}}`, &policy.Archive{To: "history", Logs: &policy.ArchiveLogs{TailBytes: 1}}},
		"the owner of a Pod": {pods, `"delete": {"target": "Owner"}, "archive": {"to": "history", "logs": {"tailBytes": 1}}`,
			&policy.Archive{To: "history", Dependents: []schema.GroupKind{pod}, Logs: &policy.ArchiveLogs{TailBytes: 1}}},
		"orphaned dependents are not included": {jobs, `"delete": {"propagationPolicy": "Orphan"}, "archive": {"to": "history"}`, history},
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, test.target, test.rest)
			expect.Equal(t, "problems", nil, policy.Lines(p.Problems))
			expect.Equal(t, "archive", test.want, p.Rules[0].Archive)
			if !p.Ledger || !p.Rules[0].Ledger {
				t.Error("a policy that archives has no ledger")
			}
		})
	}
	for name, test := range map[string]struct{ target, rest, want string }{
		"without to":                {jobs, `"archive": {}`, "spec.rules[0].archive.to: missing"},
		"to is not a name":          {jobs, `"archive": {"to": "A B"}`, "spec.rules[0].archive.to: "},
		"no kind":                   {jobs, `"archive": {"to": "history", "dependents": ["*"]}`, `spec.rules[0].archive.dependents[0]: "*" is not a kind`},
		"orphaned dependents":       {jobs, `"delete": {"propagationPolicy": "Orphan"}, "archive": {"to": "history", "dependents": ["Pod"]}`, "spec.rules[0].archive.dependents: propagationPolicy Orphan"},
		"logs without Pods":         {jobs, `"archive": {"to": "history", "logs": {"tailBytes": "1Mi"}}`, "spec.rules[0].archive.logs: only Pods have logs"},
		"no logs":                   {pods, `"archive": {"to": "history", "logs": {"tailBytes": 0}}`, `spec.rules[0].archive.logs.tailBytes: "0" is out of range`},
		"logs that are too big":     {pods, `"archive": {"to": "history", "logs": {"tailBytes": "17Mi"}}`, `spec.rules[0].archive.logs.tailBytes: "17Mi" is out of range`},
		"a size beyond int64":       {pods, `"archive": {"to": "history", "logs": {"tailBytes": "1e30"}}`, "is out of range"},
		"a size without a quantity": {pods, `"archive": {"to": "history", "logs": {"tailBytes": "much"}}`, "spec.rules[0]"},
		"a path with a filter":      {pods, `"archive": {"to": "history", "redact": ["spec.containers[?(@.name=='a')].env"]}`, "spec.rules[0].archive.redact[0]: "},
		"images":                    {`"target": ` + imageTarget, `"archive": {"to": "history"}`, "spec.rules[0].archive: images cannot be archived"},
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, test.target, test.rest)
			if said := strings.Join(policy.Lines(p.Problems), "\n"); !strings.Contains(said, test.want) || !p.Rules[0].Invalid() {
				t.Errorf("problems: %s", said)
			}
		})
	}
	if without := load(t, jobs, `"eligible": "true"`); without.Ledger || without.Rules[0].Archive != nil {
		t.Error("a rule without archive archives")
	}
}

const imageTarget = `{"apiVersion": "node.sunset-k8s.io/v1alpha1", "kind": "Image"}`

func TestMayArchive(t *testing.T) {
	secret := schema.GroupKind{Kind: "Secret"}
	rule := func(namespace, kind string, dependents ...schema.GroupKind) *policy.Rule {
		return &policy.Rule{Namespace: namespace, Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Archive: &policy.Archive{To: "history", Dependents: dependents}}
	}
	encrypted := &v1alpha1.ArchiveEncryption{Recipients: []string{"age1x"}}
	teams := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	team := policy.Namespace{Labels: labels.Set{"team": "a"}}
	for name, test := range map[string]struct {
		rule  *policy.Rule
		spec  v1alpha1.ArchiveSpec
		other policy.Namespace
		also  []schema.GroupKind
		want  string // what the error says; empty for none
	}{
		"a ClusterRetentionPolicy":               {rule("", "Pod"), v1alpha1.ArchiveSpec{}, policy.Namespace{}, nil, ""},
		"Secrets":                                {rule("", "Secret"), v1alpha1.ArchiveSpec{}, policy.Namespace{}, nil, "is not encrypted"},
		"Secrets without recipients":             {rule("", "Secret"), v1alpha1.ArchiveSpec{Encryption: &v1alpha1.ArchiveEncryption{}}, policy.Namespace{}, nil, "is not encrypted"},
		"Secrets among the dependents":           {rule("", "Pod", secret), v1alpha1.ArchiveSpec{}, policy.Namespace{}, nil, "is not encrypted"},
		"a Secret that is the owner":             {rule("", "Pod"), v1alpha1.ArchiveSpec{}, policy.Namespace{}, []schema.GroupKind{secret}, "is not encrypted"},
		"Secrets, encrypted":                     {rule("", "Secret", secret), v1alpha1.ArchiveSpec{Encryption: encrypted}, policy.Namespace{}, []schema.GroupKind{secret}, ""},
		"a RetentionPolicy":                      {rule("team-a", "Pod"), v1alpha1.ArchiveSpec{}, team, nil, "allows no RetentionPolicies"},
		"a RetentionPolicy of the namespace":     {rule("team-a", "Pod"), v1alpha1.ArchiveSpec{AllowNamespaces: teams}, team, nil, ""},
		"a RetentionPolicy of another namespace": {rule("team-b", "Pod"), v1alpha1.ArchiveSpec{AllowNamespaces: teams}, policy.Namespace{}, nil, "does not allow RetentionPolicies of namespace team-b"},
		"all namespaces":                         {rule("team-b", "Pod"), v1alpha1.ArchiveSpec{AllowNamespaces: &metav1.LabelSelector{}}, policy.Namespace{}, nil, ""},
		"a selector that cannot be read": {rule("team-a", "Pod"), v1alpha1.ArchiveSpec{AllowNamespaces: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Is"}}}}, team, nil, "spec.allowNamespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			err := policy.MayArchive(test.rule, &v1alpha1.RetentionArchive{ObjectMeta: metav1.ObjectMeta{Name: "history"}, Spec: test.spec}, test.other, test.also...)
			switch {
			case test.want == "":
				expect.NoError(t, err)
			case err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"history"`):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
