// SPDX-License-Identifier: Apache-2.0

package agentapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/memory"
)

// counted is n images of 10 bytes each.
func counted(n int64) v1alpha1.ImageCount { return v1alpha1.ImageCount{Images: n, Bytes: 10 * n} }

func dueOf(now, hour, day, week int64) v1alpha1.ImageDueCounts {
	return v1alpha1.ImageDueCounts{Now: counted(now), Hour: counted(hour), Day: counted(day), Week: counted(week)}
}

// reportOf is the report of a node that has existed for an hour, written a minute ago.
func reportOf(name string, policies ...v1alpha1.NodeImagePolicyReport) *v1alpha1.NodeImageReport {
	r := &v1alpha1.NodeImageReport{Policies: policies}
	r.Name, r.CreationTimestamp.Time, r.ObservedTime.Time = name, now.Add(-time.Hour), now.Add(-time.Minute)
	return r
}

// seen is a node's report of a policy with rule old: with this number of images, of which two are due now, and one removed image.
func seen(p *policy.Policy, matched int64) v1alpha1.NodeImagePolicyReport {
	next := metav1.Time{Time: now.Add(-time.Minute)}
	return v1alpha1.NodeImagePolicyReport{
		Name: p.Name, UID: p.UID, Generation: p.Generation, Hash: p.Hash,
		Matched: matched, Eligible: 3, Errors: 1, Due: dueOf(2, 2, 2, 3), Removed: counted(1),
		Rules: []v1alpha1.NodeImageRuleReport{{
			Name: "old", Matched: matched, Eligible: 3, Errors: 1, ErrorSample: "no such key", Due: dueOf(2, 2, 2, 3), Removed: counted(1),
			NextDueTime: &next, Soonest: []v1alpha1.ImageSample{
				{Name: "registry/app:v1", ID: "sha256:1", Bytes: 10, DueTime: next}, {ID: "sha256:2", Bytes: 10, DueTime: metav1.Time{Time: now}},
			},
		}},
	}
}

func reportsOf(all ...*v1alpha1.NodeImageReport) *agentapi.Reports {
	r := agentapi.NewReports()
	r.Replace(all)
	return r
}

func enforced(rules ...v1alpha1.Rule) *policy.Policy {
	return policyOf("p", v1alpha1.Enforce, append(rules, about(images, "old"))...)
}

func TestSum(t *testing.T) {
	p := enforced(about(jobs, "jobs"))
	got := reportsOf(reportOf("b", seen(p, 10)), reportOf("a", seen(p, 7))).Sum([]*policy.Policy{p}, now)
	sum := got.Policies[p.UID]
	expect.Equal(t, "status", v1alpha1.NodeImagesStatus{Nodes: 2, Images: 17, Due: dueOf(4, 4, 4, 6), Removed: counted(2)}, sum.Status)
	want := policy.Count{Matched: 17, Eligible: 6, Errors: 2, Due: v1alpha1.DueCounts{Now: 4, Hour: 4, Day: 4, Week: 6}, NextDue: now.Add(-time.Minute)}
	bytes := func(n int64) policy.Amount { return policy.Amount{Bytes: n} }
	want.DueStorage = policy.Amounts{Now: bytes(40), Hour: bytes(40), Day: bytes(40), Week: bytes(60)}
	expect.Equal(t, "count", want, sum.Stats.Count)
	at := func(name string, due time.Time) v1alpha1.DueSample {
		return v1alpha1.DueSample{Name: name, DueTime: metav1.Time{Time: due}}
	}
	expect.Equal(t, "rules", map[string]*policy.RuleStats{"old": {
		Count: want,
		Soonest: []v1alpha1.DueSample{at("a: registry/app:v1", now.Add(-time.Minute)), at("b: registry/app:v1", now.Add(-time.Minute)),
			at("a: sha256:2", now), at("b: sha256:2", now)},
		Failing: []v1alpha1.ErrorSample{{Name: "a", Message: "no such key"}, {Name: "b", Message: "no such key"}},
	}}, sum.Stats.Rules)
	expect.Equal(t, "removed", map[string]int64{"old": 2}, sum.Removed)
	expect.Equal(t, "changes", now.Add(29*time.Minute+1), got.Changes)
}

