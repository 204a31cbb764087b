// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// fleet is the nodes of a test. It implements status.Nodes and status.NodeRules.
type fleet struct {
	*agentapi.Reports // nil while the reports are read
	version           uint64
	unread            *retention.SourceError
	missing           map[types.UID]bool
	unwritten         error
}

func (f *fleet) Version() uint64                { return f.version }
func (f *fleet) Unread() *retention.SourceError { return f.unread }
func (f *fleet) Missing(policy types.UID) bool  { return f.missing[policy] }
func (f *fleet) Unwritten() error               { return f.unwritten }

func (f *fleet) Sum(policies []*policy.Policy, before map[types.UID]agentapi.Removed, now time.Time) (agentapi.Sums, bool) {
	if f.Reports == nil {
		return agentapi.Sums{}, false
	}
	for uid, known := range before {
		f.Resume(uid, known)
	}
	return f.Reports.Sum(policies, now), true
}

// onNodes makes a rule apply to images.
func onNodes(r *policy.Rule) { r.Kind = v1alpha1.ImageKind }

// withImages returns policy p, in force, with rule a about Jobs and rule img about images. Up to 5 deletions need no approval.
func withImages(gate *policy.ApprovalGate) *policy.Policy {
	return gated(gate, rule("a"), rule("img", onNodes))
}

// nodeReport returns the report of an existing node: ten images, some of them due, one removed.
func nodeReport(name string, p *policy.Policy, at time.Time, due int64) *v1alpha1.NodeImageReport {
	count := func(n int64) v1alpha1.ImageCount { return v1alpha1.ImageCount{Images: n, Bytes: n * 10} }
	all := v1alpha1.ImageDueCounts{Now: count(due), Hour: count(due), Day: count(due), Week: count(due)}
	r := &v1alpha1.NodeImageReport{Policies: []v1alpha1.NodeImagePolicyReport{{
		Name: p.Name, UID: p.UID, Generation: p.Generation, Hash: p.Hash, Matched: 10, Eligible: due, Errors: 1, Due: all, Removed: count(1),
		Rules: []v1alpha1.NodeImageRuleReport{{
			Name: "img", Matched: 10, Eligible: due, Errors: 1, ErrorSample: "no such key", Due: all, Removed: count(1),
			Soonest: []v1alpha1.ImageSample{{Name: "app:v1", ID: "sha256:1", DueTime: timeOf(at)}},
		}},
	}}}
	r.Name, r.CreationTimestamp.Time, r.ObservedTime.Time = name, at.Add(-time.Hour), at
	return r
}

func behind(r *v1alpha1.NodeImageReport) *v1alpha1.NodeImageReport {
	r.Policies[0].Generation--
	return r
}

func silent(r *v1alpha1.NodeImageReport) *v1alpha1.NodeImageReport {
	r.ObservedTime.Time = r.ObservedTime.Add(-time.Hour)
	return r
}

func fresh(r *v1alpha1.NodeImageReport) *v1alpha1.NodeImageReport {
	r.CreationTimestamp = r.ObservedTime
	return r
}

func fleetOf(all ...*v1alpha1.NodeImageReport) *fleet {
	f := &fleet{Reports: agentapi.NewReports()}
	f.Replace(all)
	return f
}

func viewOfNodes(p *policy.Policy, f *fleet, jobs int) status.View {
	view := viewOf(compiledOf(p), nil, backlog(jobs, now)...)
	view.Nodes = f
	return view
}

