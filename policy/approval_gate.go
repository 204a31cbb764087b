package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// ApprovalGate is where rules in force wait until it is known that they delete no more than Approval allows, or somebody has
// approved it. Meanwhile they keep what they find eligible.
type ApprovalGate struct {
	Hash       string           // what approves it; with Rules, the status says it
	Namespaces ApprovalScope    // nil means all; otherwise those where the rules apply again
	Rules      sets.Set[string] // nil means all; otherwise those that have never been counted
	Uncounted  sets.Set[string] // with Namespaces: the rules that have never been counted, and wait in all others too
	Recount    *Recount         // not nil: of the leader before, only a count is known, and everything waits for the first of this one
	Before     *Snapshot        // what was in force before; nil when nobody knows: then everything that is due is new
	Previewed  bool             // the rules were there before as a dry run that was counted: what they would have deleted is not new
}

// Covers reports whether a rule waits in a namespace.
func (g *ApprovalGate) Covers(namespace, rule string) bool {
	return g != nil && (g.Uncounted.Has(rule) ||
		(g.Namespaces == nil || g.Namespaces.Has(namespace)) && (g.Rules == nil || g.Rules.Has(rule)))
}

// before is what was in force before; nil when nobody knows.
func (g *ApprovalGate) before() *Snapshot {
	if g == nil {
		return nil
	}
	return g.Before
}

// ApprovalScope is where the rules of a policy apply again, "" among cluster-scoped objects, and since when. It is not changed. Nil
// is nowhere.
type ApprovalScope map[string]time.Time

// Has reports whether the rules apply again in a namespace.
func (s ApprovalScope) Has(namespace string) bool {
	_, ok := s[namespace]
	return ok
}

// Names are the namespaces, in order.
func (s ApprovalScope) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Since is when the latest change was; it tells one from the next.
func (s ApprovalScope) Since() (latest time.Time) {
	for _, since := range s {
		if since.After(latest) {
			latest = since
		}
	}
	return latest
}

// Wider is the scope once the policy applies again in more namespaces, or in the same again. No two times are alike, and a
// status can hold them.
func (s ApprovalScope) Wider(namespaces sets.Set[string], now time.Time) ApprovalScope {
	since := now.UTC().Truncate(time.Microsecond)
	if latest := s.Since(); !since.After(latest) {
		since = latest.Add(time.Microsecond)
	}
	wider := maps.Clone(s)
	if wider == nil {
		wider = make(ApprovalScope, len(namespaces))
	}
	for namespace := range namespaces {
		wider[namespace] = since
	}
	return wider
}

// Among are those of some namespaces in which nothing has changed after a time.
func (s ApprovalScope) Among(namespaces []string, upTo time.Time) ApprovalScope {
	same := ApprovalScope{}
	for _, namespace := range namespaces {
		if since, ok := s[namespace]; ok && !since.After(upTo) {
			same[namespace] = since
		}
	}
	return same
}

// Without is the scope without the namespaces that another has since the same time; nil when nothing is left.
func (s ApprovalScope) Without(o ApprovalScope) ApprovalScope {
	var left ApprovalScope
	for namespace, since := range s {
		if at, ok := o[namespace]; ok && at.Equal(since) {
			continue
		}
		if left == nil {
			left = ApprovalScope{}
		}
		left[namespace] = since
	}
	return left
}

// ApprovalHash approves this form of this object: a copy of the spec in another object, or in another cluster, has another.
func (p *Policy) ApprovalHash() string { return hashOf(string(p.UID), p.Hash) }

// ScopeHash approves this form of this object in namespaces as they were at a time, and no later change of them.
func (p *Policy) ScopeHash(namespaces []string, since time.Time) string {
	return hashOf(append([]string{p.ApprovalHash(), since.UTC().Format(time.RFC3339Nano)}, slices.Sorted(slices.Values(namespaces))...)...)
}

// RulesHash approves rules of this form of this object, in order, that are counted after the others and wait since a time. The approval of the
// form does not cover them, nor that of the same rules when they waited before.
func (p *Policy) RulesHash(rules []string, since time.Time) string {
	return hashOf(append([]string{p.ApprovalHash(), "rules", since.UTC().Format(time.RFC3339Nano)}, rules...)...)
}

// hashOf is a short hash of some lines.
func hashOf(lines ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// atLeast is how many objects must be due before their part of all matters.
const atLeast = 10

// Exceeded reports whether so many objects that a change deletes, of those selected, need approval.
func (a Approval) Exceeded(due, selected int64) bool {
	return a.Always && due > 0 || due > a.Count || due >= atLeast && due > percentRoundedDown(selected, a.Percent)
}