func TestSumCountsOnlyCurrentReports(t *testing.T) {
	p := enforced()
	changed := func(change func(r *v1alpha1.NodeImageReport)) *v1alpha1.NodeImageReport {
		r := reportOf("n", seen(p, 10))
		change(r)
		return r
	}
	old := func(age time.Duration) *v1alpha1.NodeImageReport {
		return changed(func(r *v1alpha1.NodeImageReport) { r.ObservedTime.Time = now.Add(-age) })
	}
	blind := func(condition string, since time.Duration) *v1alpha1.NodeImageReport {
		r := reportOf("n")
		r.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionFalse, Reason: "R", LastTransitionTime: metav1.Time{Time: now.Add(-since)}}}
		return r
	}
	tests := map[string]struct {
		report               *v1alpha1.NodeImageReport
		nodes, stale, behind int64
		counted              bool
	}{
		"current":                {reportOf("n", seen(p, 10)), 1, 0, 0, true},
		"of the maximum age":     {old(30 * time.Minute), 1, 0, 0, true},
		"too old":                {old(30*time.Minute + 1), 0, 1, 0, false},
		"a clock slightly ahead": {old(-5 * time.Minute), 1, 0, 0, true},
		"from the future":        {old(-5*time.Minute - 1), 0, 1, 0, false},
		"without a time":         {changed(func(r *v1alpha1.NodeImageReport) { r.ObservedTime = metav1.Time{} }), 0, 1, 0, false},
		"another generation":     {changed(func(r *v1alpha1.NodeImageReport) { r.Policies[0].Generation++ }), 0, 1, 1, false},
		"another hash":           {changed(func(r *v1alpha1.NodeImageReport) { r.Policies[0].Hash = agentapi.LeftOut }), 0, 1, 1, false},
		"another UID":            {changed(func(r *v1alpha1.NodeImageReport) { r.Policies[0].UID = "other" }), 0, 1, 1, false},
		"without policies":       {reportOf("n"), 0, 1, 1, false},
		"of a new node":          {changed(func(r *v1alpha1.NodeImageReport) { r.CreationTimestamp.Time = now.Add(-14 * time.Second) }), 1, 0, 0, false},
		"without policies, of a node that reads no images": {blind(v1alpha1.ConditionRuntimeReachable, 30*time.Minute), 0, 1, 1, false},
		"the same for a long time":                         {blind(v1alpha1.ConditionRuntimeReachable, 30*time.Minute+1), 0, 1, 0, false},
		"the same because of Pods":                         {blind(v1alpha1.ConditionPodsKnown, 30*time.Minute+1), 0, 1, 0, false},
		"the same because of the disk":                     {blind(v1alpha1.ConditionFilesystemSeen, 30*time.Minute+1), 0, 1, 1, false},
		"of a node that is not new": {changed(func(r *v1alpha1.NodeImageReport) { r.CreationTimestamp.Time = now.Add(-15 * time.Second) }),
			1, 0, 0, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := reportsOf(test.report).Sum([]*policy.Policy{p}, now)
			sum := got.Policies[p.UID]
			expect.Equal(t, "nodes", test.nodes, sum.Status.Nodes)
			expect.Equal(t, "stale", test.stale, sum.Status.StaleNodes)
			expect.Equal(t, "behind", test.behind, sum.Behind)
			expect.Equal(t, "images", 10*test.nodes, sum.Status.Images)
			expect.Equal(t, "counted", test.counted, got.Counted(p.UID))
		})
	}
	if none := agentapi.NewReports().Sum([]*policy.Policy{p}, now); none.Counted(p.UID) || none.Counted("unknown") {
		t.Error("counted without nodes")
	}
}

func TestSumToleratesFewNewNodes(t *testing.T) {
	p := enforced()
	for news, want := range map[int]bool{0: true, 2: true, 3: false} {
		r := agentapi.NewReports()
		for i := range 20 {
			report := reportOf(fmt.Sprint("n-", i), seen(p, 1))
			if i < news {
				report.CreationTimestamp.Time = now.Add(-time.Second)
			}
			r.Put(report)
		}
		got := r.Sum([]*policy.Policy{p}, now)
		expect.Equal(t, fmt.Sprint(news, " of 20 are new"), want, got.Counted(p.UID))
		if news > 0 {
			expect.Equal(t, "changes", now.Add(14*time.Second), got.Changes)
		}
	}
}

