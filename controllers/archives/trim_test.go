// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// retaining has records of the five days before the test, which begins on 2000-01-01, in an archive that retains them for two days.
func retaining(change ...func(*v1alpha1.RetentionArchive, *bucket)) func(*harness) {
	return func(h *harness) {
		a, b := &h.archives[0], h.stores["mem://history"]
		for day := 27; day <= 31; day++ {
			at := time.Date(1999, 12, day, 12, 0, 0, 0, time.UTC)
			o := h.server.put(jobs, fmt.Sprintf("day-%d", day), "")
			builder, index := archive.NewBuilder(), archive.NewIndexer(b)
			_, err := builder.Add(audit.ObjectOf(o.target()), archive.Record{ArchivedAt: at, Object: o.json(false)})
			expect.NoError(h, err)
			s, err := builder.Seal(at)
			expect.NoError(h, err)
			expect.NoError(h, b.Write(context.Background(), s.Name, s.Data))
			index.Add(s)
			expect.NoError(h, index.Flush(context.Background(), at))
		}
		a.Spec.Retain = "2d"
		for _, c := range change {
			c(a, b)
		}
	}
}

// left are the days of which the archive has objects.
func (h *harness) left(prefix string) (days []string) {
	for e, err := range h.stores["mem://history"].List(h.Context(), prefix) {
		expect.NoError(h, err)
		days = append(days, strings.Split(e.Name, "/")[3])
	}
	return slices.Compact(days)
}

func TestRetain(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "segments", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "index", []string{"30", "31"}, h.left(archive.IndexPrefix))
	}, retaining())
}

func TestRetainWaitsForTheEndOfTheDay(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(23 * time.Hour)
		expect.Equal(t, "segments", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "segments", []string{"31"}, h.left(archive.SegmentPrefix))
	}, retaining())
}

func TestRetainRespectsHolds(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "segments", []string{"28", "30", "31"}, h.left(archive.SegmentPrefix))
	}, retaining(func(a *v1alpha1.RetentionArchive, _ *bucket) { a.Spec.LegalHolds = []string{"segments/1999/12/28/"} }))
}

// TestRetainDoesNotRelyOnACache: a change that only the API server has ends the deletions within a second.
func TestRetainDoesNotRelyOnACache(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*harness)
		want   []string
	}{
		"a legal hold": {func(h *harness) {
			h.archives[0].Generation, h.archives[0].Spec.LegalHolds = 2, []string{"segments/1999/12/28/"}
		}, []string{"28", "30", "31"}},
		"a longer retain": {func(h *harness) { h.archives[0].Generation, h.archives[0].Spec.Retain = 2, "30d" }, []string{"27", "28", "29", "30", "31"}},
		"another archive there": {func(h *harness) {
			younger := h.archives[0]
			younger.Name, younger.UID = "younger", "uid-younger"
			h.archives = append(h.archives, younger)
		}, []string{"27", "28", "29", "30", "31"}},
		"deleted": {func(h *harness) { h.archives = nil }, []string{"27", "28", "29", "30", "31"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				bubble.Pass(time.Minute)
				expect.Equal(t, "segments while the cache is behind", []string{"27", "28", "29", "30", "31"}, h.left(archive.SegmentPrefix))
				h.set(func() { h.cached = nil })
				bubble.Pass(2 * time.Hour)
				expect.Equal(t, "segments", test.want, h.left(archive.SegmentPrefix))
			}, retaining(), func(h *harness) {
				h.cached = slices.Clone(h.archives)
				test.change(h)
			})
		})
	}
}

func TestStoreRefusesToDelete(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "segments", []string{"27", "30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "deletable", "False Failed", h.condition("history", v1alpha1.ArchiveDeletable))
		expect.Equal(t, "ready", "True Available", h.condition("history", v1alpha1.ArchiveReady))
		b := h.stores["mem://history"]
		b.set(func() { b.refuse = nil })
		bubble.Pass(26 * time.Hour)
		expect.Equal(t, "segments after the lock", []string{"31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "deletable after the lock", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
	}, retaining(locked))
}

// TestRefusedDaysOfAnotherSpec: after a change of the spec, the condition and the metric no longer report days that Sunset need not delete.
func TestRefusedDaysOfAnotherSpec(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ArchiveSpec){
		"without retain":    func(s *v1alpha1.ArchiveSpec) { s.Retain = "" },
		"a longer retain":   func(s *v1alpha1.ArchiveSpec) { s.Retain = "30d" },
		"with a hold on it": func(s *v1alpha1.ArchiveSpec) { s.LegalHolds = []string{"segments/1999/12/27/"} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				bubble.Pass(20 * time.Second)
				expect.Equal(t, "deletable before", "False Failed", h.condition("history", v1alpha1.ArchiveDeletable))
				expect.Equal(t, "refused days before", 1.0, refusedDays(t))
				h.set(func() {
					h.archives[0].Generation = 2
					change(&h.archives[0].Spec)
				})
				bubble.Pass(20 * time.Second)
				expect.Equal(t, "deletable", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
				expect.Equal(t, "refused days", 0.0, refusedDays(t))
			}, retaining(locked))
		})
	}
}

// refusedDays is what the only archive exports.
func refusedDays(t *testing.T) float64 { return exported(t, metrics.ArchiveRefused) }

