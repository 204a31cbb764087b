// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestPageExplainsLimitsAndMissingLedger(t *testing.T) {
	due := policy.Verdict{Action: policy.Delete, Reason: policy.Expired, Due: at, Rule: policy.RuleID{Policy: "p", Rule: "r"}}
	waits := due
	waits.Action, waits.Reason = policy.Wait, policy.Waiting
	other := due
	other.Rule.Rule = "other"
	const full = "20 of at most 20 deletions within 1h"
	enforcing := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionEnforcing, Status: status, Reason: reason, Message: message}
	}
	limited := enforcing("False", "LimitReached", full)
	tests := map[string]struct {
		verdict   policy.Verdict
		ledger    bool
		condition metav1.Condition
		want      []explain.Block
	}{
		"limits are reached": {due, true, limited, []explain.Block{
			{Reason: "LimitReached", Message: "limits of policy p: " + full, Remedy: "raise limits in policy p"},
		}},
		"the ledger is missing": {due, true, enforcing("False", "LedgerUnavailable", "it is missing"), []explain.Block{
			{Reason: "LedgerUnavailable", Message: "policy p: it is missing", Remedy: "Sunset can write to the ledger"},
		}},
		"other causes do not concern one object": {due, true, enforcing("False", "Stale", "clock skew"), nil},
		"it is not due":                          {waits, true, limited, nil},
		"another rule decided":                   {other, true, limited, nil},
		"its policy has no ledger":               {due, false, limited, nil},
		"limits are not reached":                 {due, true, enforcing("True", "Enforcing", ""), nil},
		"the condition is missing":               {due, true, metav1.Condition{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Mode: v1alpha1.Enforce, TTL: time.Hour, Ledger: test.ledger}
			page := explain.New(explain.Input{
				At: at, Verdict: test.verdict,
				Evaluations: []policy.Evaluation{{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at.Add(-time.Hour)}, Known: true}},
				Status:      map[string]v1alpha1.RetentionPolicyStatus{"p": {Conditions: []metav1.Condition{test.condition}}},
			})
			expect.Equal(t, "blocks", test.want, page.Blocks, cmpopts.EquateEmpty())
		})
	}
}

func TestPageExplainsMissingArchive(t *testing.T) {
	rule := policy.RuleID{Policy: "p", Rule: "r"}
	due := policy.Verdict{Action: policy.Delete, Reason: policy.Expired, Due: at, Rule: rule}
	waits := due
	waits.Action, waits.Reason = policy.Wait, policy.Waiting
	const down = `rule r deletes nothing: RetentionArchive "history" does not answer`
	condition := func(name string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, Reason: reason, Message: message}
	}
	unavailable := condition(v1alpha1.ConditionArchiving, "False", "ArchiveUnavailable", down)
	for name, test := range map[string]struct {
		verdict   policy.Verdict
		archive   *policy.Archive
		condition metav1.Condition
		want      string // message; empty for no block
	}{
		"the archive is not available":    {due, &policy.Archive{To: "history"}, unavailable, "policy p: " + down},
		"some objects are not archived":   {due, &policy.Archive{To: "history"}, condition(v1alpha1.ConditionDelayed, "True", "Failing", "Failing: no; ArchiveUnavailable: full"), "policy p: Failing: no; ArchiveUnavailable: full"},
		"objects stay for another reason": {due, &policy.Archive{To: "history"}, condition(v1alpha1.ConditionDelayed, "True", "Failing", "no"), ""},
		"the archive is available":        {due, &policy.Archive{To: "history"}, condition(v1alpha1.ConditionArchiving, "True", "Archiving", "yes"), ""},
		"the rule does not archive":       {due, nil, unavailable, ""},
		"it is not due":                   {waits, &policy.Archive{To: "history"}, unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &policy.Rule{ID: rule, Mode: v1alpha1.Enforce, TTL: time.Hour, Archive: test.archive}
			page := explain.New(explain.Input{
				At: at, Verdict: test.verdict,
				Evaluations: []policy.Evaluation{{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at.Add(-time.Hour)}, Known: true}},
				Status:      map[string]v1alpha1.RetentionPolicyStatus{"p": {Conditions: []metav1.Condition{test.condition}}},
			})
			var want []explain.Block
			if test.want != "" {
				want = []explain.Block{{Reason: "ArchiveUnavailable", Message: test.want, Remedy: "RetentionArchive history can be written; its conditions name the cause"}}
			}
			expect.Equal(t, "blocks", want, page.Blocks, cmpopts.EquateEmpty())
		})
	}
}