func TestSumOfPendingBacklog(t *testing.T) {
	two := func(p *policy.Policy, a, b int64) v1alpha1.NodeImagePolicyReport {
		r := seen(p, 10) // two are due in total
		r.Eligible = 5
		r.Rules[0].Due.Now = counted(a)
		r.Rules = append(r.Rules, r.Rules[0])
		r.Rules[1].Name, r.Rules[1].Matched, r.Rules[1].Due.Now = "older", 6, counted(b)
		return r
	}
	tests := map[string]struct {
		gate *policy.ApprovalGate
		want policy.ChangeCount
	}{
		"no gate":                {nil, policy.ChangeCount{}},
		"everything":             {&policy.ApprovalGate{}, policy.ChangeCount{Selected: 10, Due: 2, Week: 3}},
		"one rule":               {&policy.ApprovalGate{Rules: sets.New("older")}, policy.ChangeCount{Selected: 6, Due: 1, Week: 3}},
		"both rules":             {&policy.ApprovalGate{Rules: sets.New("older", "old")}, policy.ChangeCount{Selected: 10, Due: 2, Week: 3}},
		"a rule about Jobs":      {&policy.ApprovalGate{Rules: sets.New("jobs")}, policy.ChangeCount{}},
		"namespaces only":        {&policy.ApprovalGate{Namespaces: policy.ApprovalScope{"team-a": {}}}, policy.ChangeCount{}},
		"cluster-scoped objects": {&policy.ApprovalGate{Namespaces: policy.ApprovalScope{"": {}}}, policy.ChangeCount{Selected: 10, Due: 2, Week: 5}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := enforced(about(images, "older"), about(jobs, "jobs"))
			p.Gate = test.gate
			sums := reportsOf(reportOf("n", two(p, 2, 1))).Sum([]*policy.Policy{p}, now)
			expect.Equal(t, "pending", test.want, sums.Policies[p.UID].Stats.Pending.ChangeCount)
		})
	}
}

// TestRemovedCountNeverDecreases: removed images count forever, even if nodes or reports disappear.
func TestRemovedCountNeverDecreases(t *testing.T) {
	p := enforced()
	with := func(name string, n int64) *v1alpha1.NodeImageReport {
		r := reportOf(name, seen(p, 10))
		r.Policies[0].Removed, r.Policies[0].Rules[0].Removed = counted(n), counted(n)
		return r
	}
	tests := map[string]struct {
		then func(r *agentapi.Reports)
		want int64
	}{
		"a node removes more":                           {func(r *agentapi.Reports) { r.Put(with("a", 7)) }, 12},
		"a node is deleted":                             {func(r *agentapi.Reports) { r.Drop("a") }, 10},
		"a node is missing in a list":                   {func(r *agentapi.Reports) { r.Replace([]*v1alpha1.NodeImageReport{with("b", 6)}) }, 11},
		"a node counts from zero":                       {func(r *agentapi.Reports) { r.Put(with("a", 1)) }, 11},
		"a deleted node reports again":                  {func(r *agentapi.Reports) { r.Drop("a"); r.Put(with("a", 2)) }, 12},
		"a report without policies":                     {func(r *agentapi.Reports) { r.Put(reportOf("a")) }, 10},
		"a report without policies, and then with them": {func(r *agentapi.Reports) { r.Put(reportOf("a")); r.Put(with("a", 6)) }, 11},
		"a report without policies, and then deletion":  {func(r *agentapi.Reports) { r.Put(reportOf("a")); r.Drop("a") }, 10},
		"all nodes are deleted":                         {func(r *agentapi.Reports) { r.Replace(nil) }, 10},
		"status has more": {func(r *agentapi.Reports) {
			r.Resume(p.UID, agentapi.Removed{All: counted(30), Rules: map[string]int64{"old": 30}})
		}, 30},
		"status has less": {func(r *agentapi.Reports) {
			r.Resume(p.UID, agentapi.Removed{All: counted(8), Rules: map[string]int64{"old": 8}})
		}, 10},
		"status has more, and a node removes more": {func(r *agentapi.Reports) {
			r.Resume(p.UID, agentapi.Removed{All: counted(30), Rules: map[string]int64{"old": 30}})
			r.Put(with("a", 6))
		}, 31},
		"an unknown node is deleted": {func(r *agentapi.Reports) { r.Drop("c") }, 10},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := reportsOf(with("a", 5), with("b", 5))
			r.Sum([]*policy.Policy{p}, now)
			test.then(r)
			sum := r.Sum([]*policy.Policy{p}, now).Policies[p.UID]
			expect.Equal(t, "policy", counted(test.want), sum.Status.Removed)
			expect.Equal(t, "rule", map[string]int64{"old": test.want}, sum.Removed)
		})
	}
}

