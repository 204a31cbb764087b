// SPDX-License-Identifier: Apache-2.0

package digest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var jobs = []v1alpha1.Rule{{Name: "jobs", Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"}}}

// source is an enforced policy; "NAMESPACE/NAME" for a RetentionPolicy.
func source(name string, status v1alpha1.RetentionPolicyStatus) digest.Source {
	s := digest.Source{Kind: "ClusterRetentionPolicy", Name: name, UID: types.UID("uid-" + name), Created: now.Add(-90 * 24 * time.Hour), Mode: v1alpha1.Enforce, Rules: jobs, Status: status}
	if namespace, name, ok := strings.Cut(name, "/"); ok {
		s.Kind, s.Namespace, s.Name = "RetentionPolicy", namespace, name
	}
	return s
}

func counted(deleted, gone int64) v1alpha1.LedgerCount {
	return v1alpha1.LedgerCount{Deleted: deleted, Gone: gone}
}

// withLedger is the status of a policy whose deletions a ledger counts.
func withLedger(deleted, gone int64) v1alpha1.RetentionPolicyStatus {
	return v1alpha1.RetentionPolicyStatus{Deleted: deleted, Ledger: &v1alpha1.LedgerStatus{Name: "l", LedgerCount: counted(deleted, gone)}}
}

// last is the status after a digest a day ago.
func last(counts ...v1alpha1.DigestCount) *v1alpha1.DigestStatus {
	return &v1alpha1.DigestStatus{CountedTime: &metav1.Time{Time: now.Add(-24 * time.Hour)}, Counted: counts}
}

// TestDeletions: the deletions since the last digest are exact if a ledger counts them, and unknown if anything is missing.
func TestDeletions(t *testing.T) {
	before := func(deleted, gone int64) *v1alpha1.DigestStatus {
		return last(v1alpha1.DigestCount{PolicyUID: "uid-p", LedgerCount: counted(deleted, gone)})
	}
	young := source("p", withLedger(7, 0))
	withImages := withLedger(54, 3)
	withImages.Ledger.Deleted = 14
	young.Created = now.Add(-time.Hour)
	for name, test := range map[string]struct {
		source        digest.Source
		last          *v1alpha1.DigestStatus
		deleted, gone int64
		exact, known  bool
	}{
		"a ledger":                                {source("p", withLedger(10, 3)), before(4, 1), 6, 2, true, true},
		"nothing was deleted":                     {source("p", withLedger(10, 3)), before(10, 3), 0, 0, true, true},
		"no ledger":                               {source("p", v1alpha1.RetentionPolicyStatus{Deleted: 9}), before(4, 0), 5, 0, false, true},
		"no ledger since then":                    {source("p", v1alpha1.RetentionPolicyStatus{Deleted: 9}), before(4, 2), 5, 0, false, true},
		"images, which no ledger counts":          {source("p", withImages), before(50, 1), 4, 2, true, true},
		"a ledger since then":                     {source("p", withLedger(9, 1)), before(4, 0), 5, 1, true, true},
		"the first digest":                        {source("p", withLedger(10, 3)), &v1alpha1.DigestStatus{}, 0, 0, true, false},
		"the policy is new":                       {young, last(), 7, 0, true, true},
		"the digest did not select it before":     {source("p", withLedger(10, 3)), last(), 0, 0, true, false},
		"the ledger was deleted and counts again": {source("p", withLedger(2, 0)), before(4, 1), 0, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.source.Status.Due.Now, test.source.Status.Due.Day = 1, 1 // so that the policy is listed
			c, counts := loaded(t, webhook(receiver)).Compose(digest.Input{Now: now, Sources: []digest.Source{test.source}, Last: test.last})
			p := c.Policies[0]
			expect.Equal(t, "deleted", counted(test.deleted, test.gone), counted(p.Deleted, p.Gone))
			expect.Equal(t, "deleted in all", counted(test.deleted, test.gone), counted(c.Deleted, c.Gone))
			expect.Equal(t, "exact", test.exact, p.Exact)
			expect.Equal(t, "known", test.known, !p.Uncounted)
			// The next digest continues from here.
			again, _ := loaded(t, webhook(receiver)).Compose(digest.Input{Now: now, Sources: []digest.Source{test.source}, Last: last(counts...)})
			expect.Equal(t, "deleted once more", counted(0, 0), counted(again.Deleted, again.Gone))
			expect.Equal(t, "not known", int64(0), again.Uncounted)
		})
	}
}

func TestComposeOfStatus(t *testing.T) {
	status := withLedger(0, 0)
	status.Due = v1alpha1.DueCounts{Now: 1, Hour: 2, Day: 3, Week: 4}
	status.Storage = &v1alpha1.StorageStatus{
		Due: v1alpha1.DueStorage{
			Hour: v1alpha1.Storage{Bytes: 20}, Day: v1alpha1.Storage{Bytes: 30}, Week: v1alpha1.Storage{Bytes: 40},
		},
		Kept: v1alpha1.Storage{Bytes: 7},
	}
	status.Rules = []v1alpha1.RuleStatus{
		{Name: "jobs", Soonest: []v1alpha1.DueSample{
			{Namespace: "b", Name: "later", DueTime: metav1.Time{Time: now.Add(2 * time.Hour)}},
			{Namespace: "a", Name: "soon", DueTime: metav1.Time{Time: now.Add(time.Hour)}},
			{Namespace: "a", Name: "too-late", DueTime: metav1.Time{Time: now.Add(25 * time.Hour)}},
		}},
		{Name: "deleted-rule", Soonest: []v1alpha1.DueSample{{Name: "x", DueTime: metav1.Time{Time: now}}}},
	}
	status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: "EvaluationFailed", Message: "line\nline"},
		{Type: "Enforcing", Status: "True", Reason: "Enforcing"},
		{Type: "Delayed", Status: "True", Reason: "Refused", Message: strings.Repeat("x", 1000)},
	}
	dry := source("dry", v1alpha1.RetentionPolicyStatus{Due: v1alpha1.DueCounts{Now: 100, Hour: 100, Day: 100, Week: 100}})
	dry.Mode = ""
	for ahead, due := range map[v1alpha1.DigestPeriod]int64{v1alpha1.DigestHour: 2, "": 3, v1alpha1.DigestWeek: 4} {
		d := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Ahead = ahead }))
		c, _ := d.Compose(digest.Input{Now: now, Sources: []digest.Source{dry, source("p", status), source("silent", withLedger(0, 0))}, Last: last()})
		expect.Equal(t, "due", due, c.Due)
		expect.Equal(t, "due now", int64(1), c.DueNow)
		expect.Equal(t, "storage", &digest.Storage{Due: v1alpha1.Storage{Bytes: 10 * due}, Kept: v1alpha1.Storage{Bytes: 7}}, c.Policies[0].Storage)
		expect.Equal(t, "stuck", int64(1), c.Stuck)
		expect.Equal(t, "policies", "p dry", c.Policies[0].Name+" "+c.Policies[1].Name)
		expect.Equal(t, "mode", "DryRun", c.Policies[1].Mode)
		expect.Equal(t, "not known", int64(3), c.Uncounted)
	}
	c, _ := loaded(t, webhook(receiver)).Compose(digest.Input{Now: now, Sources: []digest.Source{source("p", status)}, Last: last()})
	var commands []string
	for _, o := range c.Policies[0].Soonest {
		commands = append(commands, o.Explain)
	}
	expect.Equal(t, "soonest", []string{"kubectl sunset explain job.batch/soon -n a", "kubectl sunset explain job.batch/later -n b"}, commands)
	problems := c.Policies[0].Problems
	expect.Equal(t, "problems", "EvaluationFailed: line line Refused", problems[0].Reason+": "+problems[0].Message+" "+problems[1].Reason)
	if len(problems[1].Message) > 300 {
		t.Errorf("a message of %d bytes", len(problems[1].Message))
	}
}

