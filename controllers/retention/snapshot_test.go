// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// storage makes VolumeSnapshots. The zero value makes each in no time.
type storage struct {
	mu      sync.Mutex
	takes   time.Duration
	down    error  // result of all requests; nil for none
	fails   error  // result of reads of existing VolumeSnapshots
	of      string // the only claim to which fails applies; empty for all
	loses   int    // responses to creations that are lost
	made    map[string]time.Time
	created []string // names of claims, in order
	names   []string // of their VolumeSnapshots
	reads   int
	shift   time.Duration // of the time of the snapshots
	told    []string      // notices, in order
}

// Snapshotted implements retention.SnapshotObserver.
func (w *harness) Snapshotted(n retention.SnapshotNotice) {
	told := n.Subject.Name + " created"
	if n.Slow != nil {
		told = n.Subject.Name + " " + n.Slow.Reason
	}
	w.storage.mu.Lock()
	defer w.storage.mu.Unlock()
	if !slices.Contains(w.storage.names, n.Name) {
		w.t.Errorf("the notice names %s, not one of %v", n.Name, w.storage.names)
	}
	w.storage.told = append(w.storage.told, told)
}

// ReadSnapshot implements retention.Snapshotter.
func (w *harness) ReadSnapshot(_ context.Context, i policy.Intent) (policy.SnapshotReceipt, error) {
	s := w.storage
	if s == nil {
		return policy.SnapshotReceipt{}, errors.New("no storage")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	at, exists := s.made[i.SnapshotName()]
	switch {
	case s.down != nil:
		return policy.SnapshotReceipt{}, s.down
	case !exists:
		return policy.SnapshotReceipt{}, retention.ErrNoSnapshot
	case s.fails != nil && (s.of == "" || s.of == i.Subject.Name):
		return policy.SnapshotReceipt{}, s.fails
	case w.clock.Now().Sub(at) < s.takes:
		return policy.SnapshotReceipt{}, fmt.Errorf("it %w", policy.ErrSnapshotPending)
	}
	return policy.SnapshotReceipt{Claim: i.Subject.UID, Name: i.SnapshotName(), Created: at.Add(s.shift)}, nil
}

// CreateSnapshot implements retention.Snapshotter.
func (w *harness) CreateSnapshot(_ context.Context, permit policy.DeletePermit) error {
	s, name := w.storage, permit.Intent().SnapshotName()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[string]time.Time{}
	}
	if _, exists := s.made[name]; !exists {
		s.made[name], s.created, s.names = w.clock.Now(), append(s.created, permit.Subject().Name), append(s.names, name)
	}
	if s.loses--; s.loses >= 0 {
		return errors.New("connection reset")
	}
	return nil
}

// mustHaveSnapshot fails the test if the rule makes snapshots and there is none of the claim.
func (w *harness) mustHaveSnapshot(c policy.Clearance) {
	if c.Permit().Rule().Snapshot == nil {
		return
	}
	w.storage.mu.Lock()
	defer w.storage.mu.Unlock()
	if at, ok := w.storage.made[c.Snapshot().Name]; !ok || w.clock.Now().Sub(at) < w.storage.takes {
		w.t.Errorf("%v is deleted without its snapshot", c.Target())
	}
}

func snapshotting(r *policy.Rule) {
	r.Kind, r.Snapshot = policy.ClaimKind, &policy.ClaimSnapshot{}
}

func withStorage(t *testing.T, s *storage, test func(t *testing.T, w *harness)) {
	t.Helper()
	inBubble(t, retention.Options{Ledger: newLedgerFake()}, func(t *testing.T, w *harness) {
		w.storage = s
		test(t, w)
	})
}

// TestSnapshotComesFirst: a claim is deleted once its snapshot is ready, which is made when the claim is due and not earlier.
func TestSnapshotComesFirst(t *testing.T) {
	for name, counted := range map[string]func(*policy.Rule){"without a ledger": func(*policy.Rule) {}, "with a ledger": fixture.Counted} {
		t.Run(name, func(t *testing.T) {
			withStorage(t, &storage{takes: 3 * time.Minute}, func(t *testing.T, w *harness) {
				w.listedBy(fixture.Rule("claims", snapshotting, counted), row("data", w.began))
				bubble.Pass(time.Hour - time.Second)
				expect.Equal(t, "created before it is due", 0, len(w.storage.created))
				bubble.Pass(2 * time.Minute)
				expect.Equal(t, "created", []string{"data"}, w.storage.created)
				expect.Equal(t, "removed before it is ready", []string{}, w.removed())
				expect.Equal(t, "delays", map[string]string{"claims": "SnapshotPending: VolumeSnapshot team-a/" + w.storage.names[0] + " is not ready to use yet"}, w.reasons())
				bubble.Pass(2 * time.Minute)
				expect.Equal(t, "removed", []string{"data"}, w.removed())
				expect.Equal(t, "created in total", 1, len(w.storage.created))
				expect.Equal(t, "delays at the end", map[string]string{}, w.reasons())
				if w.storage.reads > 50 {
					t.Errorf("the snapshot was read %d times", w.storage.reads)
				}
			})
		})
	}
}

