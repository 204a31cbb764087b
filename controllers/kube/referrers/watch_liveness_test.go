// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// listed runs a test with Pods that have been listed and watched for some seconds.
func listed(t *testing.T, test func(w *harness)) {
	t.Helper()
	for way, streams := range map[string]bool{"streamed": true, "page by page": false} {
		t.Run(way, func(t *testing.T) {
			s := newServer(streams)
			s.objects[pathOf(fixture.Pods)] = []string{mounting("a", "site")}
			watching(t, s, func(w *harness) {
				w.Use(nil, configMaps)
				bubble.Pass(2 * time.Second)
				w.expectUses("listed", site, 1)
				w.index.Take()
				w.asked("")
				// A watch that ends without an event counts as broken.
				w.event(fixture.Pods, "MODIFIED", mounting("a", "site"))
				test(w)
			})
		})
	}
}

// TestEndOfAWatchIsNoLoss: the next watch continues where the last one ended.
func TestEndOfAWatchIsNoLoss(t *testing.T) {
	listed(t, func(w *harness) {
		_ = w.watchOf(fixture.Pods).Close()
		bubble.Pass(30 * time.Second)
		expect.Equal(w.t, "wavered", false, w.wavered(references.ConfigMap))
		requests := w.asked(pathOf(fixture.Pods))
		expect.Equal(w.t, "requests", 1, len(requests))
		expect.Equal(w.t, "resourceVersion", "101", requests[0].URL.Query().Get("resourceVersion"))
		w.event(fixture.Pods, "ADDED", mounting("b", "site"))
		w.expectUses("after an event on the next watch", site, 2)
	})
}

// TestWatchThatExpiredIsRelisted: references become unknown only if the new listing fails or takes long.
func TestWatchThatExpiredIsRelisted(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.objects[pathOf(fixture.Pods)] = []string{mounting("b", "other")} })
		w.event(fixture.Pods, "ERROR", answer.StatusText(410))
		bubble.Pass(2 * time.Second)
		expect.Equal(w.t, "wavered", false, w.wavered(references.ConfigMap))
		w.expectUses("listed again", site, 0)
		w.event(fixture.Pods, "MODIFIED", mounting("b", "other"))

		w.change(func() { w.fails[pathOf(fixture.Pods)] = 500 })
		w.event(fixture.Pods, "ERROR", answer.StatusText(410))
		bubble.Pass(2 * time.Second)
		w.expectDoubt("not listed", references.ConfigMap, "Pod: cannot list and watch pods")
		w.change(func() { w.fails[pathOf(fixture.Pods)] = 0 })
		bubble.Pass(20 * time.Second)
		w.expectUses("after a successful retry", site, 0)
	})
}

// TestEventNobodyUnderstandsIsALoss: the references of the object are unknown until a listing can be read.
func TestEventNobodyUnderstandsIsALoss(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.objects[pathOf(fixture.Pods)] = []string{`{"metadata":{"name":"b"}}`} })
		w.event(fixture.Pods, "ADDED", `{"metadata":{"name":"b"}}`)
		w.expectDoubt("at once", references.ConfigMap, "Pod /b has no name or no UID")
		bubble.Pass(5 * time.Second)
		w.expectDoubt("listed again", references.ConfigMap, "has no name or no UID")
		w.change(func() { w.objects[pathOf(fixture.Pods)] = []string{mounting("b", "site")} })
		bubble.Pass(20 * time.Second)
		w.expectUses("fixed", site, 1)
	})
}

// TestServerThatIsGone: the watcher retries until the server is back, and the references are unknown until then.
func TestServerThatIsGone(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.broken[pathOf(fixture.Pods)] = true })
		_ = w.watchOf(fixture.Pods).Close()
		bubble.Pass(4 * time.Second)
		expect.Equal(w.t, "wavered at once", false, w.wavered(references.ConfigMap))
		bubble.Pass(4 * time.Second)
		// The reason depends on the time of the last retry.
		w.expectDoubt("after some seconds", references.ConfigMap, "the watch has been interrupted for", "connection refused")
		w.asked("")
		w.change(func() {
			w.broken[pathOf(fixture.Pods)] = false
			w.objects[pathOf(fixture.Pods)] = nil
		})
		bubble.Pass(2 * time.Minute)
		w.expectUses("listed again", site, 0)
	})
}

// TestWatchThatOpensLate: if the references became unknown until a watch is open, the kind is listed again at once.
func TestWatchThatOpensLate(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.delays = map[string]time.Duration{pathOf(fixture.Pods): 8 * time.Second} })
		_ = w.watchOf(fixture.Pods).Close()
		bubble.Pass(7 * time.Second)
		w.expectDoubt("before it is open", references.ConfigMap, "the watch has been interrupted for")
		w.change(func() { w.delays = nil })
		bubble.Pass(20 * time.Second)
		expect.Equal(w.t, "wavered", true, w.wavered(references.ConfigMap))
		w.expectUses("listed again", site, 1)
	})
}