// TestCommandsAboutImages: a status names images as NODE: IMAGE, and the commands name both.
func TestCommandsAboutImages(t *testing.T) {
	status := withLedger(0, 0)
	status.Due.Day = 3
	status.Rules = []v1alpha1.RuleStatus{{Name: "images"}}
	for i, name := range []string{"worker-1: registry.example.com/shop/cart:v2", "worker-1: sha256:abc", "worker-2: x; reboot"} {
		due := v1alpha1.DueSample{Name: name, DueTime: metav1.Time{Time: now.Add(time.Duration(i) * time.Minute)}}
		status.Rules[0].Soonest = append(status.Rules[0].Soonest, due)
	}
	s := source("nodes", status)
	s.Rules = []v1alpha1.Rule{{Name: "images", Target: v1alpha1.Target{APIVersion: v1alpha1.ImageKind.GroupVersion().String(), Kind: "Image"}}}
	c, _ := loaded(t, webhook(receiver)).Compose(digest.Input{Now: now, Sources: []digest.Source{s}, Last: last()})
	var commands []string
	for _, o := range c.Policies[0].Soonest {
		commands = append(commands, o.Explain)
	}
	expect.Equal(t, "commands", []string{
		"kubectl sunset explain image/registry.example.com/shop/cart:v2 --node worker-1",
		"kubectl sunset explain image/sha256:abc --node worker-1",
		"kubectl sunset preview --node worker-2",
	}, commands)
}