// exported is the value of a metric of the only archive.
func exported(t *testing.T, metric prometheus.Collector) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(metric)
	all := scrape.Of(t, r)
	return all[slices.Min(slices.Collect(maps.Keys(all)))] // other tests may have left more
}

// TestRetainKeepsUp: as many segments as a worker writes in an hour are deleted in half of that.
func TestRetainKeepsUp(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(time.Minute)
		expect.Equal(t, "hours after retain", 48, int(exported(t, metrics.ArchiveExpired)/3600))
		bubble.Pass(29 * time.Minute)
		expect.Equal(t, "segments", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "after retain", 0.0, exported(t, metrics.ArchiveExpired))
		expect.Equal(t, "deletable", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
	}, retaining(many))
}

// many has 20,000 more segments in the first day, and a store that needs some time for each request.
func many(_ *v1alpha1.RetentionArchive, b *bucket) {
	b.slow = 300 * time.Millisecond
	for n := range 20_000 {
		b.data[fmt.Sprintf("segments/1999/12/27/19991227T120000Z-%064x.jsonl.zst", n)] = nil
	}
}

// TestRetainAndRequestsThatFail: a request that fails now and then does not stop the deletion of a day. If all for a day fail, other
// days are deleted, and the condition and the metric say so.
func TestRetainAndRequestsThatFail(t *testing.T) {
	requests := 0
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "segments", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		b.set(func() {
			b.refuse = func(verb, _ string) (error, bool) {
				return map[bool]error{true: errDown}[verb == "delete"], verb != "delete"
			}
		})
		bubble.Pass(36 * time.Hour) // one more day has expired
		expect.Equal(t, "segments of the day", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "hours after retain", 12, int(exported(t, metrics.ArchiveExpired)/3600))
	}, retaining(func(_ *v1alpha1.RetentionArchive, b *bucket) {
		for n := range 100 {
			b.data[fmt.Sprintf("segments/1999/12/27/19991227T120000Z-%064x.jsonl.zst", n)] = nil
		}
		b.refuse = func(verb, name string) (error, bool) {
			if requests++; verb == "delete" && strings.HasPrefix(name, archive.SegmentPrefix) && requests%20 == 0 {
				return errDown, false
			}
			return nil, true
		}
	}))
}

// TestRetainThatIsLate: if objects of an expired day are still there after a day, the condition says why. Other days are deleted.
func TestRetainThatIsLate(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(23 * time.Hour)
		expect.Equal(t, "deletable", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "segments", []string{"27", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "deletable after a day", "False Failed", h.condition("history", v1alpha1.ArchiveDeletable))
		h.stores["mem://history"].set(func() { h.stores["mem://history"].refuse = nil })
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "deletable in the end", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
	}, retaining(func(_ *v1alpha1.RetentionArchive, b *bucket) {
		b.refuse = func(verb, name string) (error, bool) {
			if verb == "delete" && strings.HasPrefix(name, "segments/1999/12/27/") {
				return errDown, false
			}
			return nil, true
		}
	}))
}

// TestRetainNeedsAListing: if the archive cannot be listed, nothing is deleted, and the condition says so.
func TestRetainNeedsAListing(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deletable", "False Failed", h.condition("history", v1alpha1.ArchiveDeletable))
		h.stores["mem://history"].set(func() { h.stores["mem://history"].hidden = nil })
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "segments", []string{"30", "31"}, h.left(archive.SegmentPrefix))
		expect.Equal(t, "deletable in the end", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
	}, retaining(func(_ *v1alpha1.RetentionArchive, b *bucket) { b.hidden = errDown }))
}

// TestRefusedDayThatIsDeleted: as soon as the store no longer refuses, the condition says so. It does not wait for the next probe.
func TestRefusedDayThatIsDeleted(t *testing.T) {
	inBubble(t, func(h *harness) {
		bubble.Pass(20 * time.Second)
		b := h.stores["mem://history"]
		b.set(func() { b.refuse = nil })
		bubble.Pass(23 * time.Hour)
		for slices.Contains(h.left(archive.SegmentPrefix), "27") {
			bubble.Pass(time.Second)
		}
		bubble.Pass(time.Second)
		expect.Equal(t, "deletable", "True Succeeded", h.condition("history", v1alpha1.ArchiveDeletable))
	}, retaining(locked))
}

// locked makes a store refuse to delete the records of a day.
func locked(_ *v1alpha1.RetentionArchive, b *bucket) {
	b.refuse = func(verb, name string) (error, bool) {
		if verb == "delete" && strings.HasPrefix(name, "segments/1999/12/27/") {
			return fmt.Errorf("%s: %w", name, archive.ErrRefused), false
		}
		return nil, true
	}
}

func TestHoldsThatAreValid(t *testing.T) {
	for hold, ready := range map[string]string{
		"":                      "True Available",
		"seg":                   "True Available",
		"segments/2026/1":       "True Available",
		"index/2026/11/27/2026": "True Available",
		"parquet/month=2026-11/20261127-1of2-abc": "True Available",
		"/segments/2026/11/":                      "False Invalid",
		"segments/2026-11":                        "False Invalid",
		"cluster-1/segments/":                     "False Invalid",
		"2026/11/":                                "False Invalid",
	} {
		t.Run(hold, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				bubble.Pass(6 * time.Second)
				expect.Equal(t, "ready", ready, h.condition("history", v1alpha1.ArchiveReady))
			}, func(h *harness) { h.archives[0].Spec.LegalHolds = []string{hold} })
		})
	}
}
