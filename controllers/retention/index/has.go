// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/sunset-k8s/sunset/policy"
)

// Has reports whether the snapshot is in force, and whether every row to which a rule of it applies has facts about the
// rule. The facts must have been read at the version of the kind that the rules want. Facts that should be requested again
// do not count. Every row has the facts that the listing has everywhere.
func (x *Index) Has(snapshot *policy.Snapshot, r *policy.Rule) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.snapshot == snapshot && x.hasFacts(r)
}

// HasPolicy reports whether this generation of a policy is in force, and whether the index has the facts about one of its rules, as in
// Has. Other policies may differ.
func (x *Index) HasPolicy(p *policy.Policy, r *policy.Rule) (inForce, listed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	used := x.snapshot.Policy(p.Name)
	inForce = used != nil && used.UID == p.UID && used.Generation == p.Generation
	return inForce, inForce && x.hasFacts(r)
}

// Lacking returns the namespaces that lack facts, for the listing with that ID. In them the listing does not have the
// wanted layout, or a row lacks some of its columns, or has facts that should be requested again. A list that began before
// the rules changed brings such rows, even if it ends later.
func (x *Index) Lacking(from uint64, wanted map[string]*Columns) (namespaces []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID != from {
		return nil
	}
	for namespace, here := range x.partitions {
		if wanted[namespace] == nil && slices.ContainsFunc(here, func(s *partition) bool { return s.stale > 0 }) {
			namespaces = append(namespaces, namespace)
		}
	}
	for namespace, want := range wanted {
		lacks := func(s *partition) bool { return s.stale > 0 || !s.layout.Covers(want) }
		if !x.listing.layoutIn(namespace).Covers(want) || slices.ContainsFunc(x.partitions[namespace], lacks) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// Knows reports whether the index has the facts of exactly this version for all columns of a layout, and none should be
// requested again.
func (x *Index) Knows(s policy.Subject, l *Columns) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows.get(s.UID)
	return row != nil && !row.IsStale() && row.version() == s.ResourceVersion && row.partition.layout.Covers(l)
}

// hasFacts reports whether every row to which a rule applies has facts about it. The caller holds mu.
func (x *Index) hasFacts(r *policy.Rule) bool {
	return x.synced && x.column(x.listing.layoutIn(r.Namespace), r.Key) >= 0 &&
		!slices.ContainsFunc(x.partitions[r.Namespace], func(s *partition) bool { return s.stale > 0 || x.column(s.layout, r.Key) < 0 })
}