// TestWatchThatIsFrozen: only missing bookmarks distinguish a frozen watch from a watch without events.
func TestWatchThatIsFrozen(t *testing.T) {
	listed(t, func(w *harness) {
		frozen := w.watchOf(fixture.Pods)
		bubble.Pass(20 * time.Minute)
		expect.Equal(w.t, "wavered with bookmarks", false, w.wavered(references.ConfigMap))
		w.change(func() {
			w.objects[pathOf(fixture.Pods)] = nil
			w.quiet[pathOf(fixture.Pods)] = true
		})
		bubble.Pass(time.Minute)
		expect.Equal(w.t, "wavered soon", false, w.wavered(references.ConfigMap))
		bubble.Pass(time.Minute)
		expect.Equal(w.t, "wavered", true, w.wavered(references.ConfigMap))
		expect.Equal(w.t, "ended", true, frozen.ctx.Err() != nil)
		w.expectUses("listed again", site, 0)
	})
}

// TestWatchWithoutBookmarksLastsLonger: some servers send no bookmarks, but every server ends a watch after the requested time.
func TestWatchWithoutBookmarksLastsLonger(t *testing.T) {
	s := newServer(false)
	s.quiet[pathOf(fixture.Pods)] = true
	watching(t, s, func(w *harness) {
		w.Use(nil, configMaps)
		bubble.Pass(time.Second)
		w.index.Take()
		quiet := w.watchOf(fixture.Pods)
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "wavered within ten minutes", false, w.wavered(references.ConfigMap))
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "wavered", true, w.wavered(references.ConfigMap))
		expect.Equal(t, "ended", true, quiet.ctx.Err() != nil)
		w.expectUses("listed again", site, 0)
	})
}

// TestListingThatIsFrozen: the watcher ends a frozen listing and retries.
func TestListingThatIsFrozen(t *testing.T) {
	for way, streams := range map[string]bool{"streamed": true, "page by page": false} {
		t.Run(way, func(t *testing.T) {
			s := newServer(streams)
			s.frozen[pathOf(fixture.Pods)] = true
			watching(t, s, func(w *harness) {
				w.Use(nil, configMaps)
				bubble.Pass(time.Minute)
				w.expectDoubt("frozen", references.ConfigMap, "Pod: it has not been listed yet")
				w.change(func() { w.frozen[pathOf(fixture.Pods)] = false })
				bubble.Pass(4 * time.Minute)
				w.expectUses("after a retry", site, 0)
			})
		})
	}
}

// paused reports whether the references to ConfigMaps may be out of date.
func (w *harness) paused() bool { return w.index.Paused(references.ConfigMap) != nil }

// TestWatchLivenessWithoutAWatch: without a watch, the kind is paused but not in doubt. It stays paused while a new watch may
// still send earlier events.
func TestWatchLivenessWithoutAWatch(t *testing.T) {
	listed(t, func(w *harness) {
		bubble.Pass(time.Second)
		expect.Equal(w.t, "paused while watched", false, w.paused())
		w.change(func() { w.broken[pathOf(fixture.Pods)] = true })
		_ = w.watchOf(fixture.Pods).Close()
		synctest.Wait()
		expect.Equal(w.t, "paused at once", true, w.paused())
		bubble.Pass(500 * time.Millisecond) // before the retry
		w.change(func() { w.broken[pathOf(fixture.Pods)] = false })
		for w.watchOf(fixture.Pods) == nil {
			bubble.Pass(100 * time.Millisecond)
		}
		expect.Equal(w.t, "paused when the new watch is open", true, w.paused())
		bubble.Pass(2 * time.Second)
		expect.Equal(w.t, "paused when the new watch has settled", false, w.paused())
		expect.Equal(w.t, "wavered", false, w.wavered(references.ConfigMap))
	})
}

// TestNewWatchSettles: a new watch begins with earlier events.
func TestNewWatchSettles(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use(nil, configMaps)
		bubble.Pass(500 * time.Millisecond)
		w.expectUses("listed", site, 0)
		expect.Equal(t, "paused", true, w.paused())
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "paused when it has settled", false, w.paused())
	})
}

// TestWatchThatEndsAtOnceIsNone: watches that end at once do not count, even if there are many.
func TestWatchThatEndsAtOnceIsNone(t *testing.T) {
	s := newServer(false)
	watching(t, s, func(w *harness) {
		w.Use(nil, configMaps)
		bubble.Pass(4 * time.Second)
		w.expectUses("watched", site, 0)
		w.change(func() { w.expires[pathOf(fixture.Pods)] = true })
		_ = w.watchOf(fixture.Pods).Close()
		for range 40 {
			bubble.Pass(100 * time.Millisecond)
			expect.Equal(t, "paused", true, w.paused())
		}
		bubble.Pass(4 * time.Second)
		w.expectDoubt("never watched", references.ConfigMap, "the watch has been interrupted for")
		w.change(func() { w.expires[pathOf(fixture.Pods)] = false })
		bubble.Pass(time.Minute)
		w.expectUses("watched again", site, 0)
		expect.Equal(t, "paused after that", false, w.paused())
	})
}

