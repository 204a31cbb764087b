// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/report"
)

// round writes the reports that have changed, and deletes those that have no content any more.
func (w *Writer) round(ctx context.Context) {
	snapshot, began := w.inUse(), w.Clock.Now()
	if snapshot == nil || began.Before(w.rests) {
		return
	}
	w.rests = began.Add(roundEvery)
	existing, err := w.list(ctx)
	w.logList(ctx, err)
	if err != nil {
		return
	}
	reading := w.Clock.Now()
	b, unlisted := w.collect(snapshot, slices.Collect(maps.Keys(existing)), began)
	metrics.ReportOmitted.Set(float64(b.Omitted))
	changes, err := changesOf(snapshot, b, existing, unlisted)
	if err != nil {
		log.FromContext(ctx).Error(err, "reports not encoded")
		return
	}
	if rests := reading.Add(restFactor * w.Clock.Since(reading)); rests.After(w.rests) {
		w.rests = rests
	}
	w.write(ctx, b, changes)
	known := sets.New(b.Keys()...)
	maps.DeleteFunc(w.attempts, func(k report.Key, _ attempt) bool { return existing[k].uid == "" && !known.Has(k) })
}

// logList logs why reports cannot be listed, once for each cause: OpenReports may not be installed, or a permission is missing.
func (w *Writer) logList(ctx context.Context, err error) {
	was := w.listErr
	if w.listErr = ""; err != nil {
		w.listErr = err.Error()
	}
	switch {
	case w.listErr == was:
	case err != nil:
		log.FromContext(ctx).Info("no reports are written; install the CRDs of OpenReports, and grant list on them", "err", err.Error())
	default:
		log.FromContext(ctx).Info("reports are written again")
	}
}

// collect reads the facts. unlisted has the policies about which they are incomplete.
func (w *Writer) collect(snapshot *policy.Snapshot, existing []report.Key, now time.Time) (b *report.Builder, unlisted sets.Set[types.UID]) {
	kinds := w.State.Kinds()
	unlisted = unlistedIn(snapshot, kinds)
	b = report.NewBuilder(now, existing)
	for _, k := range kinds {
		var obstacles map[types.UID]retention.Delay
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
		if p.Ledger {
			w.addDeleted(b, snapshot, p)
		}
	}
	return b, unlisted.Union(unlistedIn(snapshot, kinds)) // a list may have begun or ended during the scan
}

// unlistedIn returns the policies whose forecasts are not known: they have a rule that lacks facts, or a rule about the same kind as a
// rule of a ClusterRetentionPolicy that lacks facts and so keeps objects everywhere.
func unlistedIn(snapshot *policy.Snapshot, kinds []retention.KindState) sets.Set[types.UID] {
	unlisted, keeping := sets.New[types.UID](), sets.New[schema.GroupKind]()
	for r := range rulesOf(snapshot) {
		has := func(k retention.KindState) bool {
			return k.Index.Kind() == policy.StoredAs(r.Kind) && k.Index.Has(snapshot, r)
		}
		if slices.ContainsFunc(kinds, has) || r.OnNodes() || r.Invalid() || r.Unpermitted {
			continue
		}
		unlisted.Insert(r.PolicyUID)
		if r.Namespace == "" {
			keeping.Insert(policy.StoredAs(r.Kind))
		}
	}
	for r := range rulesOf(snapshot) {
		if keeping.Has(policy.StoredAs(r.Kind)) {
			unlisted.Insert(r.PolicyUID)
		}
	}
	return unlisted
}

func rulesOf(snapshot *policy.Snapshot) iter.Seq[*policy.Rule] {
	return func(yield func(*policy.Rule) bool) {
		for _, p := range snapshot.Policies() {
			for _, r := range p.Rules {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// addDeleted adds the deletions of a policy that its ledger has counted.
func (w *Writer) addDeleted(b *report.Builder, snapshot *policy.Snapshot, p *policy.Policy) {
	state, known := w.Ledgers.State(p.UID)
	switch {
	case !known || state.Ledger == nil:
	case p.Namespace != "":
		b.AddDeleted(report.Key{Policy: p.UID, Namespace: p.Namespace}, state.Ledger.Total.Deleted)
	default:
		for _, n := range state.Ledger.Namespaces {
			if n.Name != ledger.Rest && snapshot.Knows(n.Name) {
				b.AddDeleted(report.Key{Policy: p.UID, Namespace: n.Name}, n.Deleted)
			}
		}
	}
}

// changesOf compares the reports with those that exist. Reports of policies in unlisted do not change.
func changesOf(snapshot *policy.Snapshot, b *report.Builder, existing map[report.Key]stored, unlisted sets.Set[types.UID]) (all []change, err error) {
	policies := map[types.UID]*policy.Policy{}
	for _, p := range snapshot.Policies() {
		policies[p.UID] = p
	}
	wanted := map[report.Key]bool{}
	for _, k := range b.Keys() {
		p := policies[k.Policy]
		if p == nil || unlisted.Has(k.Policy) {
			continue
		}
		wanted[k] = true
		_, hash, err := b.Encode(k, p)
		if err != nil {
			return nil, err
		}
		if existing[k].hash != hash {
			all = append(all, change{key: k, policy: p})
		}
	}
	for k, s := range existing {
		if !wanted[k] && !unlisted.Has(k.Policy) {
			all = append(all, change{key: k, uid: s.uid})
		}
	}
	return all, nil
}

// write makes at most maxWrites changes: deletions first, then those whose last attempt is the longest ago.
func (w *Writer) write(ctx context.Context, b *report.Builder, changes []change) {
	now := w.Clock.Now()
	changes = slices.DeleteFunc(changes, func(c change) bool { return now.Before(w.attempts[c.key].retryAt) })
	slices.SortFunc(changes, func(x, y change) int {
		if (x.policy == nil) != (y.policy == nil) {
			if x.policy == nil {
				return -1
			}
			return 1
		}
		return cmp.Or(w.attempts[x.key].at.Compare(w.attempts[y.key].at), x.key.Compare(y.key))
	})
	failures := 0
	for _, c := range changes[:min(len(changes), maxWrites)] {
		if w.try(ctx, b, c) != nil {
			failures++
		}
		if ctx.Err() != nil || failures == maxFailures {
			return
		}
	}
}
