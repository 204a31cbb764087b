// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// archiveFake is an Archive that records targets at once, or after a while.
type archiveFake struct {
	mu        sync.Mutex
	down      error                                  // why nothing can be recorded; nil if it can
	takes     time.Duration                          // how long it takes to record
	forge     func(policy.Receipt) policy.Receipt    // changes the receipts that Lookup returns; nil for none
	changed   func(policy.Target) *retention.Outcome // result of Record instead; nil for none
	records   map[policy.Target]policy.Receipt       // durable and verified
	recorded  []policy.Target                        // by calls of Record that have succeeded, in order
	lookups   int
	withdrawn int
	finished  []string // TARGET RESULT
	writing   sync.WaitGroup
}

func newArchiveFake() *archiveFake { return &archiveFake{records: map[policy.Target]policy.Receipt{}} }

func (a *archiveFake) Lookup(i policy.Intent, t policy.Target) (policy.Receipt, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookups++
	r, ok := a.records[t]
	if ok && a.forge != nil {
		return a.forge(r), true
	}
	return r, ok && r.Covers(t, i.Rule)
}

func (a *archiveFake) Record(i policy.Intent, t policy.Target, c retention.Candidate) *retention.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.down != nil:
		return &retention.Outcome{Err: a.down, Unsent: true}
	case a.changed != nil:
		if o := a.changed(t); o != nil {
			return o
		}
	}
	a.writing.Go(func() {
		time.Sleep(a.takes)
		a.mu.Lock()
		a.records[t] = policy.Receipt{Target: t, Rule: i.Rule.ID, PolicyUID: i.Rule.PolicyUID, Archive: i.Rule.Archive, Segment: "segments/1", At: time.Now()}
		a.recorded = append(a.recorded, t)
		a.mu.Unlock()
		c.Ready()
	})
	return nil
}

func (a *archiveFake) Withdraw(policy.Intent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.withdrawn++
}

func (a *archiveFake) Finish(_ policy.Intent, t policy.Target, o retention.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = append(a.finished, fmt.Sprintf("%s@%s %s", t.Name, t.ResourceVersion, o.Result))
}

func (a *archiveFake) holds(t policy.Target) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.records[t]
	return ok
}

// set changes the archive. Its records stay, unless change removes them.
func (a *archiveFake) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// withArchive runs a test with an archive, and a ledger whose entries can be withdrawn.
func withArchive(t *testing.T, test func(t *testing.T, w *harness, a *archiveFake)) {
	t.Helper()
	a, b := newArchiveFake(), &slowLedger{ledgerFake: newLedgerFake()}
	inBubble(t, retention.Options{Ledger: b, Archive: a}, func(t *testing.T, w *harness) {
		t.Cleanup(b.writing.Wait)
		t.Cleanup(a.writing.Wait)
		w.guard()
		test(t, w, a)
	})
}

// reasons returns the reasons of all Delays, by policy.
func (w *harness) reasons() map[string]string {
	all := map[string]string{}
	for _, k := range w.Kinds() {
		for _, d := range k.Delays(w.clock.Now()) {
			all[d.Policy] = d.Reason + ": " + d.Message
		}
	}
	return all
}

// TestMissingArchiveStopsRulesThatArchive: a process without an Archive deletes nothing by rules that archive, and delays no other
// rules.
func TestMissingArchiveStopsRulesThatArchive(t *testing.T) {
	inBubble(t, retention.Options{Ledger: newLedgerFake()}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("archives", fixture.Archiving), fixture.Rule("free", fixture.About(fixture.Pods)))
		w.sourceOf(fixture.Jobs).list(rows("job-", 20, w.began)...)
		w.sourceOf(fixture.Pods).list(row("pod", w.began))
		bubble.Pass(24 * time.Hour)
		expect.Equal(t, "removed", []string{"pod"}, w.removed())
		expect.Equal(t, "attempted", []string{"pod@1"}, w.attempted())
	})
}

// TestRecordComesFirst: an object is recorded ahead of its due time, once, and deleted in time.
func TestRecordComesFirst(t *testing.T) {
	withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
		a.takes = 100 * time.Millisecond
		w.listedBy(fixture.Rule("archives", fixture.Archiving), row("job", w.began))
		bubble.Pass(time.Hour - time.Second/10)
		expect.Equal(t, "records before it is due", 1, len(a.recorded))
		expect.Equal(t, "removed before it is due", []string{}, w.removed())
		bubble.Pass(time.Second / 2)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
		expect.Equal(t, "records", []policy.Target{policy.TargetOf(fixture.Jobs, row("job", w.began).Subject)}, a.recorded)
		expect.Equal(t, "results", []string{"job@1 removed"}, a.finished)
	})
}