// TestListingThatIsStreamedIsNoWatch: a streamed listing counts as a watch only when it is complete.
func TestListingThatIsStreamedIsNoWatch(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.frozen[pathOf(fixture.Pods)] = true })
		w.event(fixture.Pods, "ERROR", answer.StatusText(410))
		expect.Equal(w.t, "paused", true, w.paused())
		bubble.Pass(8 * time.Second)
		w.expectDoubt("listed for long", references.ConfigMap, "the watch has been interrupted for")
	})
}

// TestWatchLivenessEnded: a source that has ended does not change a new source of the same name.
func TestWatchLivenessEnded(t *testing.T) {
	listed(t, func(w *harness) {
		for range 3 {
			w.Use(nil, nil)
			w.Use(nil, configMaps)
			bubble.Pass(3 * time.Second)
			w.expectUses("with a new source", site, 1)
			expect.Equal(w.t, "paused", false, w.paused())
		}
	})
}

// TestSleepIsALoss: after the machine was suspended or a clock was set, the age of the references is unknown.
func TestSleepIsALoss(t *testing.T) {
	for name, test := range map[string]struct {
		by   time.Duration
		want bool
	}{
		"the machine is suspended":            {20 * time.Second, true},
		"the clock is set back":               {-20 * time.Second, true},
		"the clock is set back by one second": {-time.Second, false},
		"the machine is busy":                 {2 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			listed(t, func(w *harness) {
				bubble.Pass(2 * time.Second)
				before, watch := w.index.Of(site).Since, w.watchOf(fixture.Pods)
				w.Set(test.by)
				bubble.Pass(1100 * time.Millisecond)
				expect.Equal(t, "wavered", test.want, w.wavered(references.ConfigMap))
				expect.Equal(t, "the watch has ended", test.want, watch.ctx.Err() != nil)
				bubble.Pass(10 * time.Second)
				w.expectUses("listed", site, 1)
				expect.Equal(t, "Since has changed", test.want, !w.index.Of(site).Since.Equal(before))
				expect.Equal(t, "paused", false, w.paused())
			})
		})
	}
}

// TestObjectThatTookTooLongIsReadAgain: the object may never change, and would make all references unknown until then.
func TestObjectThatTookTooLongIsReadAgain(t *testing.T) {
	listed(t, func(w *harness) {
		referrers.Late(w.Watcher, fixture.Pods)
		bubble.Pass(4 * time.Minute)
		w.expectDoubt("late", references.ConfigMap, "took too long")
		bubble.Pass(2 * time.Minute)
		w.expectUses("read again", site, 1)
		expect.Equal(w.t, "is watched", true, w.watchOf(fixture.Pods) != nil)
	})
}

// TestWatchThatTellsMoreThanCanBeReadIsBehind: the events that are read are old, and newer events are not known.
func TestWatchThatTellsMoreThanCanBeReadIsBehind(t *testing.T) {
	for name, test := range map[string]struct {
		each, every time.Duration
		behind      bool
	}{
		"a hundred events a second, read at once":     {100 * time.Microsecond, 10 * time.Millisecond, false},
		"reading takes a tenth of the time":           {time.Millisecond, 10 * time.Millisecond, false},
		"large objects, whose ends take long to find": {2 * time.Millisecond, 10 * time.Millisecond, true},
		"each event takes many seconds":               {15 * time.Second, 15 * time.Second, true},
		"reading takes nearly all of the time":        {9500 * time.Microsecond, 10 * time.Millisecond, true},
		"each event takes longer than a span":         {2 * time.Second, 2 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(fixture.Now)
			live := false
			c := referrers.OpenWatchLiveness(clock, func(is bool) { live = is })
			clock.Step(2 * time.Second)
			c.Settle()
			if !live {
				t.Fatal("not live without events")
			}
			events := func(span time.Duration, each time.Duration) {
				for begun := clock.Now(); clock.Since(begun) < span; clock.Step(test.every - min(each, test.every)) {
					c.Read(func() {
						for left := each; left > 0; left -= time.Second {
							clock.Step(min(left, time.Second))
							c.Settle()
							if test.behind && live && clock.Since(begun) > 3*time.Second {
								t.Fatal("live while an event is being read")
							}
						}
					})
					c.Settle()
				}
			}
			events(10*time.Second, test.each)
			if live == test.behind {
				t.Errorf("live %v, want %v", live, !test.behind)
			}
			events(5*time.Second, 0)
			for range 3 {
				clock.Step(time.Second)
				c.Settle()
			}
			if !live {
				t.Error("not live after it has caught up")
			}
			events(5*time.Second, test.each)
			clock.Step(3 * time.Second)
			c.Settle()
			clock.Step(3 * time.Second)
			c.Settle()
			if !live {
				t.Error("not live after the last event")
			}
		})
	}
}
