// SPDX-License-Identifier: Apache-2.0

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

// ApprovalGate is where rules in force wait until their count shows that they delete no more than Approval allows, or until a
// user approves them. Until then they keep the subjects that they find eligible.
type ApprovalGate struct {
	Hash       string           // value that approves the change; with Rules or Recount, that is in the status
	Namespaces ApprovalScope    // nil means all; otherwise those where the rules wait again
	Rules      sets.Set[string] // nil means all; otherwise those without a count yet
	Uncounted  sets.Set[string] // with Namespaces: the rules without a count yet, which wait in all other namespaces too
	Recount    *Recount         // count of the previous leader, if only that is known: everything waits for the first count of this leader
	Before     *Snapshot        // the snapshot in force before; nil if unknown: then everything that is due is new
	// BeforeIn are the snapshots in force before in namespaces that began to wait later, or nil if unknown.
	BeforeIn  map[string]*Snapshot
	Previewed bool // the rules were counted as a dry run before: the deletions counted then are not new
}

// Covers reports whether a rule waits in a namespace.
func (g *ApprovalGate) Covers(namespace, rule string) bool {
	return g != nil && (g.Uncounted.Has(rule) ||
		(g.Namespaces == nil || g.Namespaces.Has(namespace)) && (g.Rules == nil || g.Rules.Has(rule)))
}

// before is the snapshot that was in force before in a namespace; nil if it is unknown.
func (g *ApprovalGate) before(namespace string) *Snapshot {
	if g == nil {
		return nil
	}
	if own, ok := g.BeforeIn[namespace]; ok {
		return own
	}
	return g.Before
}

// compares reports whether a snapshot is known that was in force before.
func (g *ApprovalGate) compares() bool { return g != nil && (g.Before != nil || len(g.BeforeIn) > 0) }

// ApprovalScope is where the rules of a policy wait again, "" for cluster-scoped objects, and since when. It does not change. Nil
// means nowhere.
type ApprovalScope map[string]time.Time

// Has reports whether the rules wait again in a namespace.
func (s ApprovalScope) Has(namespace string) bool {
	_, ok := s[namespace]
	return ok
}

// Names are the namespaces, in order.
func (s ApprovalScope) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Since is the time of the latest change; it identifies the change.
func (s ApprovalScope) Since() (latest time.Time) {
	for _, since := range s {
		latest = Latest(latest, since)
	}
	return latest
}

// Wider adds namespaces to the scope, or updates their time. All times differ, and a status can represent them exactly.
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

// Among are those of the namespaces that have not changed after a time.
func (s ApprovalScope) Among(namespaces []string, upTo time.Time) ApprovalScope {
	same := ApprovalScope{}
	for _, namespace := range namespaces {
		if since, ok := s[namespace]; ok && !since.After(upTo) {
			same[namespace] = since
		}
	}
	return same
}

// Without is the scope without the namespaces that another scope has with the same time; nil if none is left.
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

// ApprovalHash approves this version of this object. A copy of the spec in another object or another cluster has a different
// hash.
func (p *Policy) ApprovalHash() string { return hashOf(string(p.UID), p.Hash) }

// Accepted reports whether this version of the policy is approved.
func (p *Policy) Accepted() bool { return p.Approved.Has(p.ApprovalHash()) }

// ScopeHash approves this version of this object in namespaces as they were at a time, and no later change of the namespaces.
func (p *Policy) ScopeHash(namespaces []string, since time.Time) string {
	return hashOf(append([]string{p.ApprovalHash(), since.UTC().Format(time.RFC3339Nano)}, slices.Sorted(slices.Values(namespaces))...)...)
}

// RulesHash approves rules of this version of this object, in order, that are counted after the others and wait since a time. The
// approval of the version does not include them, nor does the approval of the same rules at an earlier time.
func (p *Policy) RulesHash(rules []string, since time.Time) string {
	return hashOf(append([]string{p.ApprovalHash(), "rules", since.UTC().Format(time.RFC3339Nano)}, rules...)...)
}

// hashOf is a hash of lines.
func hashOf(lines ...string) string { return shortHash([]byte(strings.Join(lines, "\n"))) }

// shortHash has 128 bits, so that no author can find two specs with the same hash, of which one is approved.
func shortHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// atLeast is how many objects must be due before the percentage applies.
const atLeast = 10

// Exceeded reports whether a change that deletes this many of the selected objects needs approval.
func (a Approval) Exceeded(due, selected int64) bool {
	return a.AllChanges && due > 0 || due > a.MaxObjects || due >= atLeast && due > percentRoundedDown(selected, a.MaxPercent)
}
