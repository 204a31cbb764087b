package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// decidedBy are the removals that one policy alone can have decided, by its UID, in order.
func (j *judge) decidedBy() map[string][]*removal {
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

// limits checks every window that ends with a deletion: no other can have more in it.
func (j *judge) limits() {
	for _, list := range j.decidedBy() {
		for i := range list {
			j.limited(list[:i+1])
		}
	}
}

// limited checks the window of the last of some removals. One form of the policy that allows it is enough.
func (j *judge) limited(list []*removal) {
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

// isBeyond says how many surely went within a window of the policy's limits, where those are too many. What was sent before
// the window was surely known does not count: the ledger may have forgotten it, or never have had it.
func (j *judge) isBeyond(p *policy, list []*removal) string {
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
	return fmt.Sprintf("policy %s removed %d objects within %s, and may remove %d", p.name, count, span, limits.MaxDeletions)
}

// limitedSince is the revision from which on, up to another one, a policy surely had its limits for everybody who looked: 0 if
// it has never been without, since before it was made nothing can have gone by it.
func (j *judge) limitedSince(p *policy, upTo int64) int64 {
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

// keepsLedger reports whether a policy counts exactly.
func (p *policy) keepsLedger() bool {
	return p.spec.Limits != nil || slices.ContainsFunc(p.rules, func(r *rule) bool { return r.Outcome != "" })
}

// mayWait reports whether a policy's limits may make what is due wait at a time.
func (p *policy) mayWait(removed []*removal, at time.Time) bool {
	if p.spec.Limits == nil {
		return false
	}
	span, err := duration(p.spec.Limits.Window)
	if err != nil {
		return true
	}
	const clocks, parts = 10 * time.Second, 60
	charged := 0
	for _, d := range removed {
		if at.Sub(d.at) < span+span/parts+clocks {
			charged++
		}
	}
	return charged >= int(p.spec.Limits.MaxDeletions)
}
