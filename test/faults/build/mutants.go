// SPDX-License-Identifier: Apache-2.0

package build

import (
	"maps"
	"slices"

	"github.com/sunset-k8s/sunset/test/overlay"
)

// Mutants returns the names of all mutants, sorted.
func Mutants() []string { return slices.Sorted(maps.Keys(mutants)) }

// mutants each lack one of the mechanisms that prevent wrong deletions or ensure due ones.
var mutants = map[string][]overlay.Patch{
	// A DELETE removes any version of the object.
	"no-resource-version": {{
		File: "controllers/kube/remove.go",
		Old:  "&metav1.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion}",
		New:  "&metav1.Preconditions{UID: &t.UID}",
	}},
	// A DELETE does not name the UID of the object.
	"no-uid": {{
		File: "controllers/kube/remove.go",
		Old:  "&metav1.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion}",
		New:  "&metav1.Preconditions{ResourceVersion: &t.ResourceVersion}",
	}},
	// Deletions continue although the clocks of Sunset and the API server differ too much.
	"no-skew-check": {{
		File: "controllers/process/skew/skew.go",
		Old:  "if worst > Max {",
		New:  "if false && worst > Max {",
	}},
	// Policies and namespaces are not read again before a DELETE; the watch is considered sufficient.
	"no-fence": {{
		File: "controllers/policyset/live_check.go",
		Old:  "if !l.fresh(since) {",
		New:  "if false && !l.fresh(since) {",
	}, {
		File: "controllers/policyset/live_check.go",
		Old:  "return since, cmp.Or(",
		New:  "return l.Clock.Now(), cmp.Or(",
	}},
	// A check before a slow read counts after it.
	"checked-before": {{
		File: "controllers/retention/attempt.go",
		Old:  "\t\tf.withSpan(\"permission\", f.permission), ",
		New:  "\t\tf.live,\n\t\tf.permission, ",
	}, {
		File: "controllers/retention/attempt.go",
		Old:  "\t\tf.withSpan(\"live\", f.live), ",
		New:  "\t\t",
	}, {
		File: "controllers/retention/attempt.go",
		Old:  "if oldest := preflight.Oldest(since...); preflight.Fresh(f.reconciler.Clock.Now(), oldest) {",
		New:  "if oldest := f.reconciler.Clock.Now(); true {",
	}},
	// An expression that fails counts as true.
	"error-is-a-match": {{
		File: "engine/evaluator.go",
		Old:  "eligibility, toBool); err != nil || !facts.Eligible {",
		New:  "eligibility, toBool); err != nil {\n\t\tfacts.Eligible = true\n\t} else if !facts.Eligible {",
	}},
	// Windows and freezes have no effect.
	"always-open": {{
		File: "policy/deferral.go",
		Old:  "func (r *Rule) defers() bool { return len(r.Freezes)+len(r.Windows) > 0 }",
		New:  "func (r *Rule) defers() bool { return false }",
	}, {
		File: "policy/deferral.go",
		Old:  "\t\tt = f.period(t).move(t)\n",
		New:  "\t\t_ = f.period(t).move(t)\n",
	}, {
		File: "policy/deferral.go",
		Old:  "\t\tt = commonPeriod(r.Windows[:i+1], t).move(t)\n",
		New:  "\t\t_ = commonPeriod(r.Windows[:i+1], t).move(t)\n",
	}},
	// Deferred objects are deleted as soon as the window opens or the freeze ends.
	"no-spread": {{
		File: "policy/deferral.go",
		Old:  "\t\tt = f.period(t).move(t)\n",
		New:  "\t\t_ = f.period(t).move(t)\n",
	}, {
		File: "policy/deferral.go",
		Old:  "\t\tt = commonPeriod(r.Windows[:i+1], t).move(t)\n",
		New:  "\t\t_ = commonPeriod(r.Windows[:i+1], t).move(t)\n",
	}},
	// A leader counts only its own deletions, and starts at zero.
	"limits-in-memory": {{
		File: "policy/ledger/machine.go",
		Old:  "\treturn k.adopt(stored)\n",
		New:  "\tif k.stored == nil {\n\t\tstored.Open, stored.Spent = nil, nil\n\t}\n\treturn k.adopt(stored)\n",
	}},
	// A failed deletion is not retried.
	"no-retry": {{
		File: "controllers/retention/remove.go",
		Old:  "\t}\n\tp.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, o.Result))\n",
		New:  "\t}\n\t_ = p.backoffs.again(it, i.Subject.ResourceVersion, o.Result)\n",
	}},
	// Slow or failing namespaces share the workers of all others, which wait for each answer.
	"no-throttling": {{
		File: "controllers/retention/throttle.go",
		Old:  "\tl.good, l.until = 0, now.Add(throttledFor)\n\treturn news\n",
		New:  "\tl.throttled, l.until = false, now.Add(throttledFor)\n\treturn news\n",
	}, {
		File: "controllers/retention/worker_slots.go",
		Old:  "\tmay := p.reconciler.slotsGivenUp.Add(1) <= int64(mostGivenUp*p.reconciler.MaxInFlight)\n",
		New:  "\tmay := p.reconciler.slotsGivenUp.Add(1) < 0\n",
	}},
	// A new leader trusts every mark, including marks that the status distrusts.
	"believes-marks": {{
		File: "controllers/policyset/trust.go",
		Old:  "range distrusted {",
		New:  "range distrusted[:0] {",
	}},
	// Objects that become due because of another change than the policy's own need no approval.
	"changes-uncounted": {{
		File: "controllers/policyset/gates.go",
		Old:  "if change.None() && len(affected) == 0 {",
		New:  "if true || change.None() && len(affected) == 0 {",
	}},
	// Objects that become due because of a change without a leader need no approval.
	"restarts-uncounted": {{
		File: "controllers/policyset/gates.go",
		Old:  "if known == nil || known.Hash != p.Hash ||",
		New:  "if true || known == nil || known.Hash != p.Hash ||",
	}},
	// A policy or namespace that is missing from a list counts as deleted.
	"believes-lists": {{
		File: "controllers/policyset/missing.go",
		Old:  "\tobject := &metav1.PartialObjectMetadata{}\n\terr := l.readMetadata(ctx, path",
		New:  "\tif true {\n\t\treturn nil\n\t}\n\tobject := &metav1.PartialObjectMetadata{}\n\terr := l.readMetadata(ctx, path",
	}},
	// A rule counts as counted although it has no facts yet, because its kind is being relisted.
	"counted-without-facts": {{
		File: "controllers/retention/index/has.go",
		Old:  "return x.synced && x.column(x.listing.layoutIn(r.Namespace), r.Key) >= 0 &&",
		New:  "return true || x.synced && x.column(x.listing.layoutIn(r.Namespace), r.Key) >= 0 &&",
	}},
	// A terminating object is deleted again.
	"terminating-again": {{
		File: "policy/combine.go",
		Old:  "case f.Has(IsTerminating):\n\t\treturn Terminating\n",
		New:  "case false && f.Has(IsTerminating):\n\t\treturn Terminating\n",
	}},
	// Objects that another controller manages are deleted.
	"managed-deleted": {{
		File: "policy/combine.go",
		Old:  "case s.Flags.Manager() != \"\" && !r.Rule.AllowManaged:",
		New:  "case false && s.Flags.Manager() != \"\" && !r.Rule.AllowManaged:",
	}},
	// An approval counts for every policy with the same name and spec.
	"approval-of-any-policy": {{
		File: "policy/approval_gate.go",
		Old:  "return hashOf(string(p.UID), p.Hash)",
		New:  "return hashOf(p.Hash)",
	}, {
		File: "controllers/policyset/approvals.go",
		Old:  "return a.policy.UID == p.GetUID() && a.policy.Name",
		New:  "return a.policy.Name",
	}, {
		File: "controllers/policyset/approvals.go",
		Old:  "range a.cached[p.GetUID()] {",
		New:  "range func() (all []approval) {\n\t\tfor _, of := range a.cached {\n\t\t\tall = append(all, of...)\n\t\t}\n\t\treturn all\n\t}() {",
	}},
	// The doubt about a DELETE without a definite answer never ends.
	"endless-doubt": {{
		File: "policy/ledger/entry.go",
		Old:  "return !s.quiet.IsZero() && elapsed(s.quiet, began) >= RequestLife",
		New:  "return false && !s.quiet.IsZero() && elapsed(s.quiet, began) >= RequestLife",
	}},
	// An object that returns after each deletion is deleted without end.
	"endless-loops": {{
		File: "controllers/retention/index/row.go",
		Old:  "if r.streak >= maxReturns {",
		New:  "if false && r.streak >= maxReturns {",
	}},
	// While a RetentionPolicy is compiled, all namespaces wait, not only its own.
	"all-wait-for-compiling": {{
		File: "controllers/policyset/compiling.go",
		Old:  "case \"\":\n\t\t\treturn fmt.Errorf(\"%w: %s\", errCompiling",
		New:  "case \"\", e.written.GetNamespace():\n\t\t\treturn fmt.Errorf(\"%w: %s\", errCompiling",
	}},
	// A leader that was a standby records what it knows without reading it again.
	"standby-unread": {{
		File: "controllers/retention/standby.go",
		Old:  "\tif !early {\n",
		New:  "\tif true || !early {\n",
	}},
	// The targets and the selector of an object count for later versions of it too.
	"selector-of-any-version": {{
		File: "controllers/kube/references/uses.go",
		Old:  "r.object.version != version })",
		New:  "r.object.version != version && false })",
	}},
	// A watch of referrers that ends, and cannot be opened again, makes nothing unknown.
	"broken-watch-unnoticed": {{
		File: "controllers/kube/source.go",
		Old:  "return known.Paused(s.reevaluator.of)",
		New:  "return nil",
	}, {
		File: "controllers/kube/referrers/source.go",
		Old:  "if why := s.liveness.doubt(); why != nil &&",
		New:  "if why := s.liveness.doubt(); false && why != nil &&",
	}, {
		File: "controllers/kube/referrers/source.go",
		Old:  "if why := reason(err, at.name()); why != nil {",
		New:  "if why := reason(err, at.name()); false && why != nil {",
	}},
	// An object whose target or selected object disappears has no quiet period.
	"missing-at-once": {{
		File: "controllers/kube/references/object.go",
		Old:  "\t\tx.noteRemoved(node)\n",
		New:  "",
	}},
	// A target of a kind that Sunset has not listed counts as missing.
	"unlisted-is-missing": {{
		File: "controllers/kube/references/extract/row.go",
		Old:  "\tall := r.existsFor\n",
		New:  "\tvar all []references.Kind\n",
	}},
	// A record of another version of an object is sufficient.
	"record-of-another-version": {{
		File: "controllers/archives/receipts.go",
		Old:  "r != nil && r.target().Is(t) {",
		New:  "r != nil {",
	}, {
		File: "policy/archive.go",
		Old:  "r.Target.Is(t) && r.Archive.Equal(of.Archive)",
		New:  "r.Target.UID == t.UID && r.Archive.Equal(of.Archive)",
	}},
	// A segment counts as written when the store says so: it is not read back.
	"record-not-read-back": {{
		File: "controllers/archives/store/store.go",
		Old:  "\t\terr = s.compare(ctx, name, data)\n",
		New:  "\t\terr = written\n",
	}},
	// A ledger counts a deletion before the index of the archive has its result.
	"counted-before-result": {{
		File: "controllers/ledgers/doubt.go",
		Old:  "m.Archives.Written(i.Rule.Archive.To, func() { w.answered(i, t, answer) })",
		New:  "w.answered(i, t, answer)",
	}},
	// A record has copies of what is redacted: managedFields, and the annotation of kubectl apply.
	"copies-not-redacted": {{
		File: "controllers/archives/item.go",
		Old:  "texts = slices.Concat(redact.Copies, texts)",
		New:  "texts = slices.Concat(redact.Copies[:0], texts)",
	}},
	// The dependents in a record are not redacted.
	"dependents-not-redacted": {{
		File: "controllers/archives/item.go",
		Old:  "document, err := redacted(d.data)",
		New:  "document, err := json.RawMessage(d.data), error(nil)",
	}},
	// A record has one dependent at most.
	"one-dependent": {{
		File: "controllers/archives/dependents.go",
		Old:  "i.dependents = append(i.dependents, d)",
		New:  "i.dependents = append(i.dependents[:0], d)",
	}},
	// A record has one Event at most.
	"one-event": {{
		File: "controllers/archives/dependents.go",
		Old:  "i.events = append(i.events, event)",
		New:  "i.events = append(i.events[:0], event)",
	}},
	// A record has the beginning of a log instead of its end.
	"beginning-of-log": {{
		File: "controllers/archives/slots.go",
		Old:  "return text[len(text)-most:], true, nil",
		New:  "return text[:most], true, nil",
	}},
	// A VolumeSnapshot counts before it is ready to use.
	"snapshot-not-ready": {{
		File: "policy/volume_snapshot.go",
		Old:  "case !s.Status.ReadyToUse || s.Status.Content",
		New:  "case s.Status.Content",
	}},
	// A new leader accepts the VolumeSnapshots of the previous one.
	"snapshot-of-other-leader": {{
		File: "controllers/retention/snapshots.go",
		Old:  "d = dueClaim{start: i.Start, since: now, needs: needs}",
		New:  "d = dueClaim{start: i.Start, since: i.Start, needs: needs}",
	}},
	// A mark stays when the object is no longer eligible, and counts when it is eligible again.
	"marks-stay": {
		{
			File: "policy/eligible_since.go",
			Old:  "\treturn !r.Facts.Start.IsZero()\n}",
			New:  "\treturn false\n}",
		},
		{
			File: "controllers/retention/index/marks.go",
			Old:  "\tcase !f.has(eligible):\n\t\treturn true\n\t}\n\treturn next",
			New:  "\tcase !f.has(eligible):\n\t\treturn false\n\t}\n\treturn next",
		},
	},
}