// TestSumLimitsEffectOfWrongNumbers: a report with wrong numbers has a limited effect.
func TestSumLimitsEffectOfWrongNumbers(t *testing.T) {
	p := enforced()
	p.Gate = &policy.ApprovalGate{}
	for _, lie := range []int64{-1 << 62, 1<<63 - 1} {
		r := agentapi.NewReports()
		for i := range 100 {
			liar := reportOf(fmt.Sprint("liar-", i), seen(p, lie))
			of := &liar.Policies[0]
			of.Eligible, of.Due.Now, of.Rules[0].Due.Now = lie, v1alpha1.ImageCount{Images: lie, Bytes: lie}, v1alpha1.ImageCount{Images: lie, Bytes: lie}
			r.Put(liar)
		}
		r.Put(reportOf("honest", seen(p, 10)))
		sum := r.Sum([]*policy.Policy{p}, now).Policies[p.UID]
		if sum.Stats.Pending.Due < 2 || sum.Stats.Matched < 10 || sum.Status.Due.Now.Bytes < 20 || sum.Stats.Eligible < 3 {
			t.Errorf("%d: %+v", lie, sum)
		}
	}
}

// TestReportsOfOneAgentAreBounded: an agent that sends false reports cannot make the sums large, nor their counts overflow.
func TestReportsOfOneAgentAreBounded(t *testing.T) {
	p := enforced()
	r := reportsOf(reportOf("honest", seen(p, 10)))
	r.Sum([]*policy.Policy{p}, now)
	for i := range 10 {
		liar := reportOf("liar", seen(p, 10))
		of := &liar.Policies[0]
		of.Removed = v1alpha1.ImageCount{Images: int64(i%2) << 40, Bytes: int64(i%2) << 62}
		for k := range 1000 {
			of.Rules = append(of.Rules, v1alpha1.NodeImageRuleReport{Name: fmt.Sprint(i, "-", k), Removed: counted(1)})
		}
		sample := v1alpha1.ImageSample{Name: strings.Repeat("x", 1000), DueTime: metav1.Time{Time: now.Add(-time.Hour)}}
		of.Rules[0].Soonest = slices.Repeat([]v1alpha1.ImageSample{sample}, 1000)
		of.Rules[0].ErrorSample = sample.Name
		for k := range 1000 {
			again := *of.DeepCopy()
			again.Name = fmt.Sprint(k)
			liar.Policies = append(liar.Policies, again)
		}
		r.Put(liar)
	}
	sum := r.Sum([]*policy.Policy{p}, now).Policies[p.UID]
	expect.Equal(t, "removed images", 1+5<<24, sum.Status.Removed.Images)
	expect.Equal(t, "removed bytes", 10+5<<48, sum.Status.Removed.Bytes)
	expect.Equal(t, "removed by the rule", 6, sum.Removed["old"])
	if len(sum.Removed) > 200 {
		t.Errorf("images removed by %d rules", len(sum.Removed))
	}
	for i, s := range sum.Stats.Rules["old"].Soonest {
		if isLiar := strings.HasPrefix(s.Name, "liar"); isLiar != (i < 3) || len(s.Name) > 253 {
			t.Errorf("sample %d: %q", i, s.Name)
		}
	}
	r.Resume(p.UID, agentapi.Removed{All: v1alpha1.ImageCount{Images: 1, Bytes: 1<<63 - 1}})
	r.Put(reportOf("new", seen(p, 10)))
	expect.Equal(t, "removed bytes", 1<<63-1, r.Sum([]*policy.Policy{p}, now).Policies[p.UID].Status.Removed.Bytes)
}

// TestRuleThatIsNotMentionedAnyMoreStillCounts: the images that it has removed still count.
func TestRuleThatIsNotMentionedAnyMoreStillCounts(t *testing.T) {
	p := enforced()
	r := reportsOf(reportOf("a", seen(p, 10)))
	r.Sum([]*policy.Policy{p}, now)
	less := reportOf("a", seen(p, 10))
	less.Policies[0].Rules = nil
	r.Put(less)
	expect.Equal(t, "removed", map[string]int64{"old": 1}, r.Sum([]*policy.Policy{p}, now).Policies[p.UID].Removed)
}