func TestStatusSumsReportsOfNodes(t *testing.T) {
	p := withImages(nil)
	view := viewOfNodes(p, fleetOf(nodeReport("n-1", p, now, 2), nodeReport("n-2", p, now, 3), silent(nodeReport("n-3", p, now, 9))), 4)
	view.Deleted = map[string]int64{"a": 100}
	s := view.Status(p)
	count := func(n int64) v1alpha1.ImageCount { return v1alpha1.ImageCount{Images: n, Bytes: n * 10} }
	expect.Equal(t, "nodes", &v1alpha1.NodeImagesStatus{
		Nodes: 2, StaleNodes: 1, Images: 20, Due: v1alpha1.ImageDueCounts{Now: count(5), Hour: count(5), Day: count(5), Week: count(5)}, Removed: count(3),
	}, s.NodeImages)
	expect.Equal(t, "totals", []int64{25, 10, 2, 9, 103}, []int64{s.Matched, s.Eligible, s.Errors, s.Due.Now, s.Deleted})
	images := s.Rules[1]
	expect.Equal(t, "rule", []int64{20, 5, 2, 5, 3}, []int64{images.Matched, images.Eligible, images.Errors, images.Due.Now, images.Deleted})
	expect.Equal(t, "soonest", []v1alpha1.DueSample{{Name: "n-1: app:v1", DueTime: timeOf(now)}, {Name: "n-2: app:v1", DueTime: timeOf(now)}}, images.Soonest)
	expect.Equal(t, "errors", []v1alpha1.ErrorSample{{Name: "n-1", Message: "no such key"}, {Name: "n-2", Message: "no such key"}}, images.ErrorSamples)
	expect.Equal(t, "the other rule", []int64{5, 4, 100}, []int64{s.Rules[0].Matched, s.Rules[0].Due.Now, s.Rules[0].Deleted})
	expect.Equal(t, "watching", "True Watching", condition(s, v1alpha1.ConditionWatching))
	expect.Equal(t, "message", "Sunset lists and watches every target kind; 1 of 3 nodes do not report about this version of the policy", message(s, v1alpha1.ConditionWatching))

	view.Nodes = &fleet{} // after a restart
	view.Before, view.Deleted = s, map[string]int64{"a": 100}
	again := view.Status(p)
	expect.Equal(t, "nodes while they are read", s.NodeImages, again.NodeImages)
	expect.Equal(t, "deleted while they are read", []int64{103, 3}, []int64{again.Deleted, again.Rules[1].Deleted})
	expect.Equal(t, "watching while they are read", "Unknown Listing", condition(again, v1alpha1.ConditionWatching))
}

func TestGatesWaitForNodes(t *testing.T) {
	ofImages := &policy.ApprovalGate{Hash: "h", Rules: sets.New("img")}
	p := withImages(nil)
	counted := []v1alpha1.Preview{{Hash: "h", ObservedTime: timeOf(now)}}
	uncounted := []v1alpha1.Preview{{Hash: "h", ObservedTime: timeOf(now), Uncounted: []string{"img"}}}
	few, many := nodeReport("n-1", p, now, 2), nodeReport("n-2", p, now, 4)
	tests := map[string]struct {
		gate     *policy.ApprovalGate
		nodes    *fleet
		jobs     int
		before   []v1alpha1.Preview
		previews []v1alpha1.Preview
		pending  *v1alpha1.PendingApproval
	}{
		"no node reports":                  {everywhere, fleetOf(), 2, nil, uncounted, nil},
		"no node reports, and more Jobs":   {everywhere, fleetOf(), 6, nil, nil, &v1alpha1.PendingApproval{Hash: "h", Due: v1alpha1.ApprovalCounts{Now: 6, Week: 6}, Matched: 7}},
		"reports are read":                 {everywhere, &fleet{}, 2, nil, nil, nil},
		"reports cannot be read":           {everywhere, &fleet{unread: &retention.SourceError{Reason: "Forbidden"}}, 2, nil, uncounted, nil},
		"no more than allowed":             {everywhere, fleetOf(few), 3, nil, counted, nil},
		"more, with the Jobs":              {everywhere, fleetOf(few), 4, nil, nil, &v1alpha1.PendingApproval{Hash: "h", Due: v1alpha1.ApprovalCounts{Now: 6, Week: 6}, Matched: 15}},
		"more, on all nodes":               {everywhere, fleetOf(few, many), 0, nil, nil, &v1alpha1.PendingApproval{Hash: "h", Due: v1alpha1.ApprovalCounts{Now: 6, Week: 6}, Matched: 21}},
		"one node is behind":               {everywhere, fleetOf(few, behind(nodeReport("n-2", p, now, 9))), 2, nil, uncounted, nil},
		"one node is behind, and silent":   {everywhere, fleetOf(few, silent(behind(nodeReport("n-2", p, now, 9)))), 2, nil, counted, nil},
		"one node is new":                  {everywhere, fleetOf(few, fresh(nodeReport("n-2", p, now, 1))), 2, nil, uncounted, nil},
		"the rules are too long":           {everywhere, &fleet{Reports: fleetOf(few).Reports, missing: map[types.UID]bool{"uid-p": true}}, 2, nil, uncounted, nil},
		"only the rule about images waits": {ofImages, fleetOf(few), 100, uncounted, counted, nil},
		"only that waits, and there are more": {ofImages, fleetOf(few, many), 100, uncounted, uncounted, &v1alpha1.PendingApproval{Hash: p.RulesHash([]string{"img"}, now), Due: v1alpha1.ApprovalCounts{Now: 6, Week: 6}, Matched: 20,
			Rules: []string{"img"}, SinceTime: &metav1.MicroTime{Time: now}}},
		"only that waits, and is not counted": {ofImages, fleetOf(behind(nodeReport("n-2", p, now, 9))), 100, uncounted, uncounted, nil},
		"counted before":                      {nil, fleetOf(few, many), 100, counted, counted, nil},
		"counted, now one is late":            {nil, fleetOf(few, behind(nodeReport("n-2", p, now, 9))), 100, counted, counted, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := withImages(test.gate)
			view := viewOfNodes(p, test.nodes, test.jobs)
			view.Before = v1alpha1.RetentionPolicyStatus{Previews: test.before}
			s := view.Status(p)
			expect.Equal(t, "previews", test.previews, unnumbered(s.Previews), cmpopts.EquateEmpty())
			expect.Equal(t, "pending", test.pending, s.PendingApproval)
		})
	}
}