// TestStorageOfDeletedObjects: each digest has the storage that was deleted since the one before.
func TestStorageOfDeletedObjects(t *testing.T) {
	status := v1alpha1.RetentionPolicyStatus{Deleted: 9, Storage: &v1alpha1.StorageStatus{
		Currency: "EUR", Deleted: v1alpha1.Storage{Bytes: 300, EstimatedMonthlyCost: "3.10"},
	}}
	for name, test := range map[string]struct{ before, want *v1alpha1.Storage }{
		"since the one before":    {&v1alpha1.Storage{Bytes: 100, EstimatedMonthlyCost: "1.00"}, &v1alpha1.Storage{Bytes: 200, EstimatedMonthlyCost: "2.10"}},
		"nothing":                 {&status.Storage.Deleted, &v1alpha1.Storage{EstimatedMonthlyCost: "0.00"}},
		"no sizes before":         {nil, &status.Storage.Deleted},
		"counts that began again": {&v1alpha1.Storage{Bytes: 1000, EstimatedMonthlyCost: "9.00"}, &v1alpha1.Storage{EstimatedMonthlyCost: "0.00"}},
	} {
		t.Run(name, func(t *testing.T) {
			previous := last(v1alpha1.DigestCount{PolicyUID: source("p", status).UID, LedgerCount: counted(4, 0), Storage: test.before})
			c, counts := loaded(t, webhook(receiver)).Compose(digest.Input{Now: now, Sources: []digest.Source{source("p", status)}, Last: previous})
			expect.Equal(t, "deleted", *test.want, c.Policies[0].Storage.Deleted)
			expect.Equal(t, "the next one continues", &status.Storage.Deleted, counts[0].Storage)
		})
	}
}