// TestAuditHasTheReceipt: the audit gets the receipt of the version that was deleted, and none for a rule that does not archive.
func TestAuditHasTheReceipt(t *testing.T) {
	a, audited := newArchiveFake(), map[string]policy.Receipt{}
	options := retention.Options{Ledger: newLedgerFake(), Archive: a, Audit: func(r retention.Removal) { audited[r.Subject.Name] = r.Receipt }}
	inBubble(t, options, func(t *testing.T, w *harness) {
		t.Cleanup(a.writing.Wait)
		w.use(fixture.Rule("archives", fixture.Archiving), fixture.Rule("free", fixture.About(fixture.Pods)))
		job := row("job", w.began.Add(-time.Hour), version(3))
		w.sourceOf(fixture.Jobs).list(job)
		w.sourceOf(fixture.Pods).list(row("pod", w.began.Add(-time.Hour)))
		bubble.Pass(time.Minute)
		expect.Equal(t, "receipts", map[string]policy.Receipt{"job": a.records[policy.TargetOf(fixture.Jobs, job.Subject)], "pod": {}}, audited)
		expect.Equal(t, "segment", "segments/1", audited["job"].Segment)
	})
}

// TestUnavailableArchiveKeepsObjects: while it is unavailable, rules that archive delete nothing and say so; others go on. After that,
// they go on too.
func TestUnavailableArchiveKeepsObjects(t *testing.T) {
	withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
		a.down = errors.New("the bucket does not answer")
		w.use(fixture.Rule("archives", fixture.Archiving), fixture.Rule("free", fixture.About(fixture.Pods)))
		w.sourceOf(fixture.Jobs).list(rows("job-", 3, w.began.Add(-time.Hour))...)
		w.sourceOf(fixture.Pods).list(row("pod", w.began.Add(-time.Hour)))
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"pod"}, w.removed())
		expect.Equal(t, "delays", map[string]string{"archives": "ArchiveUnavailable: the bucket does not answer"}, w.reasons())
		if a.lookups > 100 {
			t.Errorf("the archive was asked %d times", a.lookups)
		}
		bubble.Pass(24 * time.Hour)
		expect.Equal(t, "removed after a day", []string{"pod"}, w.removed())
		expect.Equal(t, "delays after a day", 1, len(w.reasons()))
		a.set(func() { a.down = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed at the end", 4, len(w.removed()))
		expect.Equal(t, "delays at the end", map[string]string{}, w.reasons())
	})
}

// TestReceiptMustBeOfThisVersion: with a receipt for anything else, the object is kept; with its own it is deleted.
func TestReceiptMustBeOfThisVersion(t *testing.T) {
	for name, forge := range map[string]func(policy.Receipt) policy.Receipt{
		"no receipt":      func(policy.Receipt) policy.Receipt { return policy.Receipt{} },
		"another version": func(r policy.Receipt) policy.Receipt { r.Target.ResourceVersion = "0"; return r },
		"another object":  func(r policy.Receipt) policy.Receipt { r.Target.UID = "other"; return r },
		"another archive": func(r policy.Receipt) policy.Receipt { r.Archive = &policy.Archive{To: "other"}; return r },
		"another rule":    func(r policy.Receipt) policy.Receipt { r.Rule.Rule = "other"; return r },
		"another policy":  func(r policy.Receipt) policy.Receipt { r.PolicyUID = "other"; return r },
		"other settings": func(r policy.Receipt) policy.Receipt {
			r.Archive = &policy.Archive{To: "history", Events: true}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
				a.forge = forge
				w.listedBy(fixture.Rule("archives", fixture.Archiving), row("job", w.began.Add(-time.Hour)))
				bubble.Pass(time.Minute)
				expect.Equal(t, "attempted", nil, w.attempted())
				expect.Equal(t, "delays", 1, len(w.reasons()))
				a.set(func() { a.forge = nil })
				bubble.Pass(time.Minute)
				expect.Equal(t, "removed", []string{"job"}, w.removed())
			})
		})
	}
}

// TestRecordThatIsLostDuringPreflight: the archive is removed and created again while the checks before the deletion run. The object is
// kept until the new archive has its record.
func TestRecordThatIsLostDuringPreflight(t *testing.T) {
	withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
		w.use(fixture.Rule("archives", fixture.Archiving))
		lost := 0
		w.set(func() {
			w.check = func(string) error {
				if lost < 3 {
					lost++
					a.set(func() { clear(a.records) })
				}
				return nil
			}
		})
		w.source(0).list(row("job", w.began.Add(-time.Hour)))
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
		expect.Equal(t, "records", 4, len(a.recorded))
	})
}

