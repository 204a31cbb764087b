// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Sums is the sum of all reports.
type Sums struct {
	Policies map[types.UID]*Sum
	Nodes    int64     // nodes with a report that is not stale
	Stale    int64     // nodes that have not reported for StaleAfter
	New      int64     // part of Nodes: nodes that began to report recently
	Changes  time.Time // when the sums change without a new report; zero for never

	Obstacles map[string]Obstacle // by reason
}

// Obstacle is a condition of reports that has prevented nodes from removing images for obstacleAfter.
type Obstacle struct {
	Reason, Message string // of Node
	Node            string // the first node by name
	Nodes           int64
}

// Sum is the sum of the reports about one policy.
type Sum struct {
	Status v1alpha1.NodeImagesStatus
	// Stats counts images like PolicyStats counts objects. Pending counts the images of rules that wait for approval.
	Stats   policy.PolicyStats
	Removed map[string]int64 // images, by rule
	// Behind is the number of nodes that report about another version of the policy, and BehindNode the first of them by name.
	// A node does not count if it has been unable to read its images or Pods for StaleAfter.
	Behind     int64
	BehindNode string
}

// Sum sums the reports about the current version of these policies, which are all policies with rules about images.
func (r *Reports) Sum(policies []*policy.Policy, now time.Time) Sums {
	s := Sums{Policies: make(map[types.UID]*Sum, len(policies)), Obstacles: map[string]Obstacle{}}
	r.known = make(map[types.UID]sets.Set[string], len(policies))
	for _, p := range policies {
		s.Policies[p.UID] = r.begin(p)
		r.known[p.UID] = sets.KeySet(s.Policies[p.UID].Stats.Rules)
	}
	for uid := range r.gone {
		if r.known[uid] == nil {
			delete(r.gone, uid)
		}
	}
	for name, n := range r.nodes {
		fresh := s.addNode(name, n, now)
		blind := n.blind && now.Sub(n.since) > StaleAfter
		for _, p := range policies {
			s.Policies[p.UID].add(name, p, n.entry(p.UID), fresh, blind)
		}
	}
	for _, p := range policies {
		s.Policies[p.UID].end(p, now)
	}
	return s
}

// addNode counts a node, and reports whether its numbers count.
func (s *Sums) addNode(name string, n *report, now time.Time) bool {
	if age := now.Sub(n.observed); age > StaleAfter || age < -maxSkew {
		s.Stale++
		return false
	}
	s.Nodes++
	s.Changes = policy.Soonest(s.Changes, n.observed.Add(StaleAfter+1))
	if now.Sub(n.created) < settling {
		s.New++
		s.Changes = policy.Soonest(s.Changes, n.created.Add(settling))
	}
	switch {
	case n.obstacle.Reason == "":
	case now.Sub(n.since) < obstacleAfter:
		s.Changes = policy.Soonest(s.Changes, n.since.Add(obstacleAfter))
	default:
		s.addObstacle(name, n.obstacle)
		if until := n.since.Add(StaleAfter + 1); n.blind && now.Before(until) {
			s.Changes = policy.Soonest(s.Changes, until)
		}
	}
	return true
}

// addObstacle counts the obstacle of a node.
func (s *Sums) addObstacle(name string, o Obstacle) {
	all, known := s.Obstacles[o.Reason]
	if !known || name < all.Node {
		all.Reason, all.Message, all.Node = o.Reason, o.Message, name
	}
	all.Nodes++
	s.Obstacles[o.Reason] = all
}

// Settled reports whether few of the nodes are new, so that no more are expected.
func (s *Sums) Settled() bool { return s.New*10 <= s.Nodes }

// Counted reports whether the effect of a policy's rules about images is known: every node that reports has counted the current
// version.
func (s *Sums) Counted(uid types.UID) bool {
	sum := s.Policies[uid]
	return sum != nil && sum.Status.Nodes > 0 && sum.Behind == 0 && s.Settled()
}

// With adds the sum to the counts of the objects of the policy's other rules, which may be nil. It changes neither.
func (s *Sum) With(objects *policy.PolicyStats) *policy.PolicyStats {
	if objects == nil {
		objects = &policy.PolicyStats{}
	}
	all := *objects
	all.Rules = maps.Clone(s.Stats.Rules)
	all.Add(s.Stats.Count)
	maps.Copy(all.Rules, objects.Rules)
	return &all
}

// begin makes the sum of a policy, with only the images removed by nodes that no longer exist.
func (r *Reports) begin(p *policy.Policy) *Sum {
	sum := &Sum{Stats: policy.PolicyStats{Rules: map[string]*policy.RuleStats{}}, Removed: map[string]int64{}}
	for _, rule := range p.Rules {
		if rule.OnNodes() {
			sum.Stats.Rules[rule.ID.Rule] = &policy.RuleStats{}
		}
	}
	if gone := r.gone[p.UID]; gone != nil {
		sum.Status.Removed = gone.All
		maps.Copy(sum.Removed, gone.Rules)
	}
	return sum
}