// TestImagesThatAnotherPolicyKeptWait: that policy is deleted, and no node has reported how many images it kept.
func TestImagesThatAnotherPolicyKeptWait(t *testing.T) {
	p := withImages(newlyIn(""))
	hash := p.ScopeHash([]string{""}, p.Gate.Namespaces.Since())
	wait := func(week, of int64) *v1alpha1.PendingApproval {
		return &v1alpha1.PendingApproval{Hash: hash, Due: v1alpha1.ApprovalCounts{Week: week}, Matched: of, Namespaces: []string{""}, SinceTime: &metav1.MicroTime{Time: p.Gate.Namespaces.Since()}}
	}
	// kept returns a report of images that are eligible and not due.
	kept := func(name string, eligible int64) *v1alpha1.NodeImageReport {
		r := nodeReport(name, p, now, 0)
		r.Policies[0].Eligible, r.Policies[0].Rules[0].Eligible = eligible, eligible
		return r
	}
	tests := map[string]struct {
		nodes   *fleet
		opens   bool
		pending *v1alpha1.PendingApproval
	}{
		"few":                                {fleetOf(kept("n-1", 2), kept("n-2", 3)), true, nil},
		"more than allowed without approval": {fleetOf(kept("n-1", 2), kept("n-2", 4)), false, wait(6, 20)},
		"one node is behind":                 {fleetOf(kept("n-1", 2), behind(kept("n-2", 0))), false, nil},
		"no node reports":                    {fleetOf(), false, nil},
		"reports are being read":             {&fleet{}, false, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := viewOfNodes(p, test.nodes, 0)
			expect.Equal(t, "pending", test.pending, view.Status(p).PendingApproval)
			expect.Equal(t, "opens", test.opens, view.Opened(p).Has(""))
		})
	}
}

