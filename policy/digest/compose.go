// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Source is a policy with what is known about it.
type Source struct {
	Kind, Namespace, Name string
	UID                   types.UID
	Created               time.Time
	Mode                  v1alpha1.Mode
	Rules                 []v1alpha1.Rule
	Status                v1alpha1.RetentionPolicyStatus
	Ledger                *v1alpha1.RetentionLedger // of a ClusterRetentionPolicy, for a digest about namespaces; nil if it has none
}

// Input is everything that the content of a digest depends on.
type Input struct {
	Scheduled, Now time.Time
	Sources        []Source // the policies that the digest selects
	// Stats are the counts in the namespaces to which the digest is limited; nil for a digest without that limit.
	Stats *policy.Stats
	Last  *v1alpha1.DigestStatus // of the last digest that was accepted
}

// Compose returns the content of a digest, and the counts from which the next one continues if this one is accepted. It counts the
// deletions of the first v1alpha1.MaxDigestPolicies policies by name.
func (d *Digest) Compose(in Input) (*Content, []v1alpha1.DigestCount) {
	c := &Content{
		Digest: d.Name, ScheduledTime: in.Scheduled.UTC(), Time: in.Now.UTC(), Ahead: policy.FormatTTL(d.Ahead), Namespaces: d.Spec.Namespaces, Policies: []Policy{},
	}
	if in.Last.CountedTime != nil {
		since := in.Last.CountedTime.UTC()
		c.Since = &since
	}
	last := map[types.UID]v1alpha1.DigestCount{}
	for _, counted := range in.Last.Counted {
		last[counted.PolicyUID] = counted
	}
	sources := slices.SortedFunc(slices.Values(in.Sources), func(a, b Source) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	var counts []v1alpha1.DigestCount
	for i := range sources {
		s := &sources[i]
		p := d.about(s, in)
		before, counted := last[s.UID]
		total, known := d.deletions(s, before.LedgerCount)
		p.Exact = s.Status.Ledger != nil
		switch {
		case !known || c.Since == nil || !counted && !s.Created.After(*c.Since) || less(total, before.LedgerCount):
			p.Uncounted = true
		default:
			p.Deleted, p.Gone = total.Deleted-before.Deleted, total.Gone-before.Gone
		}
		storage := d.deletedStorage(s)
		if known && len(counts) < v1alpha1.MaxDigestPolicies {
			counts = append(counts, v1alpha1.DigestCount{PolicyUID: s.UID, LedgerCount: total, Storage: storage})
		}
		if storage != nil && p.Storage != nil && !p.Uncounted {
			p.Storage.Deleted = addedSince(*storage, before.Storage)
		}
		c.add(p)
	}
	slices.SortStableFunc(c.Policies, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(min(1, len(b.Problems)), min(1, len(a.Problems))), cmp.Compare(b.Due, a.Due), cmp.Compare(b.Deleted, a.Deleted))
	})
	if more := len(c.Policies) - mostPolicies; more > 0 {
		c.Policies, c.MorePolicies = c.Policies[:mostPolicies:mostPolicies], int64(more)
	}
	return c, counts
}

// deletedStorage is the storage of all objects that a policy has deleted; nil if that is not known for the namespaces of the digest.
func (d *Digest) deletedStorage(s *Source) *v1alpha1.Storage {
	if s.Status.Storage == nil || d.namespaces != nil && s.Namespace == "" {
		return nil
	}
	return &s.Status.Storage.Deleted
}

// addedSince is the storage that was added to an earlier sum.
func addedSince(all v1alpha1.Storage, before *v1alpha1.Storage) v1alpha1.Storage {
	if before == nil {
		return all
	}
	is, was := policy.AmountOf(all), policy.AmountOf(*before)
	all.Bytes = max(0, is.Bytes-was.Bytes)
	if all.EstimatedMonthlyCost != "" {
		all.EstimatedMonthlyCost = max(0, is.Cost-was.Cost).String()
	}
	return all
}

