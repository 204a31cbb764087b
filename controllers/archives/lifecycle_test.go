// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

const recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

// encrypted encrypts the archive "history".
func encrypted(h *harness) {
	h.archives[0].Spec.Encryption = &v1alpha1.ArchiveEncryption{Recipients: []string{recipient}}
	h.stores["mem://history"].unreadable = true
}

// edit changes the RetentionArchive "history".
func (h *harness) edit(change func(*v1alpha1.ArchiveSpec)) {
	h.set(func() {
		h.archives[0].Generation++
		change(&h.archives[0].Spec)
	})
}

func TestInvalidEditKeepsTheEncryption(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ArchiveSpec){
		"invalid recipient": func(s *v1alpha1.ArchiveSpec) { s.Encryption.Recipients = []string{"age1nothing"} },
		"no recipients":     func(s *v1alpha1.ArchiveSpec) { s.Encryption, s.Retain = nil, "90x" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				b := h.stores["mem://history"]
				h.add(h.rule("p"), "one")
				bubble.Pass(time.Second)
				expect.Equal(t, "deleted", []string{"one"}, h.names())
				h.edit(change)
				bubble.Pass(6 * time.Second)
				expect.Equal(t, "ready", "False Invalid", h.condition("history", v1alpha1.ArchiveReady))
				h.end() // writes the result
				expect.Equal(t, "index objects", 1, b.count(archive.IndexPrefix))
				for _, object := range keys(b.data) {
					if !strings.HasSuffix(object, ".age") {
						t.Errorf("%s is not encrypted", object)
					}
				}
				h.begin()
			}, encrypted)
		})
	}
}

// count is the number of objects below a prefix.
func (b *bucket) count(prefix string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.data {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

// busy records an object whose DELETE the API server refuses for now, so that the receipt stays.
func (h *harness) busy(r *policy.Rule) (*subject, policy.Intent) {
	s := h.know(r, "one")
	h.set(func() {
		h.answer = func(*subject) *retention.Outcome { return &retention.Outcome{Result: retention.Busy, Err: errDown} }
	})
	s.attempt()
	bubble.Pass(time.Second)
	i, _ := s.Intent()
	return s, i
}

func TestReceiptsEndWithTheirRecipients(t *testing.T) {
	inBubble(t, func(h *harness) {
		s, i := h.busy(h.rule("p"))
		_, ok := h.Lookup(i, s.target)
		expect.Equal(t, "receipt", true, ok)
		h.edit(func(a *v1alpha1.ArchiveSpec) {
			a.Encryption = &v1alpha1.ArchiveEncryption{Recipients: []string{recipient}}
			h.stores["mem://history"].unreadable = true
		})
		bubble.Pass(6 * time.Second)
		_, ok = h.Lookup(i, s.target)
		expect.Equal(t, "receipt for a record without encryption", false, ok)
		h.set(func() { h.answer = nil })
		s.attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted", []string{"one"}, h.names())
		expect.Equal(t, "segments", 2, len(h.stores["mem://history"].segments()))
	})
}

func TestReceiptOfContentsIsShort(t *testing.T) {
	inBubble(t, func(h *harness) {
		s, i := h.busy(h.rule("p", func(r *policy.Rule) { r.Archive.Events = true }))
		bubble.Pass(50 * time.Second)
		_, ok := h.Lookup(i, s.target)
		expect.Equal(t, "receipt", true, ok)
		bubble.Pass(10 * time.Second)
		_, ok = h.Lookup(i, s.target)
		expect.Equal(t, "receipt after a minute", false, ok)
	})
}

func TestResultOfADeletionAfterItsReceiptExpired(t *testing.T) {
	inBubble(t, func(h *harness) {
		s, i := h.busy(h.rule("p"))
		bubble.Pass(time.Hour - 10*time.Second)
		_, ok := h.Lookup(i, s.target)
		expect.Equal(t, "receipt", true, ok)
		bubble.Pass(30 * time.Second)
		h.Finish(i, s.target, retention.Outcome{Result: retention.Removed})
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "results", map[string]archive.Result{"one": archive.Deleted}, h.results(h.stores["mem://history"]))
	})
}

func TestResultOfADeletionAfterItsArchiveEnded(t *testing.T) {
	inBubble(t, func(h *harness) {
		s, i := h.busy(h.rule("p"))
		_, ok := h.Lookup(i, s.target)
		expect.Equal(t, "receipt", true, ok)
		h.set(func() { h.archives = nil })
		bubble.Pass(6 * time.Second)
		_, ok = h.Lookup(i, s.target)
		expect.Equal(t, "receipt of an archive that does not exist", false, ok)
		h.Finish(i, s.target, retention.Outcome{Result: retention.Removed})
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "results", map[string]archive.Result{"one": archive.Deleted}, h.results(h.stores["mem://history"]))
	})
}