func TestNodeConditions(t *testing.T) {
	p := withImages(nil)
	ofImages := &policy.ApprovalGate{Hash: "h", Rules: sets.New("img")}
	report := nodeReport("n-1", p, now, 2)
	late := behind(nodeReport("n-2", p, now, 2))
	left := map[types.UID]bool{"uid-p": true}
	tests := map[string]struct {
		gate                *policy.ApprovalGate
		nodes               *fleet
		watching, enforcing string
		message             string // of the first condition that is not ok
	}{
		"no problems":                           {nil, fleetOf(report), "True Watching", "True Enforcing", "Sunset lists and watches every target kind"},
		"no node reports":                       {nil, fleetOf(), "False NoAgents", "True Enforcing", "no node agent reports: install sunset-node-agent"},
		"all nodes are silent":                  {nil, fleetOf(silent(nodeReport("n-2", p, now, 2))), "False AgentsSilent", "True Enforcing", "none of 1 node agents has reported for half an hour; check the DaemonSet sunset-node-agent"},
		"all nodes are behind":                  {nil, fleetOf(late), "Unknown Counting", "True Enforcing", "0 of 1 nodes have counted this version of the policy; node n-2 has not"},
		"one node is behind":                    {nil, fleetOf(report, late), "True Watching", "True Enforcing", "Sunset lists and watches every target kind; 1 of 2 nodes do not report about this version of the policy"},
		"a node is behind while the rule waits": {ofImages, fleetOf(report, late), "Unknown Counting", "True Enforcing", "1 of 2 nodes have counted this version of the policy; node n-2 has not"},
		"one node is new": {ofImages, fleetOf(report, fresh(nodeReport("n-2", p, now, 0))), "Unknown Counting", "True Enforcing",
			"2 nodes report, 1 of them for the first time; Sunset waits in case more nodes follow"},
		"reports are not read": {nil, &fleet{unread: &retention.SourceError{Reason: "Forbidden", Message: "may not"}}, "False Forbidden", "True Enforcing", "may not"},
		"the rules are too long": {nil, &fleet{Reports: fleetOf(report).Reports, missing: left}, "False RulesTooLarge", "False RulesTooLarge",
			"node agents do not receive the rules of this policy: rules about images are longer than 1048576 bytes together, or it has more than 32 freezes; shorten or delete rules about images, or delete freezes"},
		"the rules are not written": {nil, &fleet{Reports: fleetOf(report).Reports, unwritten: errors.New("no")}, "True Watching", "False RulesNotWritten",
			"node agents do not receive changed rules, and keep their images: no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := withImages(test.gate)
			s := viewOfNodes(p, test.nodes, 0).Status(p)
			expect.Equal(t, "watching", test.watching, condition(s, v1alpha1.ConditionWatching))
			expect.Equal(t, "enforcing", test.enforcing, condition(s, v1alpha1.ConditionEnforcing))
			about := v1alpha1.ConditionWatching
			if condition(s, about) == "True Watching" && test.enforcing != "True Enforcing" {
				about = v1alpha1.ConditionEnforcing
			}
			expect.Equal(t, "message", test.message, message(s, about))
			ready := "True Ready"
			if s.Errors > 0 {
				ready = "False EvaluationFailed"
			}
			if test.watching != "True Watching" {
				ready = test.watching
			} else if test.enforcing != "True Enforcing" {
				ready = test.enforcing
			}
			expect.Equal(t, "ready", ready, condition(s, v1alpha1.ConditionReady))
		})
	}
}

// TestRulesTooLargeIgnoresOtherDryRuns from other policies, if its rules do not fit.
func TestRulesTooLargeIgnoresOtherDryRuns(t *testing.T) {
	for mode, want := range map[v1alpha1.Mode]string{v1alpha1.DryRun: "True Enforcing", v1alpha1.Suspend: "False RulesTooLarge", v1alpha1.Enforce: "False RulesTooLarge"} {
		p, other := withImages(nil), withMode(policyOf(mode, rule("b", onNodes)), mode)
		other.Name, other.UID = "q", "uid-q"
		f := fleetOf(nodeReport("n-1", p, now, 2))
		f.missing = map[types.UID]bool{"uid-q": true}
		view := viewOf(compiledOf(p, other), nil)
		view.Nodes = f
		expect.Equal(t, string(mode), want, condition(view.Status(p), v1alpha1.ConditionEnforcing))
	}
}

