// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/report"
)

// round compares the reports with the facts, and makes at most maxWrites changes.
func (w *Writer) round(ctx context.Context) {
	w.mu.Lock()
	snapshot := w.snapshot
	w.mu.Unlock()
	began := w.Clock.Now()
	if snapshot == nil || !w.Complete() || began.Before(w.nextRound) {
		return
	}
	w.nextRound = began.Add(roundEvery)
	existing, err := w.list(ctx)
	if err != nil {
		metrics.ReportWrites.WithLabelValues("failed").Inc() // so that the alert about reports fires
		log.FromContext(ctx).Info("no reports: install the CRDs of OpenReports, and grant the permission to list them", "err", err.Error())
		return
	}
	reading := w.Clock.Now()
	changes := w.changes(snapshot, existing)
	w.nextRound = policy.Latest(w.nextRound, reading.Add(restFactor*w.Clock.Since(reading)))
	failures := 0
	for _, c := range changes[:min(len(changes), maxWrites)] {
		if !w.try(ctx, c) {
			failures++
		}
		if ctx.Err() != nil || failures == maxFailures {
			return
		}
	}
}

// collect reads the facts. incomplete has the policies about which not all facts are known.
func (w *Writer) collect(snapshot *policy.Snapshot, existing []report.Key) (b *report.Builder, incomplete sets.Set[types.UID]) {
	kinds := w.State.Kinds()
	incomplete = incompletePolicies(snapshot, kinds)
	b = report.NewBuilder(w.Clock.Now(), existing)
	for _, k := range kinds {
		obstacles := map[types.UID]retention.Delay{}
		if k.Delayed > 0 {
			obstacles = k.Obstacles()
		}
		k.Index.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
			obstacle := ""
			if o, met := obstacles[s.UID]; met {
				obstacle = o.Reason + ": " + o.Message
			}
			b.Add(k.Kind, s, evaluations, obstacle)
		})
	}
	for _, p := range snapshot.Policies() {
		w.setDeleted(b, snapshot, p)
	}
	return b, incomplete.Union(incompletePolicies(snapshot, kinds)) // a list may have begun or ended during the scan
}

// changes compares the reports with those that exist. It returns the reports to delete, and then those to write, up to maxWrites: first
// those that were written the longest ago. Anyone may create objects that look like reports of policies: those that no policy can have
// take no place among report.MaxReports, and no more than half of the writes.
func (w *Writer) changes(snapshot *policy.Snapshot, existing map[report.Key]stored) []change {
	now := w.Clock.Now()
	policies := map[types.UID]*policy.Policy{}
	for _, p := range snapshot.Policies() {
		policies[p.UID] = p
	}
	isImpossible := func(k report.Key) bool {
		p := policies[k.Policy]
		return p == nil || p.Namespace != "" && p.Namespace != k.Namespace
	}
	b, incomplete := w.collect(snapshot, slices.DeleteFunc(slices.Collect(maps.Keys(existing)), isImpossible))
	keys := slices.DeleteFunc(b.Keys(), isImpossible)
	wanted := sets.New(keys...)
	maps.DeleteFunc(w.tried, func(k report.Key, _ time.Time) bool { return !wanted.Has(k) && existing[k].uid == "" })
	waits := func(k report.Key) bool { return incomplete.Has(k.Policy) || now.Before(w.tried[k]) }
	var deletions, writes []change
	for k, o := range existing {
		if !wanted.Has(k) && !waits(k) && !o.terminating {
			deletions = append(deletions, change{key: k, uid: o.uid})
		}
	}
	slices.SortFunc(keys, func(x, y report.Key) int {
		return cmp.Or(w.tried[x].Compare(w.tried[y]), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name(), y.Name()))
	})
	for _, k := range keys {
		if waits(k) || len(writes) >= maxWrites {
			continue
		}
		if body, hash := b.Encode(k, policies[k.Policy]); existing[k].hash != hash {
			writes = append(writes, change{key: k, body: body})
		}
	}
	return append(deletions[:min(len(deletions), max(maxWrites/2, maxWrites-len(writes)))], writes...)
}

// incompletePolicies returns the policies whose forecasts are not known: they have a rule that lacks facts, or a rule about the same kind as a
// rule of a ClusterRetentionPolicy that lacks facts and so keeps objects everywhere.
func incompletePolicies(snapshot *policy.Snapshot, kinds []retention.KindState) sets.Set[types.UID] {
	incomplete := sets.New[types.UID]()
	for _, kind := range snapshot.Kinds() {
		at := slices.IndexFunc(kinds, func(k retention.KindState) bool { return k.Index.Kind() == kind })
		rules := snapshot.Rules(kind)
		for _, r := range rules {
			switch {
			case r.OnNodes() || r.Invalid() || r.Unpermitted || at >= 0 && kinds[at].Index.Has(snapshot, r):
			case r.Namespace == "":
				for _, o := range rules {
					incomplete.Insert(o.PolicyUID)
				}
			default:
				incomplete.Insert(r.PolicyUID)
			}
		}
	}
	return incomplete
}

// setDeleted sets the deletions of a policy that its ledger has counted.
func (w *Writer) setDeleted(b *report.Builder, snapshot *policy.Snapshot, p *policy.Policy) {
	state, known := w.Ledgers.State(p.UID)
	if !known || state.Ledger == nil {
		return
	}
	for _, n := range state.Ledger.Namespaces {
		own := p.Namespace == "" && n.Name != ledger.Rest || n.Name == p.Namespace
		if own && n.Deleted > 0 && snapshot.Knows(n.Name) {
			b.SetDeleted(report.Key{Policy: p.UID, Namespace: n.Name}, n.Deleted)
		}
	}
}