// TestRuleBeginsToArchive: a change of archive applies to the next deletion, and a rule that does not archive any more needs no record.
func TestRuleBeginsToArchive(t *testing.T) {
	withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
		a.down = errors.New("no")
		w.listedBy(fixture.Rule("archives", fixture.Counted), row("job", w.began))
		bubble.Pass(time.Minute)
		w.Use(snapshotOf(fixture.Rule("archives", fixture.Archiving)))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "removed while it archives", []string{}, w.removed())
		w.Use(snapshotOf(fixture.Rule("archives", fixture.Counted)))
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
	})
}

// TestOwnerIsRecorded: the record is of the owner that is deleted, in its current version.
func TestOwnerIsRecorded(t *testing.T) {
	withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
		version := "1"
		w.set(func() {
			w.resolveTarget = func(i policy.Intent) (policy.Target, *retention.Outcome) { return targetOf(i, version), nil }
		})
		a.changed = func(t policy.Target) *retention.Outcome { // the owner has changed since it was read
			if t.ResourceVersion == "2" {
				return nil
			}
			w.set(func() { version = "2" })
			return &retention.Outcome{Result: retention.Changed, Err: errors.New("the owner has changed"), Unsent: true}
		}
		w.listedBy(fixture.Rule("pods", owners, fixture.Archiving), row("pod", w.began.Add(-2*time.Hour), ownedBy("job")))
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
		expect.Equal(t, "records", 1, len(a.recorded))
		expect.Equal(t, "results", []string{"job@2 removed"}, a.finished)
	})
}

// TestArchiveLearnsEachResult: Finish is called with the result of each DELETE, and with nothing if none was sent.
func TestArchiveLearnsEachResult(t *testing.T) {
	for _, result := range []retention.Result{retention.Removed, retention.Changed, retention.Refused, retention.Failed} {
		t.Run(result.String(), func(t *testing.T) {
			withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
				w.outcome = func(policy.DeletePermit) retention.Outcome {
					return retention.Outcome{Result: result, Err: errors.New("an answer"), Unsure: result == retention.Failed}
				}
				w.listedBy(fixture.Rule("archives", fixture.Archiving), row("job", w.began.Add(-time.Hour)))
				bubble.Pass(time.Second)
				if sent := len(w.attempted()); sent == 0 || len(a.finished) != sent || a.finished[0] != "job@1 "+result.String() {
					t.Errorf("%d requests were sent, and Finish was called with %v", sent, a.finished)
				}
			})
		})
	}
}

// TestDryRunRecordsNothing: a rule that deletes nothing archives nothing.
func TestDryRunRecordsNothing(t *testing.T) {
	for _, mode := range []v1alpha1.Mode{v1alpha1.DryRun, v1alpha1.Suspend} {
		t.Run(string(mode), func(t *testing.T) {
			withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
				w.listedBy(fixture.Rule("archives", fixture.Archiving, fixture.Mode(mode)), row("job", w.began.Add(-time.Hour)))
				bubble.Pass(2 * time.Hour)
				expect.Equal(t, "records", 0, len(a.recorded))
			})
		})
	}
}

// TestNothingIsDeletedWithoutItsRecord: an archive fails, forgets and forges at random, objects and rules change, and requests fail. The
// harness checks each DELETE. At the end, everything that is due is deleted.
func TestNothingIsDeletedWithoutItsRecord(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
				r := random(seed)
				a.takes = time.Duration(r.IntN(500)) * time.Millisecond
				w.use(fixture.Rule("archives", fixture.Archiving))
				all := rows("job-", 20, w.began)
				w.source(0).list(all...)
				w.onEachDelete(after(0, retention.Failed, false))
				bubble.Pass(time.Hour - 2*time.Second)
				for range 60 {
					a.set(func() {
						switch r.IntN(6) {
						case 0:
							a.down = errors.New("no")
						case 1:
							a.down = nil
						case 2:
							clear(a.records)
						case 3:
							a.forge = func(r policy.Receipt) policy.Receipt { r.Target.ResourceVersion += "0"; return r }
						default:
							a.forge = nil
						}
					})
					switch k := r.IntN(len(all)); r.IntN(4) {
					case 0:
						all[k] = row(all[k].Name, w.began, version(r.IntN(5)+2))
						w.source(0).apply(all[k])
					case 1:
						edited := fixture.Rule("archives", fixture.Archiving)
						edited.Archive.Events = r.IntN(2) == 0
						w.Use(snapshotOf(edited))
					}
					bubble.Pass(time.Duration(r.IntN(2000)) * time.Millisecond)
				}
				a.set(func() { a.down, a.forge = nil, nil })
				w.set(func() { w.outcome = nil })
				bubble.Pass(20 * time.Minute)
				names := map[string]bool{}
				for _, name := range w.removed() {
					names[name] = true
				}
				expect.Equal(t, "removed", len(all), len(names))
			})
		})
	}
}