func TestNewRecipientsLoseNoResults(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		h.add(h.rule("p"), "one")
		bubble.Pass(4900 * time.Millisecond)
		h.edit(func(s *v1alpha1.ArchiveSpec) {
			s.Encryption = &v1alpha1.ArchiveEncryption{Recipients: []string{key.Recipient().String()}}
			b.unreadable = true
		})
		bubble.Pass(5 * time.Second)
		h.add(h.rule("p"), "two")
		bubble.Pass(30 * time.Second)
		expect.Equal(t, "deleted", []string{"one", "two"}, h.names())
		found, err := (&archive.Reader{Bucket: b, Identities: []age.Identity{key}}).Find(h.Context(), archive.Query{})
		expect.NoError(t, err)
		expect.Equal(t, "found", 2, len(found))
		for _, m := range found {
			expect.Equal(t, m.Name, archive.Deleted, m.Result)
			expect.Equal(t, m.Name+" is encrypted", m.Name == "two", strings.HasSuffix(m.Segment, ".age"))
		}
	})
}

func TestNewHoldStopsDeletions(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(9 * time.Second) // the first deletion is in flight
		h.edit(func(s *v1alpha1.ArchiveSpec) { s.LegalHolds = []string{"segments/1999/12/29/"} })
		bubble.Pass(time.Minute)
		expect.Equal(t, "segments", []string{"29", "30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "index", []string{"29", "30", "31"}, h.left(archive.IndexPrefix))
	}, retaining(), func(h *harness) { h.stores["mem://history"].slow = 4 * time.Second })
}

// check implements archives.Decider.Check.
func (h *harness) check(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.skewed
}

func TestClockThatMayBeWrong(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p")
		h.add(r, "one")
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "deleted", nil, h.names())
		expect.Equal(t, "segments", []string{"27", "28", "29", "30", "31"}, h.left(archive.SegmentPrefix))
		if err := h.Problem(r); !errors.Is(err, h.skewed) {
			t.Errorf("problem %v", err)
		}
		h.set(func() { h.skewed = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted when the clock is right", []string{"one"}, h.names())
		expect.Equal(t, "segments when the clock is right", []string{"30", "31", "01"}, h.left(archive.SegmentPrefix))
	}, retaining(), func(h *harness) { h.skewed = errors.New("clock skew") })
}

// TestSegmentOfAWrongDayIsNotWritten: its records would be removed when that day has passed. The clock is right again the next day.
func TestSegmentOfAWrongDayIsNotWritten(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.add(h.rule("p"), "one")
		bubble.Pass(time.Minute)
		day := time.Now().UTC().Format("02")
		bubble.Pass(24 * time.Hour)
		h.set(func() { h.skewed = nil })
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "deleted when the clock is right", []string{"one"}, h.names())
		if left := h.left(archive.SegmentPrefix); slices.Contains(left, day) {
			t.Errorf("segments of %v, although the clock was wrong on %s", left, day)
		}
	}, func(h *harness) { h.skewed = errors.New("clock skew") })
}

func TestIndexThatCannotBeWritten(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		bubble.Pass(time.Second)
		b.set(func() { b.refuse = refusingIndex })
		r := h.rule("p")
		s, i := h.busy(r)
		bubble.Pass(time.Minute)
		expect.Equal(t, "writable", "False Failed", h.condition("history", v1alpha1.ArchiveWritable))
		expect.Equal(t, "ready", "True Available", h.condition("history", v1alpha1.ArchiveReady))
		for range 50_000 {
			h.Finish(i, s.target, retention.Outcome{Unsure: true})
		}
		bubble.Pass(time.Minute)
		expect.Equal(t, "ready with a long backlog", "False ArchiveUnavailable", h.condition("history", v1alpha1.ArchiveReady))
		h.set(func() { h.answer = nil })
		h.add(r, "two")
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", nil, h.names())
		b.set(func() { b.refuse = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted when the index is written", []string{"two"}, h.names())
		expect.Equal(t, "ready when the index is written", "True Available", h.condition("history", v1alpha1.ArchiveReady))
	})
}

// TestIndexThatTheStoreNeverPermits: nothing is recorded, so that nothing is deleted whose record would never have a result.
func TestIndexThatTheStoreNeverPermits(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		bubble.Pass(time.Second)
		expect.Equal(t, "writable", "False Failed", h.condition("history", v1alpha1.ArchiveWritable))
		expect.Equal(t, "ready", "False ArchiveUnavailable", h.condition("history", v1alpha1.ArchiveReady))
		s := h.add(h.rule("p"), "one")[0]
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted", nil, h.names())
		if want := "AccessDenied"; !strings.Contains(s.problem(), want) {
			t.Errorf("problem %q, want %q", s.problem(), want)
		}
		b.set(func() { b.refuse = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "ready when it permits it", "True Available", h.condition("history", v1alpha1.ArchiveReady))
		expect.Equal(t, "deleted", []string{"one"}, h.names())
	}, func(h *harness) {
		h.stores["mem://history"].refuse = refusingIndex
	})
}