// TestNamespaces: a digest about a namespace has its counts, and contains nothing about other namespaces.
func TestNamespaces(t *testing.T) {
	status := withLedger(100, 10)
	status.Due = v1alpha1.DueCounts{Now: 50, Day: 50}
	status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "EvaluationFailed", Message: "rule jobs fails on other/secret"}}
	status.Rules = []v1alpha1.RuleStatus{{Name: "jobs", Soonest: []v1alpha1.DueSample{{Namespace: "other", Name: "secret", DueTime: metav1.Time{Time: now}}}}}
	cluster := source("p", status)
	cluster.Ledger = &v1alpha1.RetentionLedger{Namespaces: []v1alpha1.LedgerNamespace{{Name: "shop", LedgerCount: counted(5, 1)}, {Name: "other", LedgerCount: counted(95, 9)}}}
	elsewhere := cluster
	elsewhere.Name, elsewhere.UID = "elsewhere", "uid-elsewhere"
	elsewhere.Ledger = &v1alpha1.RetentionLedger{Namespaces: []v1alpha1.LedgerNamespace{{Name: "other", LedgerCount: counted(95, 9)}}}
	stats := policy.NewStats(now)
	own := &policy.PolicyStats{
		Count: policy.Count{Errors: 2, Due: v1alpha1.DueCounts{Now: 1, Day: 2}},
		Rules: map[string]*policy.RuleStats{"jobs": {Soonest: []v1alpha1.DueSample{{Namespace: "shop", Name: "report", DueTime: metav1.Time{Time: now}}}}},
	}
	own.Blocked.Subjects = 3
	stats.Policies["p"] = own
	d := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Namespaces = []string{"shop"} }))
	expect.Equal(t, "selects a ClusterRetentionPolicy", true, d.Selects("", "p"))
	expect.Equal(t, "selects a RetentionPolicy there", true, d.Selects("shop", "own"))
	expect.Equal(t, "selects one elsewhere", false, d.Selects("other", "secret"))
	before := last(v1alpha1.DigestCount{PolicyUID: "uid-p", LedgerCount: counted(4, 0)}, v1alpha1.DigestCount{PolicyUID: "uid-elsewhere"})
	c, counts := d.Compose(digest.Input{Now: now, Sources: []digest.Source{cluster, elsewhere, source("shop/own", withLedger(3, 0))}, Stats: stats, Last: before})
	expect.Equal(t, "counts", []v1alpha1.DigestCount{{PolicyUID: "uid-elsewhere"}, {PolicyUID: "uid-p", LedgerCount: counted(5, 1)}, {PolicyUID: "uid-shop/own", LedgerCount: counted(3, 0)}}, counts)
	expect.Equal(t, "policies", 1, len(c.Policies))
	p := c.Policies[0]
	expect.Equal(t, "p", "2 1 1", fmt.Sprint(p.Due, " ", p.Deleted, " ", p.Gone))
	expect.Equal(t, "problems", []digest.Problem{{Reason: "EvaluationFailed", Message: "an expression fails on 2 objects, which stay"}, {Reason: "Blocked", Message: "rules of other policies keep 3 objects that are due"}}, p.Problems)
	said, err := json.Marshal(c)
	expect.NoError(t, err)
	for _, secret := range []string{"other/", "secret", "95", "100", "50", "elsewhere", `"other"`} {
		if strings.Contains(string(said), secret) {
			t.Errorf("%q is in %s", secret, said)
		}
	}
	// The ledger has a common counter, which may contain deletions in the namespace.
	cluster.Ledger = &v1alpha1.RetentionLedger{Namespaces: []v1alpha1.LedgerNamespace{{Name: "*", LedgerCount: counted(95, 9)}}}
	c, _ = d.Compose(digest.Input{Now: now, Sources: []digest.Source{cluster}, Stats: stats, Last: last(v1alpha1.DigestCount{PolicyUID: "uid-p"})})
	expect.Equal(t, "not known", int64(1), c.Uncounted)
}

