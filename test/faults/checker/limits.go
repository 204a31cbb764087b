// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// decidedBy returns the removals that only one policy can have decided, by its UID, in order.
func (j *checker) decidedBy() map[string][]*removal {
	all := map[string][]*removal{}
	for _, d := range j.removals {
		if len(d.deciders) > 0 && !slices.ContainsFunc(d.deciders, func(p *policy) bool { return p.uid != d.deciders[0].uid }) {
			all[d.deciders[0].uid] = append(all[d.deciders[0].uid], d)
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b *removal) int { return cmp.Compare(a.change.Revision, b.change.Revision) })
	}
	return all
}

// limits checks every window that ends with a deletion: no other window can contain more deletions.
func (j *checker) limits() {
	for _, list := range j.decidedBy() {
		for i := range list {
			j.limited(list[:i+1])
		}
	}
}

// limited checks the window of the last removal in the list. It passes if one version of the policy allows it.
func (j *checker) limited(list []*removal) {
	last := list[len(list)-1]
	var why string
	for _, p := range last.deciders {
		broken := j.isBeyond(p, list)
		if broken == "" {
			return
		}
		why = broken
	}
	j.violated(Limited, last.request, last.change.Before, last.change.Revision, why)
}

// isBeyond returns a message if more deletions than allowed certainly happened within a window of the policy's limits. It
// ignores requests sent before the limits were certainly known: the ledger may have forgotten them, or never recorded them.
func (j *checker) isBeyond(p *policy, list []*removal) string {
	limits := p.spec.Limits
	if limits == nil {
		return ""
	}
	span, err := duration(limits.Window)
	if err != nil {
		return ""
	}
	last := list[len(list)-1]
	since := j.limitedSince(p, last.change.Revision)
	count := 0
	for _, d := range list {
		if j.windowOf(d.request, d.change.Revision).from >= since && last.at.Sub(d.request.Received) < span {
			count++
		}
	}
	if count <= int(limits.MaxDeletions) {
		return ""
	}
	return fmt.Sprintf("policy %s removed %d objects within %s; the limit is %d", p.name, count, span, limits.MaxDeletions)
}

// limitedSince returns the revision since which, up to another one, a policy certainly had its limits for every reader. It is
// 0 if the policy always had limits: no deletion can predate the policy.
func (j *checker) limitedSince(p *policy, upTo int64) int64 {
	since := j.unbroken(p, upTo, func(other *policy) bool {
		return other.spec.Limits != nil && other.spec.Limits.Window == p.spec.Limits.Window
	})
	for _, c := range j.Log.Of(p.state.Key) {
		if c.After != nil && c.After.GetUID() == p.state.GetUID() && c.Revision < since {
			return since
		}
	}
	return 0
}

// keepsLedger reports whether a policy has a ledger.
func (p *policy) keepsLedger() bool {
	return p.spec.Limits != nil || slices.ContainsFunc(p.rules, func(r *rule) bool { return r.Outcome != "" || r.Archive != nil })
}

// mayWait reports whether a policy's limits may delay due objects from a time until the deadline. Limits count deletions, objects that no
// longer existed after a request without an answer, although another client may have deleted them, and open entries. Some count twice here.
func (j *checker) mayWait(p *policy, at time.Time) bool {
	if p.spec.Limits == nil {
		return false
	}
	span, err := duration(p.spec.Limits.Window)
	if err != nil {
		return true
	}
	const clocks, parts = 10 * time.Second, 60
	counts := func(since time.Time) bool {
		return at.Sub(since) < span+span/parts+clocks && !since.After(at.Add(j.Deadline))
	}
	charged := int64(0)
	for _, d := range j.decidedBy()[p.uid] {
		if counts(d.at) {
			charged++
		}
	}
	key := j.Log.Key("retentionledgers", "", p.uid)
	if s := j.Log.At(key, j.times.Passed(at)); s != nil {
		for _, open := range ledgerIn(s).Open {
			charged += int64(len(open.Objects))
		}
	}
	for _, c := range j.Log.Of(key) {
		if ended, known := j.times.Latest(c.Revision); known && counts(ended) && c.Before != nil && c.After != nil {
			charged += ledgerIn(c.After).Total.Gone - ledgerIn(c.Before).Total.Gone
		}
	}
	return charged >= int64(p.spec.Limits.MaxDeletions)
}