// add counts one node's entry of a policy. If the report is stale or about another version, only the removed images count.
func (s *Sum) add(name string, p *policy.Policy, e *entry, fresh, blind bool) {
	if e != nil {
		s.Status.Removed = plus(s.Status.Removed, e.removed)
		for i := range e.rules {
			if n := e.rules[i].removed.Images; n > 0 {
				s.Removed[e.rules[i].name] = policy.SumOrMost(s.Removed[e.rules[i].name], n)
			}
		}
	}
	if current := e != nil && e.generation == p.Generation && e.hash == p.Hash; !fresh || !current {
		s.Status.StaleNodes++
		if fresh && !blind {
			if s.Behind++; s.Behind == 1 || name < s.BehindNode {
				s.BehindNode = name
			}
		}
		return
	}
	s.Status.Nodes++
	s.count(e)
	for i := range e.rules {
		if stats := s.Stats.Rules[e.rules[i].name]; stats != nil {
			addRule(stats, name, &e.rules[i])
		}
	}
}

func (s *Sum) count(e *entry) {
	s.Status.Images += e.matched
	s.Status.Due.Now = plus(s.Status.Due.Now, e.due.Now)
	s.Status.Due.Hour = plus(s.Status.Due.Hour, e.due.Hour)
	s.Status.Due.Day = plus(s.Status.Due.Day, e.due.Day)
	s.Status.Due.Week = plus(s.Status.Due.Week, e.due.Week)
	countInto(&s.Stats.Count, &e.counts)
}

func countInto(c *policy.Count, n *counts) {
	c.Matched += n.matched
	c.Eligible += n.eligible
	c.Errors += n.errors
	c.Due.Now += n.due.Now.Images
	c.Due.Hour += n.due.Hour.Images
	c.Due.Day += n.due.Day.Images
	c.Due.Week += n.due.Week.Images
	c.DueStorage.Now.Bytes += n.due.Now.Bytes
	c.DueStorage.Hour.Bytes += n.due.Hour.Bytes
	c.DueStorage.Day.Bytes += n.due.Day.Bytes
	c.DueStorage.Week.Bytes += n.due.Week.Bytes
}

// Price sets what the images cost.
func (s *Sum) Price(prices *policy.Prices) {
	price := func(c *policy.Count) {
		for _, a := range []*policy.Amount{&c.DueStorage.Now, &c.DueStorage.Hour, &c.DueStorage.Day, &c.DueStorage.Week} {
			*a = prices.Of(v1alpha1.ImageKind.GroupKind(), policy.Size{Bytes: a.Bytes})
		}
	}
	price(&s.Stats.Count)
	for _, r := range s.Stats.Rules {
		price(&r.Count)
	}
}

func addRule(t *policy.RuleStats, node string, r *ruleEntry) {
	countInto(&t.Count, &r.counts)
	t.NextDue = policy.Soonest(t.NextDue, r.nextDue)
	for _, s := range r.soonest {
		if isLater(t.Soonest, node, s.due) {
			continue // fast path for most samples
		}
		due := v1alpha1.DueSample{Name: policy.Shorten(node+": "+s.image, mostName)}
		due.DueTime.Time = s.due
		t.AddDue(due)
	}
	if r.failing != "" && !(len(t.Failing) == policy.FailingKept && node > t.Failing[policy.FailingKept-1].Name) {
		t.AddError(v1alpha1.ErrorSample{Name: node, Message: r.failing})
	}
}

// isLater reports whether a sample of a node certainly comes after all kept samples.
func isLater(kept []v1alpha1.DueSample, node string, due time.Time) bool {
	if len(kept) < policy.SoonestKept {
		return false
	}
	last := kept[len(kept)-1]
	return due.After(last.DueTime.Time) || due.Equal(last.DueTime.Time) && node > last.Name
}

// end counts the images that wait for approval, after everything else is counted.
func (s *Sum) end(p *policy.Policy, now time.Time) {
	var pending policy.PendingStats
	all := true
	for _, r := range p.Rules {
		stats := s.Stats.Rules[r.ID.Rule]
		if stats == nil || r.Invalid() {
			continue
		}
		s.Stats.NextDue = policy.Soonest(s.Stats.NextDue, stats.NextDue)
		if !p.Gate.Covers("", r.ID.Rule) {
			all = false
			continue
		}
		// If several rules select an image, it counts for each: so Due and Week are upper bounds, and Selected is a lower bound.
		pending.Due, pending.Week = pending.Due+stats.Due.Now, pending.Week+stats.Due.Week
		pending.Selected = max(pending.Selected, stats.Matched)
	}
	pending.Due, pending.Week = min(pending.Due, s.Stats.Due.Now), min(pending.Week, s.Stats.Due.Week)
	if waits := slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.OnNodes() && p.Gate.Covers("", r.ID.Rule) }); waits && all {
		pending = policy.PendingStats{ChangeCount: policy.ChangeCount{Due: s.Stats.Due.Now, Week: s.Stats.Due.Week, Selected: s.Stats.Matched}}
	}
	// A policy that kept images was deleted, or keeps fewer, and a report does not say whether its node knows that already. Or no
	// window opens within a week, so that nothing is due.
	if p.Gate != nil && (p.Gate.Namespaces.Has("") || p.DefersAll(now)) && pending.Selected > 0 {
		pending.Week = max(pending.Week, s.Stats.Eligible)
	}
	s.Stats.Pending = pending
}