// TestObstaclesOfNodesAreSummed: by reason, if they have lasted for 90 seconds, for nodes whose reports count.
func TestObstaclesOfNodesAreSummed(t *testing.T) {
	p, r := enforced(), agentapi.NewReports()
	put := func(name, condition, reason string, since, age time.Duration) {
		report := reportOf(name, seen(p, 10))
		report.ObservedTime.Time = now.Add(-age)
		report.Conditions = []metav1.Condition{{
			Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: "of " + name, LastTransitionTime: metav1.Time{Time: now.Add(-since)},
		}}
		r.Put(report)
	}
	put("b", v1alpha1.ConditionRuntimeReachable, "RuntimeUnreachable", 2*time.Minute, 0)
	put("a", v1alpha1.ConditionRuntimeReachable, "RuntimeUnreachable", 90*time.Second, 0)
	put("c", v1alpha1.ConditionRulesKnown, "RulesUnknown", 80*time.Second, 0)
	put("d", v1alpha1.ConditionPodsKnown, "PodsUnknown", time.Hour, time.Hour)
	put("e", v1alpha1.ConditionStateKept, "StateNotKept", time.Hour, 0)
	of := func(reason, name string, nodes int64) agentapi.Obstacle {
		return agentapi.Obstacle{Reason: reason, Message: "of " + name, Node: name, Nodes: nodes}
	}
	want := map[string]agentapi.Obstacle{"RuntimeUnreachable": of("RuntimeUnreachable", "a", 2)}
	s := r.Sum([]*policy.Policy{p}, now)
	expect.Equal(t, "obstacles", want, s.Obstacles)
	expect.Equal(t, "changes", now.Add(10*time.Second), s.Changes)
	want["RulesUnknown"] = of("RulesUnknown", "c", 1)
	expect.Equal(t, "obstacles later", want, r.Sum([]*policy.Policy{p}, s.Changes).Obstacles)
}

func TestReportIsStrippedToWhatCounts(t *testing.T) {
	p := enforced()
	whole := reportOf("a", seen(p, 10))
	whole.UID, whole.ResourceVersion, whole.Runtime = "u", "7", "containerd 2.4"
	whole.Labels, whole.ManagedFields = map[string]string{"a": "b"}, []metav1.ManagedFieldsEntry{{Manager: "agent"}}
	whole.Annotations = map[string]string{"a": "b", metav1.InitialEventsAnnotationKey: "true"}
	obstacle := metav1.Condition{Type: v1alpha1.ConditionPodsKnown, Status: metav1.ConditionFalse}
	whole.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}, obstacle, {Type: v1alpha1.ConditionRulesKnown, Status: metav1.ConditionTrue}}
	want := reportOf("a", seen(p, 10))
	want.UID, want.ResourceVersion, want.Annotations = "u", "7", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	want.Conditions = []metav1.Condition{obstacle}
	agentapi.Strip(whole)
	expect.Equal(t, "stripped", want, whole)
}

// BenchmarkSum measures one sum for a large cluster.
func BenchmarkSum(b *testing.B) {
	var policies []*policy.Policy
	for i := range 10 {
		policies = append(policies, policyOf(fmt.Sprint("p-", i), v1alpha1.Enforce, about(images, "old"), about(images, "older")))
	}
	before := memory.Heap()
	r := agentapi.NewReports()
	for i := range 5000 {
		report := reportOf(fmt.Sprintf("node-%04d", i))
		for _, p := range policies {
			of := seen(p, 50)
			of.Rules = append(of.Rules, of.Rules[0])
			of.Rules[1].Name = "older"
			report.Policies = append(report.Policies, of)
		}
		r.Put(report)
	}
	one := reportOf("node-0007", ofEach(policies)...)
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Sum(policies, now)
		}
		b.ReportMetric(float64(memory.Heap()-before)/(1<<20), "MB-kept")
	})
	b.Run("put", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Put(one)
		}
	})
}

func ofEach(policies []*policy.Policy) (all []v1alpha1.NodeImagePolicyReport) {
	for _, p := range policies {
		all = append(all, seen(p, 50))
	}
	return all
}