// TestSnapshotThatIsMissingKeepsTheClaim: the claim stays with the reason, and other rules go on.
func TestSnapshotThatIsMissingKeepsTheClaim(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*storage)
		want   string
	}{
		"not readable":                   {func(s *storage) { s.down = errors.New("no CRD") }, "SnapshotUnavailable: no CRD"},
		"failed":                         {func(s *storage) { s.fails = fmt.Errorf("it %w: no space", policy.ErrSnapshotFailed) }, "SnapshotFailed: it cannot be used: no space"},
		"taken before the claim was due": {func(s *storage) { s.shift = -48 * time.Hour }, "SnapshotUnavailable: no VolumeSnapshot of PersistentVolumeClaim team-a/data is ready to use"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &storage{}
			test.change(s)
			withStorage(t, s, func(t *testing.T, w *harness) {
				w.use(fixture.Rule("claims", snapshotting), fixture.Rule("free", fixture.About(fixture.Pods)))
				w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
				w.sourceOf(fixture.Pods).list(row("pod", w.began.Add(-time.Hour)))
				bubble.Pass(24 * time.Hour)
				expect.Equal(t, "removed", []string{"pod"}, w.removed())
				expect.Equal(t, "delays", map[string]string{"claims": test.want}, w.reasons())
				s.mu.Lock()
				s.down, s.fails, s.shift = nil, nil, 0
				s.mu.Unlock()
				bubble.Pass(time.Minute)
				expect.Equal(t, "removed at the end", 2, len(w.removed()))
			})
		})
	}
}

// TestNoSnapshotWithoutPermission: nothing is created by a dry run, for a claim in a namespace in doubt, or without the permission.
func TestNoSnapshotWithoutPermission(t *testing.T) {
	for name, prevent := range map[string]func(*harness, *policy.Rule){
		"dry run":            func(_ *harness, r *policy.Rule) { r.Mode = v1alpha1.DryRun },
		"suspended":          func(_ *harness, r *policy.Rule) { r.Suspended = true },
		"unapproved":         func(_ *harness, r *policy.Rule) { r.Unapproved = true },
		"checks that fail":   func(w *harness, _ *policy.Rule) { w.check = func(string) error { return errors.New("another leader") } },
		"missing permission": func(w *harness, _ *policy.Rule) { w.permit = func(*policy.Rule) error { return errors.New("denied") } },
	} {
		t.Run(name, func(t *testing.T) {
			withStorage(t, &storage{}, func(t *testing.T, w *harness) {
				rule := fixture.Rule("claims", snapshotting)
				prevent(w, rule)
				w.use(rule)
				w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
				bubble.Pass(time.Hour)
				expect.Equal(t, "created", 0, len(w.storage.created))
				expect.Equal(t, "removed", []string{}, w.removed())
			})
		})
	}
}

// TestSnapshotsInProgressAreBounded: at most MaxSnapshots of a policy are in progress, and all claims are deleted in the end.
func TestSnapshotsInProgressAreBounded(t *testing.T) {
	withStorage(t, &storage{takes: 10 * time.Minute}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("claims", snapshotting))
		w.sourceOf(policy.ClaimKind).list(rows("data-", 3*retention.MaxSnapshots, w.began.Add(-time.Hour))...)
		bubble.Pass(5 * time.Minute)
		expect.Equal(t, "created", retention.MaxSnapshots, len(w.storage.created))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", 3*retention.MaxSnapshots, len(w.removed()))
		expect.Equal(t, "created at the end", 3*retention.MaxSnapshots, len(w.storage.created))
	})
}