func less(a, b v1alpha1.LedgerCount) bool { return a.Deleted < b.Deleted || a.Gone < b.Gone }

// add adds a policy, unless it has nothing to say.
func (c *Content) add(p Policy) {
	if p.Mode == string(v1alpha1.Enforce) {
		c.DueNow, c.Due = c.DueNow+p.DueNow, c.Due+p.Due
	}
	c.Deleted, c.Gone = c.Deleted+p.Deleted, c.Gone+p.Gone
	if p.Uncounted && c.Since != nil {
		c.Uncounted++
	}
	if len(p.Problems) > 0 {
		c.Stuck++
	}
	if p.Due+p.Deleted+p.Gone > 0 || len(p.Problems) > 0 {
		c.Policies = append(c.Policies, p)
	}
}

// about returns what a policy deletes next, and what stops it. About a ClusterRetentionPolicy, a digest about namespaces uses only
// the counts in these namespaces: the status may be about others.
func (d *Digest) about(s *Source, in Input) Policy {
	p := Policy{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Mode: cmp.Or(string(s.Mode), string(v1alpha1.DryRun))}
	if in.Stats == nil || s.Namespace != "" {
		p.DueNow, p.Due = s.Status.Due.Now, within(d.Spec.Ahead, s.Status.Due.Hour, s.Status.Due.Day, s.Status.Due.Week)
		if of := s.Status.Storage; of != nil {
			p.Storage = &Storage{Estimated: of.Estimated, Due: within(d.Spec.Ahead, of.Due.Hour, of.Due.Day, of.Due.Week), Kept: of.Kept, Currency: of.Currency}
		}
		if next := s.Status.NextDueTime; next != nil {
			p.NextDueTime = &next.Time
		}
		for i := range s.Status.Rules {
			d.addSoonest(&p, s, s.Status.Rules[i].Name, s.Status.Rules[i].Soonest, in.Now)
		}
		for i := range s.Status.Conditions {
			if c := &s.Status.Conditions[i]; v1alpha1.StopsDeletions(c) {
				p.addProblem(c.Reason, c.Message)
			}
		}
	} else if stats := in.Stats.Policies[s.Name]; stats != nil {
		p.DueNow, p.Due = stats.Due.Now, within(d.Spec.Ahead, stats.Due.Hour, stats.Due.Day, stats.Due.Week)
		if of := s.Status.Storage; of != nil {
			due, prices := stats.DueStorage, in.Stats.Prices
			p.Storage = &Storage{
				Estimated: of.Estimated, Due: prices.Storage(within(d.Spec.Ahead, due.Hour, due.Day, due.Week)), Kept: prices.Storage(stats.KeptStorage), Currency: prices.Currency(),
			}
		}
		if !stats.NextDue.IsZero() {
			p.NextDueTime = &stats.NextDue
		}
		for name, rule := range stats.Rules {
			d.addSoonest(&p, s, name, rule.Soonest, in.Now)
		}
		p.addCounts(stats)
		p.addWide(s.Status.Conditions)
	}
	slices.SortFunc(p.Soonest, func(a, b Sample) int {
		return cmp.Or(a.DueTime.Compare(b.DueTime), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Rule, b.Rule))
	})
	p.Soonest = slices.CompactFunc(p.Soonest, func(a, b Sample) bool { return a.Explain == b.Explain && a.Name == b.Name })
	p.Soonest = p.Soonest[:min(len(p.Soonest), mostSamples):min(len(p.Soonest), mostSamples)]
	return p
}

func within[T any](ahead v1alpha1.DigestPeriod, hour, day, week T) T {
	switch ahead {
	case v1alpha1.DigestHour:
		return hour
	case v1alpha1.DigestWeek:
		return week
	default:
		return day
	}
}