func TestPageExplainsRecreatedObjects(t *testing.T) {
	rule := policy.RuleID{Policy: "p", Rule: "r"}
	due := policy.Verdict{Action: policy.Delete, Reason: policy.Expired, Due: at, Rule: rule}
	waits, other := due, due
	waits.Action, waits.Reason = policy.Wait, policy.Waiting
	other.Rule.Rule = "other"
	const message = "rule r keeps 4 Job, such as a/x, a/y, a/z: something re-creates these objects as fast as Sunset deletes them"
	tests := map[string]struct {
		name    string
		verdict policy.Verdict
		status  metav1.ConditionStatus
		want    string // how the message ends; empty for none
	}{
		"the message names the object":    {"z", due, metav1.ConditionTrue, "this object is one of them"},
		"the message names other objects": {"w", due, metav1.ConditionTrue, "this object may be one of them"},
		"it is not due":                   {"z", waits, metav1.ConditionTrue, ""},
		"another rule decided":            {"z", other, metav1.ConditionTrue, ""},
		"no object is re-created":         {"z", due, metav1.ConditionFalse, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &policy.Rule{ID: rule, Mode: v1alpha1.Enforce, TTL: time.Hour}
			condition := metav1.Condition{Type: v1alpha1.ConditionRecreated, Status: test.status, Reason: "Recreated", Message: message}
			page := explain.New(explain.Input{
				At: at, Verdict: test.verdict, Subject: policy.Subject{Namespace: "a", Name: test.name},
				Evaluations: []policy.Evaluation{{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at.Add(-time.Hour)}, Known: true}},
				Status:      map[string]v1alpha1.RetentionPolicyStatus{"p": {Conditions: []metav1.Condition{condition}}},
			})
			var want []explain.Block
			if test.want != "" {
				want = []explain.Block{{Reason: policy.KeptRecreated, Message: "policy p: " + message + "; " + test.want,
					Remedy: "stop the controller that re-creates it, then delete the object by hand; or change p/r, then Sunset retries"}}
			}
			expect.Equal(t, "blocks", want, page.Blocks, cmpopts.EquateEmpty())
		})
	}
}

func TestShare(t *testing.T) {
	for want, n := range map[string][2]int64{"0 of 1 object": {0, 1}, "1 of 1 object": {1, 1}, "1 of 2 objects": {1, 2}, "0 of 0 objects": {0, 0}} {
		if got := explain.Share(n[0], n[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestPageNamesManagingController: the page names the controller and the setting that allows the rule to delete the object.
func TestPageNamesManagingController(t *testing.T) {
	managed := func(mode v1alpha1.Mode) *explain.Page {
		object := map[string]any{"kind": "Job", "metadata": map[string]any{"annotations": map[string]any{"argocd.argoproj.io/tracking-id": "x"}}}
		rule := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Mode: mode, TTL: time.Hour}
		return explain.New(explain.Input{
			At: at, Object: object, Subject: policy.Subject{Flags: policy.OfArgoCD},
			Evaluations: []policy.Evaluation{{Rule: rule, Facts: policy.Facts{Selected: true, Eligible: true, Start: at.Add(-2 * time.Hour)}, Known: true}},
		})
	}
	byArgoCD := explain.Block{Reason: policy.ManagedByArgoCD, Message: "Argo CD tracks it (annotation argocd.argoproj.io/tracking-id)",
		Remedy: "set delete.allowManaged: true in rule p/r"}
	dryRun := explain.Block{Reason: policy.IsDryRun, Message: "policy p is a dry run", Remedy: "set mode: Enforce in policy p"}
	for mode, want := range map[v1alpha1.Mode][]explain.Block{v1alpha1.Enforce: {byArgoCD}, v1alpha1.DryRun: {byArgoCD, dryRun}} {
		page := managed(mode)
		expect.Equal(t, string(mode), want, page.Blocks)
		var remedies []string
		for _, b := range want {
			remedies = append(remedies, b.Remedy)
		}
		what := strings.Join(remedies, ", and ")
		if len(page.Changes) != 1 || page.Changes[0].What != what || !page.Changes[0].At.Equal(at) {
			t.Errorf("%s: %+v, want %s", mode, page.Changes, what)
		}
		if said := page.Rules[0].Vote; said.Reason != policy.ManagedByArgoCD {
			t.Errorf("%s: the rule says %s", mode, said.Reason)
		}
	}
}

// TestOwnerOfWhatIsNotEligible: the engine determines the owner only for eligible objects, so the page does not report a
// missing owner.
func TestOwnerOfWhatIsNotEligible(t *testing.T) {
	rule := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Mode: v1alpha1.Enforce, TTL: time.Hour, Owner: true}
	page := explain.New(explain.Input{At: at, Evaluations: []policy.Evaluation{{Rule: rule, Facts: policy.Facts{Selected: true}, Known: true}}})
	if want := "eligible of rule p/r becomes true"; len(page.Changes) != 1 || page.Changes[0].What != want {
		t.Errorf("got %+v, want %s", page.Changes, want)
	}
}

// TestNoCommonWindow: the page says that windows never open together, and that a change of either helps.
func TestNoCommonWindow(t *testing.T) {
	rules := []*policy.Rule{fixture.Rule("a", fixture.OpenAt("3")), fixture.Rule("b", fixture.OpenAt("9"))}
	var all []policy.Evaluation
	for _, r := range rules {
		all = append(all, policy.Evaluation{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at.Add(-policy.Week)}, Known: true})
	}
	v, _ := policy.Decide(policy.Subject{}, all, at)
	page := explain.New(explain.Input{At: at, Verdict: v, Evaluations: all})
	expect.Equal(t, "message", "stays: NoCommonWindow (the windows of the rules that find it due do not open at the same time), by rule b/b", page.Verdict.Message)
	var what []string
	for _, c := range page.Changes {
		what = append(what, c.What)
	}
	expect.Equal(t, "changes", []string{
		"change the windows of rule a/a so that they overlap those of the other rules", "change the windows of rule b/b so that they overlap those of the other rules",
	}, what)
}