// TestRefusedClaimsDoNotPileUpSnapshots: claims that cannot be deleted have at most MaxSnapshots ready in their namespace, and do not hold up
// other namespaces.
func TestRefusedClaimsDoNotPileUpSnapshots(t *testing.T) {
	withStorage(t, &storage{takes: time.Minute}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("claims", snapshotting))
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			if p.Subject().Namespace == "team-a" {
				return retention.Outcome{Result: retention.Refused, Err: errors.New("denied")}
			}
			return retention.Outcome{Result: retention.Removed}
		})
		refused := rows("data-", 5*retention.MaxSnapshots, w.began.Add(-time.Hour))
		others := rows("other-", 3*retention.MaxSnapshots, w.began.Add(-time.Hour), in("team-b"))
		w.sourceOf(policy.ClaimKind).list(append(refused, others...)...)
		bubble.Pass(12 * time.Hour)
		created := map[bool]int{}
		for _, name := range w.storage.created {
			created[strings.HasPrefix(name, "other-")]++
		}
		expect.Equal(t, "created", map[bool]int{false: retention.MaxSnapshots, true: 3 * retention.MaxSnapshots}, created)
	})
}

// TestSnapshotOutlastsClosedWindows: a VolumeSnapshot that becomes ready after a window is used in the next one, a week later.
func TestSnapshotOutlastsClosedWindows(t *testing.T) {
	withStorage(t, &storage{takes: 3 * time.Hour}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("claims", snapshotting, opening("0 2 * * 0", 2*time.Hour)))
		w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
		bubble.Pass(15 * 24 * time.Hour)
		expect.Equal(t, "created", []string{"data"}, w.storage.created)
		expect.Equal(t, "removed", []string{"data"}, w.removed())
	})
}

// TestEditedSnapshotIsMadeAgain: after another VolumeSnapshotClass is set, an earlier VolumeSnapshot does not count.
func TestEditedSnapshotIsMadeAgain(t *testing.T) {
	withStorage(t, &storage{fails: fmt.Errorf("it %w: no class", policy.ErrSnapshotFailed)}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("claims", snapshotting))
		w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
		bubble.Pass(time.Hour)
		expect.Equal(t, "created", []string{"data"}, w.storage.created)
		w.storage.mu.Lock()
		w.storage.fails = nil
		w.storage.takes = 365 * 24 * time.Hour // the earlier one is never ready
		w.storage.mu.Unlock()
		w.use(fixture.Rule("claims", snapshotting, func(r *policy.Rule) { r.Snapshot.ClassName = "fast" }))
		bubble.Pass(time.Hour)
		expect.Equal(t, "created after the edit", []string{"data", "data"}, w.storage.created)
	})
}

// TestSnapshotIsReadRightBeforeTheDeletion: a snapshot that is deleted after the first check keeps the claim, and is made again.
func TestSnapshotIsReadRightBeforeTheDeletion(t *testing.T) {
	withStorage(t, &storage{}, func(t *testing.T, w *harness) {
		lost := 0
		w.prepared = func(policy.DeletePermit) {
			w.storage.mu.Lock()
			defer w.storage.mu.Unlock()
			if lost++; lost == 1 {
				clear(w.storage.made)
			}
		}
		w.use(fixture.Rule("claims", snapshotting))
		w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
		bubble.Pass(time.Hour)
		expect.Equal(t, "created", []string{"data", "data"}, w.storage.created)
		expect.Equal(t, "removed", []string{"data"}, w.removed())
	})
}

// TestSnapshotComesBeforeTheRecord: the version that is archived and deleted is the one after the snapshot.
func TestSnapshotComesBeforeTheRecord(t *testing.T) {
	withArchive(t, func(t *testing.T, w *harness, a *archiveFake) {
		w.storage = &storage{takes: time.Minute}
		w.use(fixture.Rule("claims", fixture.Archiving, snapshotting))
		claims := w.sourceOf(policy.ClaimKind)
		claims.list(row("data", w.began.Add(-time.Hour)))
		bubble.Pass(30 * time.Second)
		expect.Equal(t, "records before the snapshot", 0, len(a.recorded))
		claims.apply(row("data", w.began.Add(-time.Hour), version(2))) // the snapshot controller adds its finalizer
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "results", []string{"data@2 removed"}, a.finished)
		expect.Equal(t, "created", []string{"data"}, w.storage.created)
	})
}

// TestSnapshotOfAnotherProcessDoesNotCount: a Pod may have used the claim while no process looked, so each process takes its own.
func TestSnapshotOfAnotherProcessDoesNotCount(t *testing.T) {
	made := &storage{}
	for _, want := range []int{1, 2} {
		withStorage(t, made, func(t *testing.T, w *harness) {
			if made.fails = nil; want == 1 {
				made.fails = fmt.Errorf("it %w", policy.ErrSnapshotPending)
			} else {
				bubble.Pass(time.Minute) // the next process begins later
			}
			w.use(fixture.Rule("claims", snapshotting))
			w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
			bubble.Pass(30 * time.Second)
			expect.Equal(t, "created", want, len(made.created))
			expect.Equal(t, "removed", want-1, len(w.removed()))
		})
	}
}