func (d *Digest) addSoonest(p *Policy, s *Source, rule string, soonest []v1alpha1.DueSample, now time.Time) {
	i := slices.IndexFunc(s.Rules, func(r v1alpha1.Rule) bool { return r.Name == rule })
	if i < 0 {
		return
	}
	kind := schema.FromAPIVersionAndKind(s.Rules[i].Target.APIVersion, s.Rules[i].Target.Kind)
	for _, o := range soonest {
		if o.DueTime.After(now.Add(d.Ahead)) {
			continue
		}
		command := rbac.Explain(kind.GroupKind(), o.Namespace, o.Name)
		if node, image, ok := strings.Cut(o.Name, ": "); ok && kind.GroupKind() == v1alpha1.ImageKind.GroupKind() { // as agentapi names images
			command = rbac.ExplainImage(node, image)
		}
		p.Soonest = append(p.Soonest, Sample{Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name, DueTime: o.DueTime.UTC(), Rule: rule, Explain: command})
	}
}

// addProblem adds a problem, unless there is one with the same reason.
func (p *Policy) addProblem(reason, message string) {
	if len(p.Problems) < mostProblems && !slices.ContainsFunc(p.Problems, func(o Problem) bool { return o.Reason == reason }) {
		p.Problems = append(p.Problems, Problem{reason, policy.Shorten(rbac.Line(message), maxMessage)})
	}
}

// addCounts adds the problems that counts show.
func (p *Policy) addCounts(stats *policy.PolicyStats) {
	for _, of := range []struct {
		reason policy.Reason
		count  int64
		why    string
	}{
		{policy.EvaluationFailed, stats.Errors, "an expression fails on %d objects, which stay"},
		{policy.IsUnapproved, stats.Pending.Due, "%d objects wait for an approval"},
		{v1alpha1.ConditionBlocked, stats.Blocked.Subjects, "rules of other policies keep %d objects that are due"},
		{policy.ReferencesUnknown, stats.Doubted, "the references to %d objects are not known, so they stay"},
	} {
		if of.count > 0 {
			p.addProblem(string(of.reason), fmt.Sprintf(of.why, of.count))
		}
	}
}

// ofSomeObjects are the reasons of Ready that may be due to objects in any namespace. Counts show them.
var ofSomeObjects = []string{string(policy.EvaluationFailed), string(policy.IsUnapproved), "ChangeTooLarge", "RequiredForAllChanges", string(policy.ReferencesUnknown)}

// addWide adds the reasons for which a policy deletes nothing in any namespace, without their messages, which may name others.
func (p *Policy) addWide(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		wide := c.Type == v1alpha1.ConditionReady || c.Type == v1alpha1.ConditionEnforcing && c.Status == metav1.ConditionFalse
		if wide && v1alpha1.StopsDeletions(c) && !slices.Contains(ofSomeObjects, c.Reason) {
			p.addProblem(c.Reason, "the policy reports this for all namespaces")
		}
	}
}

// deletions returns how many objects a policy has deleted in the namespaces of the digest; known is false if that is not known. A policy
// that keeps no ledger now counts no object as gone since before.
func (d *Digest) deletions(s *Source, before v1alpha1.LedgerCount) (total v1alpha1.LedgerCount, known bool) {
	if d.namespaces != nil && s.Namespace == "" {
		return d.deletionsIn(s.Ledger)
	}
	total = v1alpha1.LedgerCount{Deleted: s.Status.Deleted, Gone: before.Gone}
	if s.Status.Ledger != nil {
		total.Gone = s.Status.Ledger.Gone
	}
	return total, true
}

// deletionsIn adds up the counters of namespaces in a ledger. Namespaces without a counter of their own may be in the common one.
func (d *Digest) deletionsIn(l *v1alpha1.RetentionLedger) (total v1alpha1.LedgerCount, known bool) {
	if l == nil {
		return total, false
	}
	own := 0
	for _, n := range l.Namespaces {
		if d.namespaces.Has(n.Name) {
			total.Deleted, total.Gone = total.Deleted+n.Deleted, total.Gone+n.Gone
			own++
		}
	}
	hasRest := slices.ContainsFunc(l.Namespaces, func(n v1alpha1.LedgerNamespace) bool { return n.Name == "*" })
	return total, !hasRest || own == d.namespaces.Len()
}