// TestRemovedImagesOfAPolicyWhoseStatusCannotBeReadAtFirst: the reports of nodes that no longer exist are only in the status.
func TestRemovedImagesOfAPolicyWhoseStatusCannotBeReadAtFirst(t *testing.T) {
	f := fleetOf()
	p := withMode(policyOf(v1alpha1.DryRun, rule("img", onNodes)), v1alpha1.DryRun)
	p.Hash = "h"
	prepare := func(w *harness) {
		w.Nodes, w.NodeRules, w.slowReads = f, f, time.Minute // longer than a read may take
		w.create(p, v1alpha1.RetentionPolicyStatus{
			Deleted: 40, NodeImages: &v1alpha1.NodeImagesStatus{Removed: v1alpha1.ImageCount{Images: 40}}, Rules: []v1alpha1.RuleStatus{{Name: "img", Deleted: 40}},
		})
		f.Put(nodeReport("n-1", p, time.Now(), 2))
	}
	inBubble(t, prepare, func(t *testing.T, w *harness) {
		bubble.Pass(time.Second)
		w.set(func() { w.slowReads = 0 }) // the next read answers
		for range 200 {
			bubble.Pass(time.Second)
			if s := w.status(); s.Deleted < 40 || s.NodeImages.Removed.Images < 40 {
				t.Errorf("deleted: %d, images: %d", s.Deleted, s.NodeImages.Removed.Images)
				return
			}
		}
		expect.Equal(t, "images", int64(10), w.status().NodeImages.Images)
	})
}

func TestReportOfANodeIsInTheStatusSoon(t *testing.T) {
	f := fleetOf()
	p := withMode(policyOf(v1alpha1.DryRun, rule("img", onNodes)), v1alpha1.DryRun)
	p.Hash = "h"
	inBubble(t, func(w *harness) { w.Nodes, w.NodeRules = f, f }, func(t *testing.T, w *harness) {
		w.create(p, v1alpha1.RetentionPolicyStatus{
			Deleted: 50, NodeImages: &v1alpha1.NodeImagesStatus{Removed: v1alpha1.ImageCount{Images: 40}}, Rules: []v1alpha1.RuleStatus{{Name: "img", Deleted: 40}},
		})
		bubble.Pass(10 * time.Second)
		writes := len(w.written())
		w.set(func() {
			f.Put(nodeReport("n-1", p, time.Now(), 2))
			f.version++
		})
		bubble.Pass(4 * time.Second)
		s := w.status()
		expect.Equal(t, "images", int64(10), s.NodeImages.Images)
		expect.Equal(t, "deleted", []int64{51, 41, 41}, []int64{s.Deleted, s.Rules[0].Deleted, s.NodeImages.Removed.Images})
		bubble.Pass(29 * time.Minute)
		expect.Equal(t, "writes", 1, len(w.written())-writes)
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "nodes once it is stale", int64(1), w.status().NodeImages.StaleNodes)

		w.set(func() { w.fail = errors.New("no answer") })
		w.Use(compiledOf(withMode(policyOf(v1alpha1.DryRun, rule("a")), v1alpha1.DryRun)))
		bubble.Pass(10 * time.Second)
		w.set(func() { w.fail = nil })
		w.Use(compiledOf(p))
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted, with the rule about images again", int64(51), w.status().Deleted)

		w.set(func() { changed(w.server["p"]) }) // as an edit does, so that the first write is a conflict
		w.Use(compiledOf(withMode(policyOf(v1alpha1.DryRun, rule("a")), v1alpha1.DryRun)))
		bubble.Pass(10 * time.Second)
		s = w.status()
		expect.Equal(t, "without rules about images", &v1alpha1.NodeImagesStatus{Removed: s.NodeImages.Removed}, s.NodeImages)
		expect.Equal(t, "deleted without rules about images", []int64{51, 41}, []int64{s.Deleted, s.NodeImages.Removed.Images})
		w.Use(compiledOf(p))
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted, with the rule about images once more", int64(51), w.status().Deleted)
	})
}
