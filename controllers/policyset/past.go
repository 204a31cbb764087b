// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// At most pastSnapshots earlier snapshots are kept. Changes within pastEvery share one.
const (
	pastSnapshots = 16
	pastEvery     = 2 * time.Second
)

// past is the state that was in force before a pending change.
type past struct {
	snapshot *policy.Snapshot
	programs map[string]*engine.Program
	until    time.Time
}

// compare sets the earlier snapshot of policies that wait, and drops it for the others. If there are too many snapshots, it
// drops the oldest one to limit the use of memory, preferably one that only RetentionPolicies use. All due objects of policies
// that used it then count as new.
func (l *Reconciler) compare(entries []*entry, before *policy.Snapshot) (changed bool) {
	kept, ofCluster := sets.New[*policy.Snapshot](), sets.New[*policy.Snapshot]()
	for _, e := range entries {
		gate := e.gate()
		switch {
		case e.previews.outdated.IsZero() && (gate == nil || gate.Rules != nil || gate.Recount != nil && len(e.previews.scope) == 0 ||
			e.policy.Approval.AllChanges && gate.Namespaces == nil): // everything that it deletes waits, independently of the earlier snapshot
			e.previews.before, e.previews.beforeIn, e.previews.blind = nil, nil, false
		case e.previews.before == nil && !e.previews.blind && before != nil:
			e.previews.before, changed = l.pastSnapshot(before, nil), true
		}
		e.previews.forgetEnded()
		kept.Insert(e.previews.snapshots()...)
		if e.policy.Namespace == "" {
			ofCluster.Insert(e.previews.snapshots()...)
		}
	}
	l.past = slices.DeleteFunc(l.past, func(p past) bool { return !kept.Has(p.snapshot) })
	if len(l.past) > pastSnapshots {
		drop := max(0, slices.IndexFunc(l.past, func(p past) bool { return !ofCluster.Has(p.snapshot) }))
		for _, e := range entries {
			e.previews.drop(l.past[drop].snapshot)
		}
		l.past = slices.Delete(l.past, drop, drop+1)
	}
	return changed
}

// pastSnapshot returns the snapshot that was in force until now, or one that was replaced within pastEvery. In a new one, the policies
// of these entries that wait as a whole are as they were when they began to wait.
func (l *Reconciler) pastSnapshot(before *policy.Snapshot, entries []*entry) *policy.Snapshot {
	now := l.Clock.Now()
	if n := len(l.past); n > 0 && now.Sub(l.past[n-1].until) < pastEvery {
		return l.past[n-1].snapshot
	}
	programs, earlier := l.programs, earlierVersions(entries)
	if len(earlier) > 0 {
		programs = maps.Clone(programs)
		for _, p := range l.past {
			maps.Copy(programs, p.programs)
		}
	}
	l.past = append(l.past, past{before.Past(earlier), programs, now})
	return l.past[len(l.past)-1].snapshot
}

// earlierVersions returns the versions that policies had before the one that waits as a whole, by UID; nil for a policy that is new.
func earlierVersions(entries []*entry) map[types.UID]*policy.Policy {
	all := map[types.UID]*policy.Policy{}
	for _, e := range entries {
		if gate := e.gate(); e.previews.before == nil || gate == nil || gate.Namespaces != nil || gate.Rules != nil {
			continue
		}
		all[e.policy.UID] = nil
		for _, p := range e.previews.before.Policies() {
			if p.UID == e.policy.UID {
				all[p.UID] = p
			}
		}
	}
	return all
}

// remember makes a snapshot evaluate the rules of earlier ones too, and returns the programs of all.
func (l *Reconciler) remember(snapshot *policy.Snapshot, programs map[string]*engine.Program) map[string]*engine.Program {
	l.programs = programs
	if len(l.past) == 0 {
		return programs
	}
	all, snapshots := map[string]*engine.Program{}, make([]*policy.Snapshot, len(l.past))
	for i, p := range l.past {
		snapshots[i] = p.snapshot
		maps.Copy(all, p.programs)
	}
	snapshot.Remember(snapshots)
	maps.Copy(all, programs)
	return all
}

// beginIn records what is in force in namespaces that begin to wait although a version or other namespaces wait already. The snapshot
// of when these began to wait does not have newer holds and rules of others. In a namespace that waits already, everything that is due counts:
// one snapshot cannot represent what was in force before both changes.
func (l *Reconciler) beginIn(v *previews, namespaces sets.Set[string], before *policy.Snapshot, entries []*entry) {
	if v.before == nil {
		return
	}
	began := maps.Clone(v.beforeIn)
	for namespace := range namespaces {
		since, waits := v.scope[namespace]
		if waits && l.Clock.Since(since) < pastEvery {
			continue
		}
		if began == nil {
			began = map[string]*policy.Snapshot{}
		}
		if began[namespace] = nil; !waits {
			began[namespace] = l.pastSnapshot(before, entries)
		}
	}
	v.beforeIn = began
}

// snapshots are the earlier ones with which the counts of a policy compare.
func (v *previews) snapshots() []*policy.Snapshot {
	return append(slices.Collect(maps.Values(v.beforeIn)), v.before)
}

// forgetEnded forgets what was in force in namespaces that no longer wait.
func (v *previews) forgetEnded() {
	if v.scope != nil && len(v.beforeIn) > 0 {
		v.beforeIn = maps.Clone(v.beforeIn)
		maps.DeleteFunc(v.beforeIn, func(namespace string, _ *policy.Snapshot) bool { return !v.scope.Has(namespace) })
	}
}

// drop forgets a snapshot. Everything that is due where it was used then counts.
func (v *previews) drop(s *policy.Snapshot) {
	if v.before == s {
		v.before, v.blind = nil, true
	}
	if slices.Contains(slices.Collect(maps.Values(v.beforeIn)), s) {
		v.beforeIn = maps.Clone(v.beforeIn)
		for namespace, other := range v.beforeIn {
			if other == s {
				v.beforeIn[namespace] = nil
			}
		}
	}
}