// TestSnapshotThatIsOldIsMadeAgain: at the deletion, half of retain is left.
func TestSnapshotThatIsOldIsMadeAgain(t *testing.T) {
	withStorage(t, &storage{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("claims", snapshotting, func(r *policy.Rule) { r.Snapshot.Retain = 2 * time.Hour }))
		w.check = func(string) error {
			if len(w.storage.created) > 0 && w.clock.Now().Sub(w.began) < 3*time.Hour {
				return errors.New("closed")
			}
			return nil
		}
		w.sourceOf(policy.ClaimKind).list(row("data", w.began.Add(-time.Hour)))
		bubble.Pass(30 * time.Minute)
		expect.Equal(t, "created", 1, len(w.storage.created))
		bubble.Pass(4 * time.Hour)
		expect.Equal(t, "removed", []string{"data"}, w.removed())
		if n := len(w.storage.created); n < 2 {
			t.Errorf("%d snapshots were made", n)
		}
	})
}

// TestSnapshotIsObserved: the Observer is informed of each VolumeSnapshot when it is created, and once if it is not ready for long.
func TestSnapshotIsObserved(t *testing.T) {
	failed := fmt.Errorf("it %w: no space", policy.ErrSnapshotFailed)
	for name, test := range map[string]struct {
		storage *storage
		want    []string
	}{
		"ready soon":              {&storage{takes: retention.SnapshotSlowAfter - time.Minute}, []string{"data created"}},
		"ready after long":        {&storage{takes: 3 * retention.SnapshotSlowAfter}, []string{"data created", "data SnapshotPending"}},
		"the response is lost":    {&storage{takes: retention.SnapshotSlowAfter - time.Minute, loses: 1}, []string{"data created"}},
		"lost, and ready at once": {&storage{loses: 1}, []string{"data created"}},
		"lost, and slow":          {&storage{takes: 3 * retention.SnapshotSlowAfter, loses: 1}, []string{"data created", "data SnapshotPending"}},
		"lost, and failed":        {&storage{fails: failed, loses: 1}, []string{"data created", "data SnapshotFailed"}},
		"failed":                  {&storage{fails: failed}, []string{"data created", "data SnapshotFailed"}},
		"not possible":            {&storage{down: errors.New("no CRD")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.storage
			withStorage(t, s, func(t *testing.T, w *harness) {
				w.listedBy(fixture.Rule("claims", snapshotting), row("data", w.began.Add(-time.Hour)))
				bubble.Pass(retention.SnapshotSlowAfter - 2*time.Minute)
				expect.Equal(t, "early", test.want[:min(len(test.want), 1)], s.told)
				bubble.Pass(4 * retention.SnapshotSlowAfter)
				expect.Equal(t, "told", test.want, s.told)
			})
		})
	}
}

// TestFailureIsReportedWhileOthersAreInProgress: the reason of a claim whose VolumeSnapshot has failed is that failure, also if no other
// claim may have a VolumeSnapshot.
func TestFailureIsReportedWhileOthersAreInProgress(t *testing.T) {
	s := &storage{takes: 24 * time.Hour, of: "bad", fails: fmt.Errorf("it %w: no space", policy.ErrSnapshotFailed)}
	withStorage(t, s, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("claims", snapshotting))
		others := rows("data-", retention.MaxSnapshots, w.began.Add(5*time.Minute-time.Hour))
		w.sourceOf(policy.ClaimKind).list(append(others, row("bad", w.began.Add(-time.Hour)))...)
		bubble.Pass(retention.SnapshotSlowAfter + 4*time.Minute)
		expect.Equal(t, "created", retention.MaxSnapshots+1, len(s.created))
		expect.Equal(t, "the last notice", "bad SnapshotFailed", s.told[len(s.told)-1])
		for _, k := range w.Kinds() {
			expect.Equal(t, "delays", []string{"bad SnapshotFailed", "data-00000 SnapshotPending"}, reasonsOf(k.Delays(w.clock.Now())))
		}
	})
}

func reasonsOf(delays []retention.Delay) (all []string) {
	for _, d := range delays {
		all = append(all, d.Name+" "+d.Reason)
	}
	return all
}
