package build

import (
	"maps"
	"slices"

	"github.com/sunset-k8s/sunset/test/overlay"
)

// Mutants are the names of all mutants, sorted.
func Mutants() []string { return slices.Sorted(maps.Keys(mutants)) }

// mutants each lack one of the mechanisms that keep Sunset from deleting what it must not, or from leaving what it must delete.
var mutants = map[string][]overlay.Patch{
	// A DELETE that takes whatever version of the object is there.
	"no-resource-version": {{
		File: "controllers/kube/remove.go",
		Old:  "&metav1.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion}",
		New:  "&metav1.Preconditions{UID: &t.UID}",
	}},
	// A DELETE that does not say which object it means.
	"no-uid": {{
		File: "controllers/kube/remove.go",
		Old:  "&metav1.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion}",
		New:  "&metav1.Preconditions{ResourceVersion: &t.ResourceVersion}",
	}},
	// Deletions go on though our clock and the API server's are far apart.
	"no-skew-check": {{
		File: "controllers/policyset/skew.go",
		Old:  "if worst > maxSkew {",
		New:  "if false && worst > maxSkew {",
	}},
	// Policies and namespaces are not read again before a DELETE: what the watch has brought is good enough.
	"no-fence": {{
		File: "controllers/policyset/live_check.go",
		Old:  "if !l.fresh(since) {",
		New:  "if false && !l.fresh(since) {",
	}, {
		File: "controllers/policyset/live_check.go",
		Old:  "return since, cmp.Or(",
		New:  "return l.Clock.Now(), cmp.Or(",
	}},
	// What was checked before a slow read counts after it.
	"checked-before": {{
		File: "controllers/retention/attempt.go",
		Old:  "\t\tf.permission,      // the ServiceAccount",
		New:  "\t\tf.live,\n\t\tf.permission, // the ServiceAccount",
	}, {
		File: "controllers/retention/attempt.go",
		Old:  "\t\tf.live,            // this process leads",
		New:  "\t\t// this process leads",
	}, {
		File: "controllers/retention/attempt.go",
		Old:  "if oldest := preflight.Oldest(since...); preflight.Fresh(f.owner.Clock.Now(), oldest) {",
		New:  "if oldest := f.owner.Clock.Now(); true {",
	}},
	// An expression that fails is taken for a yes.
	"error-is-a-match": {{
		File: "engine/evaluator.go",
		Old:  "eligibility, toBool); err != nil || !facts.Eligible {",
		New:  "eligibility, toBool); err != nil {\n\t\tfacts.Eligible = true\n\t} else if !facts.Eligible {",
	}},
	// A leader counts what it has deleted itself, and begins with nothing.
	"limits-in-memory": {{
		File: "policy/ledger/keeper.go",
		Old:  "\treturn k.adopt(stored)\n",
		New:  "\tif k.stored == nil {\n\t\tstored.Open, stored.Spent = nil, nil\n\t}\n\treturn k.adopt(stored)\n",
	}},
	// What failed once is not tried again.
	"no-retry": {{
		File: "controllers/retention/remove.go",
		Old:  "\t}\n\tp.retry(it, p.tries.again(it, i.Subject.ResourceVersion, o.Result))\n",
		New:  "\t}\n\t_ = p.tries.again(it, i.Subject.ResourceVersion, o.Result)\n",
	}},
	// Namespaces that are slow or fail have the same workers as all others, which wait for each answer.
	"no-throttling": {{
		File: "controllers/retention/throttle.go",
		Old:  "\tl.good, l.until = 0, now.Add(throttledFor)\n\treturn news\n",
		New:  "\tl.throttled, l.until = false, now.Add(throttledFor)\n\treturn news\n",
	}, {
		File: "controllers/retention/place.go",
		Old:  "\tmay := p.owner.given.Add(1) <= int64(givenMost*p.owner.MaxInFlight)\n",
		New:  "\tmay := p.owner.given.Add(1) < 0\n",
	}},
	// A leader that starts believes every mark, also those that the status distrusts.
	"believes-marks": {{
		File: "controllers/policyset/trust.go",
		Old:  "range distrusted {",
		New:  "range distrusted[:0] {",
	}},
	// What becomes due because something else has changed than the policy itself needs no approval.
	"changes-uncounted": {{
		File: "controllers/policyset/gates.go",
		Old:  "if change.None() && len(fewer) == 0 {",
		New:  "if true || change.None() && len(fewer) == 0 {",
	}},
	// What becomes due because something has changed while no replica led needs no approval.
	"restarts-uncounted": {{
		File: "controllers/policyset/gates.go",
		Old:  "if known == nil || known.Hash != p.Hash ||",
		New:  "if true || known == nil || known.Hash != p.Hash ||",
	}},
	// A policy or namespace that a list lacks is believed to be gone.
	"believes-lists": {{
		File: "controllers/policyset/missing.go",
		Old:  "\tobject := &metav1.PartialObjectMetadata{}\n\terr := l.readMetadata(ctx, of.path(missing)",
		New:  "\tif true {\n\t\treturn nil\n\t}\n\tobject := &metav1.PartialObjectMetadata{}\n\terr := l.readMetadata(ctx, of.path(missing)",
	}},
	// A rule counts as counted though there are no facts about it yet, since its kind is being listed again.
	"counted-without-facts": {{
		File: "controllers/retention/index/index.go",
		Old:  "return x.synced && x.snapshot == snapshot && x.column(x.listing.layoutIn(r.Namespace), r.Key) >= 0 &&",
		New:  "return true || x.synced && x.snapshot == snapshot && x.column(x.listing.layoutIn(r.Namespace), r.Key) >= 0 &&",
	}},
	// What is created again as fast as it is deleted is deleted again and again.
	"endless-loops": {{
		File: "controllers/retention/index/row.go",
		Old:  "if r.streak >= maxReturns {",
		New:  "if false && r.streak >= maxReturns {",
	}},
	// While a RetentionPolicy is compiled, everybody waits, and not its namespace alone.
	"all-wait-for-compiling": {{
		File: "controllers/policyset/compiling.go",
		Old:  "case \"\":\n\t\t\treturn fmt.Errorf(\"%w: %s\", errCompiling",
		New:  "case \"\", e.written.GetNamespace():\n\t\t\treturn fmt.Errorf(\"%w: %s\", errCompiling",
	}},
	// A mark stays when the object is not eligible any more, and counts when it is again.
	"marks-stay": {
		{
			File: "policy/eligible_since.go",
			Old:  "\treturn !r.Facts.Start.IsZero()\n}",
			New:  "\treturn false\n}",
		},
		{
			File: "controllers/retention/index/marks.go",
			Old:  "\tcase !f.eligible:\n\t\treturn true\n\t}\n\treturn next",
			New:  "\tcase !f.eligible:\n\t\treturn false\n\t}\n\treturn next",
		},
	},
}