// TestPolicyWideReasons: a digest about a namespace has the reasons that stop a ClusterRetentionPolicy everywhere, and none that may
// be due to objects of other namespaces. It has no message, and nothing about a policy without objects in the namespace.
func TestPolicyWideReasons(t *testing.T) {
	d := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Namespaces = []string{"shop"} }))
	for name, test := range map[string]struct {
		condition metav1.Condition
		want      string // reason; empty for none
	}{
		"suspended":                  {metav1.Condition{Type: "Enforcing", Status: "False", Reason: "Suspended"}, "Suspended"},
		"frozen":                     {metav1.Condition{Type: "Enforcing", Status: "False", Reason: "Frozen"}, "Frozen"},
		"a limit":                    {metav1.Condition{Type: "Enforcing", Status: "False", Reason: "LimitReached"}, "LimitReached"},
		"outside of windows":         {metav1.Condition{Type: "Enforcing", Status: "False", Reason: "OutsideWindows"}, ""},
		"slow in some namespaces":    {metav1.Condition{Type: "Enforcing", Status: "True", Reason: "Throttled"}, ""},
		"invalid":                    {metav1.Condition{Type: "Ready", Status: "False", Reason: "RuleInvalid"}, "RuleInvalid"},
		"no archive":                 {metav1.Condition{Type: "Ready", Status: "False", Reason: "ArchiveUnavailable"}, "ArchiveUnavailable"},
		"an expression fails":        {metav1.Condition{Type: "Ready", Status: "False", Reason: "EvaluationFailed"}, ""},
		"it waits for approval":      {metav1.Condition{Type: "Ready", Status: "False", Reason: "ApprovalRequired"}, ""},
		"objects elsewhere stay":     {metav1.Condition{Type: "Delayed", Status: "True", Reason: "Refused"}, ""},
		"objects elsewhere are kept": {metav1.Condition{Type: "Blocked", Status: "True", Reason: "Suspended"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.condition.Message = "because of other/secret"
			s := source("p", v1alpha1.RetentionPolicyStatus{Conditions: []metav1.Condition{test.condition}})
			stats := policy.NewStats(now)
			c, _ := d.Compose(digest.Input{Now: now, Sources: []digest.Source{s}, Stats: stats, Last: last()})
			expect.Equal(t, "without objects there", 0, len(c.Policies))
			stats.Policies["p"] = &policy.PolicyStats{Count: policy.Count{Due: v1alpha1.DueCounts{Day: 1}}}
			c, _ = d.Compose(digest.Input{Now: now, Sources: []digest.Source{s}, Stats: stats, Last: last()})
			var want []digest.Problem
			if test.want != "" {
				want = []digest.Problem{{Reason: test.want, Message: "the policy reports this for all namespaces"}}
			}
			expect.Equal(t, "problems", want, c.Policies[0].Problems)
		})
	}
}

// TestBounded: a digest has a limited size, with any number of policies.
func TestBounded(t *testing.T) {
	var sources []digest.Source
	long := strings.Repeat("x", 30_000)
	for i := range 2000 {
		status := withLedger(int64(i), 0)
		status.Due.Day = int64(i)
		for n := range 64 {
			name := fmt.Sprint("r", n)
			status.Rules = append(status.Rules, v1alpha1.RuleStatus{Name: name, Soonest: []v1alpha1.DueSample{{Namespace: "n", Name: strings.Repeat("y", 253), DueTime: metav1.Time{Time: now}}}})
		}
		for n := range 20 {
			status.Conditions = append(status.Conditions, metav1.Condition{Type: "Delayed", Status: "True", Reason: fmt.Sprint("R", n), Message: long})
		}
		s := source(fmt.Sprintf("p%04d", i), status)
		s.Rules = []v1alpha1.Rule{{Name: "r0", Target: jobs[0].Target}, {Name: "r1", Target: jobs[0].Target}}
		sources = append(sources, s)
	}
	d := loaded(t, webhook(receiver))
	c, counts := d.Compose(digest.Input{Now: now, Sources: sources, Last: last()})
	expect.Equal(t, "counted", v1alpha1.MaxDigestPolicies, len(counts))
	expect.Equal(t, "listed", 50, len(c.Policies))
	expect.Equal(t, "more", int64(1950), c.MorePolicies)
	said, err := json.Marshal(c)
	expect.NoError(t, err)
	if len(said) > 200_000 {
		t.Errorf("%d bytes", len(said))
	}
	_, err = d.Text(c)
	expect.NoError(t, err)
}
