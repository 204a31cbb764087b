// SPDX-License-Identifier: Apache-2.0

package mutants

// ledgerTable changes the exact counts of package ledger.
var ledgerTable = map[string]Mutant{
	"ledger: a clock that is set back shortens the spent time": {
		File: "policy/ledger/budget.go", Test: "./policy/ledger TestSpent",
		Old: "!all[last].EndTime.Time.Before(s.EndTime.Time)",
		New: "all[last].EndTime.Time.Equal(s.EndTime.Time)",
	},
	"ledger: a full budget ignores the clock skew": {
		File: "policy/ledger/budget.go", Test: "./policy/ledger TestCharged",
		Old: "return now.Add(budget.Window + Skew)",
		New: "return now.Add(budget.Window)",
	},
	"ledger: a namespace may open one entry too many if entries have an unknown result": {
		File: "policy/ledger/update.go", Test: "./policy/ledger TestEntriesInDoubtLeaveRoomToOtherNamespaces",
		Old: "int64(d.doubtful[namespace]) < d.spare",
		New: "int64(d.doubtful[namespace]) <= d.spare",
	},
	"ledger: a refusal after a DELETE with an unknown result ends the entry": {
		File: "policy/ledger/send.go", Test: "./policy/ledger TestInterleavings",
		Old: "case !s.doubtful:\n\t\tk.finish(s, void)",
		New: "case !s.doubtful || a == Refused:\n\t\tk.finish(s, void)",
	},
	"ledger: an observation without a UID shows another object": {
		File: "policy/ledger/entry.go", Test: "./policy/ledger TestDoubtEndsOnceNoRequestCanBeCarriedOut",
		Old: "case s.UID == \"\" || s.ResourceVersion == \"\":",
		New: "case s.UID == \"\" && s.ResourceVersion == \"\":",
	},
	"ledger: a terminating object counts as changed": {
		File: "policy/ledger/entry.go", Test: "./policy/ledger TestObservationOf",
		Old: "Terminating: o.GetDeletionTimestamp() != nil}",
		New: "Terminating: false}",
	},
	"ledger: an entry with an unknown result is withdrawn": {
		File: "policy/ledger/send.go", Test: "./policy/ledger TestInheritedEntryIsDoubtful",
		Old: "\t\tif s.idle() && !s.doubtful {\n\t\t\tk.finish(s, void)",
		New: "\t\tif s.idle() {\n\t\t\tk.finish(s, void)",
	},
	"ledger: an entry in backoff is sent": {
		File: "policy/ledger/send.go", Test: "./policy/ledger TestEntryInDoubtIsRetriedLessOften",
		Old: "!s.idle() || s.stopped {",
		New: "!s.idle() {",
	},
	"ledger: one counter more than the limit is kept": {
		File: "policy/ledger/count.go", Test: "./policy/ledger TestCountersAreBounded",
		Old: "if own >= most && name != Rest",
		New: "if own > most && name != Rest",
	},
	"ledger: the quiet period starts at the latest observation": {
		File: "policy/ledger/entry.go", Test: "./policy/ledger TestInterleavingsFindEachFlaw",
		Old: "\tif s.quiet.IsZero() {\n\t\ts.quiet = now\n\t}",
		New: "\ts.quiet = now",
	},
	"ledger: merging spendings drops every second one": {
		File: "policy/ledger/budget.go", Test: "./policy/ledger TestSpendingsAreBoundedWhateverTheWindow",
		Old: "if len(pair) == 2 {",
		New: "if len(pair) > 2 {",
	},
	"ledger: the longer of two measured durations counts": {
		File: "policy/ledger/entry.go", Test: "./policy/ledger TestClockThatIsSetEndsNoDoubt",
		Old: "return min(now.Sub(since), now.Round(0).Sub(since.Round(0)))",
		New: "return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))",
	},
	"ledger: a counted entry is forgotten immediately": {
		File: "policy/ledger/machine.go", Test: "./policy/ledger TestMachineOpensOneEntryPerObject",
		Old: "\t\tcase seen:\n",
		New: "\t\tcase seen || !known(uid):\n",
	},
}
