// SPDX-License-Identifier: Apache-2.0

package status

import (
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// knownCounts remembers the counts of namespaces in which nothing has changed since the last count. The zero value knows none.
type knownCounts struct {
	snapshot *policy.Snapshot
	until    time.Time // when the counts change in all namespaces; zero for never
	now      time.Time
	before   map[*index.Index]map[string]knownCount // by namespace
	counts   map[*index.Index]map[string]knownCount // of this count
}

type knownCount struct {
	version uint64 // of the namespace in the index
	stats   *policy.Stats
}

// worthKnowing is the number of subjects for each rule of a namespace from which on its counts are remembered. They occupy about a
// kilobyte for each rule.
const worthKnowing = 32

// begin begins a count. All counts change at until; zero for never.
func (c *knownCounts) begin(snapshot *policy.Snapshot, now, until time.Time) {
	c.before, c.counts = c.counts, map[*index.Index]map[string]knownCount{}
	if c.snapshot != snapshot || !c.until.IsZero() && !now.Before(c.until) {
		c.before = nil
	}
	c.snapshot, c.now, c.until = snapshot, now, until
}

// add adds all subjects of an index to the stats. It counts several namespaces at the same time.
func (c *knownCounts) add(x *index.Index, all *policy.Stats) {
	next, few := map[string]knownCount{}, sets.New[string]()
	var counting errgroup.Group
	counting.SetLimit(runtime.GOMAXPROCS(0))
	for name, namespace := range x.Namespaces() {
		k, ok := c.before[x][name]
		switch {
		case ok && k.version == namespace.Version && k.stats.HoldsAt(c.now):
		case namespace.Subjects < worthKnowing*namespace.Rules:
			few.Insert(name)
			continue
		default:
			k = knownCount{namespace.Version, all.For(name)}
			counting.Go(func() error {
				x.ScanNamespaces(sets.New(name), k.stats.AddAfter)
				return nil
			})
		}
		next[name] = k
	}
	_ = counting.Wait()
	for _, k := range next {
		all.Merge(k.stats)
	}
	c.counts[x] = next
	x.ScanNamespaces(few, all.AddAfter)
}

// changesEverywhere returns when windows, freezes and periods of enforcement begin or end; zero for never.
func (r *Reporter) changesEverywhere(snapshot *policy.Snapshot) time.Time {
	first := enforcedUntil(snapshot, r.counted)
	for _, p := range snapshot.Policies() {
		_, changes := snapshot.Deferral(p, r.counted)
		first = policy.Soonest(first, changes)
	}
	return first
}