func refusingIndex(_, name string) (error, bool) {
	if strings.HasPrefix(name, archive.IndexPrefix) {
		return errDenied, false
	}
	return nil, true
}

func TestLedgerFindsOutWhatHappened(t *testing.T) {
	for name, test := range map[string]struct {
		gone bool
		want archive.Result
	}{
		"it is gone":    {true, archive.Gone},
		"it is changed": {false, archive.Kept},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after a crash: %t", name, crash), func(t *testing.T) {
				inBubble(t, func(h *harness) {
					b := h.stores["mem://history"]
					s, i := h.busy(h.rule("p", func(r *policy.Rule) { r.Archive.Events = true }))
					h.Finish(i, s.target, retention.Outcome{Unsure: true})
					bubble.Pass(15 * time.Minute)
					expect.Equal(t, "before", map[string]archive.Result{"one": archive.Unknown}, h.results(b))
					if crash {
						h.end()
						h.begin()
					}
					expect.NoError(t, h.Settled(h.Context(), "history", map[policy.Target]bool{s.target: test.gone}))
					expect.Equal(t, "results", map[string]archive.Result{"one": test.want}, h.results(b))
				})
			})
		}
	}
}

// TestSettledWithASlowStore: the ledger waits a few seconds, and the store needs longer. Then it asks again.
func TestSettledWithASlowStore(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		s, _ := h.busy(h.rule("p"))
		b.set(func() { b.slow = 5 * time.Second })
		settled := func() error {
			ctx, cancel := context.WithTimeout(h.Context(), 3*time.Second)
			defer cancel()
			return h.Settled(ctx, "history", map[policy.Target]bool{s.target: true})
		}
		if err := settled(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		bubble.Pass(30 * time.Second)
		expect.NoError(t, settled())
		expect.Equal(t, "results", map[string]archive.Result{"one": archive.Gone}, h.results(b))
		b.set(func() { b.slow = 0 })
	})
}

func TestSettledFails(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		s, _ := h.busy(h.rule("p"))
		all := map[policy.Target]bool{s.target: true}
		b.set(func() { b.refuse = func(string, string) (error, bool) { return errDown, false } })
		if err := h.Settled(h.Context(), "history", all); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
		b.set(func() { b.refuse = nil })
		expect.NoError(t, h.Settled(h.Context(), "history", all))
		expect.Equal(t, "results", map[string]archive.Result{"one": archive.Gone}, h.results(b))
		expect.NoError(t, h.Settled(h.Context(), "deleted", all))
		h.end()
		h.unlisted = errDown
		h.begin()
		if err := h.Settled(h.Context(), "history", all); err == nil {
			t.Error("settled before the RetentionArchives are known")
		}
		h.set(func() { h.unlisted = nil })
	})
}

// TestResultIsWrittenBeforeTheDeletionCounts also has many deletions at once, a store that fails, and an archive that ends.
func TestResultIsWrittenBeforeTheDeletionCounts(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		var counted atomic.Int32
		add := func(n int, before func()) {
			s, i := h.busy(h.rule("p"))
			b.set(before)
			h.Finish(i, s.target, retention.Outcome{Result: retention.Removed})
			for range n {
				h.Written("history", func() {
					if got := h.results(b)["one"]; got != archive.Deleted && b.refuse == nil {
						t.Errorf("result %q", got)
					}
					counted.Add(1)
				})
			}
		}
		add(1, func() {})
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "counted after seconds", 1, counted.Load())
		h.Written("history", func() { counted.Add(1) })
		expect.Equal(t, "counted at once, because nothing waits", 2, counted.Load())
		add(200, func() {})
		bubble.Pass(100 * time.Millisecond)
		expect.Equal(t, "many, counted at once", 202, counted.Load())

		add(1, func() { b.refuse = func(string, string) (error, bool) { return errDown, false } })
		bubble.Pass(time.Minute)
		expect.Equal(t, "counted while the store fails", 202, counted.Load())
		h.set(func() { h.archives = nil })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "counted after the end of the archive", 203, counted.Load())
	})
}

// TestStatusWaitsForTheProbe: nothing is said about a store before it was tried.
func TestStatusWaitsForTheProbe(t *testing.T) {
	inBubble(t, func(h *harness) {
		ready := func() string { return h.condition("history", v1alpha1.ArchiveReady) }
		bubble.Pass(time.Second)
		expect.Equal(t, "ready before the first probe ends", "", ready())
		bubble.Pass(time.Minute)
		expect.Equal(t, "ready", "True Available", ready())
		observed := func() (generation int64) {
			h.set(func() { generation = h.statuses["history"].ObservedGeneration })
			return generation
		}
		before := observed()
		h.edit(func(s *v1alpha1.ArchiveSpec) { s.Retain = "90d" })
		bubble.Pass(time.Second)
		expect.Equal(t, "generation before the probe ends", before, observed())
		bubble.Pass(time.Minute)
		expect.Equal(t, "generation", before+1, observed())
	}, func(h *harness) {
		h.stores["mem://history"].slow = 5 * time.Second
	})
}
