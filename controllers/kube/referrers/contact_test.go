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

// listed runs a test with Pods that have been listed and watched for a while.
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

// TestTheEndOfAWatchIsNoLoss: it is taken up where it was.
func TestTheEndOfAWatchIsNoLoss(t *testing.T) {
	listed(t, func(w *harness) {
		_ = w.watchOf(fixture.Pods).Close()
		bubble.Pass(30 * time.Second)
		expect.Equal(w.t, "wavered", false, w.wavered(references.ConfigMap))
		requests := w.asked(pathOf(fixture.Pods))
		expect.Equal(w.t, "requests", 1, len(requests))
		expect.Equal(w.t, "goes on from", "101", requests[0].URL.Query().Get("resourceVersion"))
		w.event(fixture.Pods, "ADDED", mounting("b", "site"))
		w.expectUses("goes on", site, 2)
	})
}

// TestAWatchThatExpiredIsListedAnew: that is a loss only if the listing fails, or takes long.
func TestAWatchThatExpiredIsListedAnew(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.objects[pathOf(fixture.Pods)] = []string{mounting("b", "other")} })
		w.event(fixture.Pods, "ERROR", answer.StatusText(410))
		bubble.Pass(2 * time.Second)
		expect.Equal(w.t, "wavered", false, w.wavered(references.ConfigMap))
		w.expectUses("listed anew", site, 0)
		w.event(fixture.Pods, "MODIFIED", mounting("b", "other"))

		w.change(func() { w.fails[pathOf(fixture.Pods)] = 500 })
		w.event(fixture.Pods, "ERROR", answer.StatusText(410))
		bubble.Pass(2 * time.Second)
		w.expectDoubt("not listed", references.ConfigMap, "Pod: cannot list and watch pods")
		w.change(func() { w.fails[pathOf(fixture.Pods)] = 0 })
		bubble.Pass(20 * time.Second)
		w.expectUses("listed in the end", site, 0)
	})
}

// TestAnEventNobodyUnderstandsIsALoss: what the object refers to is not known until a listing can be read.
func TestAnEventNobodyUnderstandsIsALoss(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.objects[pathOf(fixture.Pods)] = []string{`{"metadata":{"name":"b"}}`} })
		w.event(fixture.Pods, "ADDED", `{"metadata":{"name":"b"}}`)
		w.expectDoubt("at once", references.ConfigMap, "Pod /b has no name and UID")
		bubble.Pass(5 * time.Second)
		w.expectDoubt("listed anew", references.ConfigMap, "has no name and UID")
		w.change(func() { w.objects[pathOf(fixture.Pods)] = []string{mounting("b", "site")} })
		bubble.Pass(20 * time.Second)
		w.expectUses("mended", site, 1)
	})
}

// TestAServerThatIsGone: the watch is tried again for as long as it takes, and meanwhile nobody knows what happens.
func TestAServerThatIsGone(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.broken[pathOf(fixture.Pods)] = true })
		_ = w.watchOf(fixture.Pods).Close()
		bubble.Pass(4 * time.Second)
		expect.Equal(w.t, "wavered at once", false, w.wavered(references.ConfigMap))
		bubble.Pass(4 * time.Second)
		// Which of both is told depends on when it was tried again last.
		w.expectDoubt("after some seconds", references.ConfigMap, "has not been watched for", "connection refused")
		w.asked("")
		w.change(func() {
			w.broken[pathOf(fixture.Pods)] = false
			w.objects[pathOf(fixture.Pods)] = nil
		})
		bubble.Pass(2 * time.Minute)
		w.expectUses("listed anew", site, 0)
	})
}

// TestAWatchThatIsFrozen: nothing tells it from one to which nothing happens, but for the bookmarks that do not come.
func TestAWatchThatIsFrozen(t *testing.T) {
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
		w.expectUses("listed anew", site, 0)
	})
}

// TestAWatchWithoutBookmarksLastsLonger: not every server sends them, but each ends a watch when it was asked to.
func TestAWatchWithoutBookmarksLastsLonger(t *testing.T) {
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
		w.expectUses("listed anew", site, 0)
	})
}

// TestAListingThatIsFrozen is given up.
func TestAListingThatIsFrozen(t *testing.T) {
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
				w.expectUses("given up", site, 0)
			})
		})
	}
}

// paused reports whether what refers to ConfigMaps may be out of date.
func (w *harness) paused() bool { return w.index.Paused(references.ConfigMap) != nil }

// TestWithoutAWatchNothingIsTold: that is no doubt, and nothing goes by what was known, nor while a new watch may still tell
// what happened before.
func TestWithoutAWatchNothingIsTold(t *testing.T) {
	listed(t, func(w *harness) {
		bubble.Pass(time.Second)
		expect.Equal(w.t, "paused while watched", false, w.paused())
		w.change(func() { w.broken[pathOf(fixture.Pods)] = true })
		_ = w.watchOf(fixture.Pods).Close()
		synctest.Wait()
		expect.Equal(w.t, "paused at once", true, w.paused())
		expect.Equal(w.t, "Secrets are, which Pods name too", true, w.index.Paused(references.Secret) != nil)
		bubble.Pass(500 * time.Millisecond) // sooner than it is tried again
		w.change(func() { w.broken[pathOf(fixture.Pods)] = false })
		for w.watchOf(fixture.Pods) == nil {
			bubble.Pass(100 * time.Millisecond)
		}
		expect.Equal(w.t, "paused when it is watched again", true, w.paused())
		bubble.Pass(2 * time.Second)
		expect.Equal(w.t, "paused then", false, w.paused())
		expect.Equal(w.t, "wavered", false, w.wavered(references.ConfigMap))
	})
}

// TestANewWatchSettles: it begins with what happened before.
func TestANewWatchSettles(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use(nil, configMaps)
		bubble.Pass(500 * time.Millisecond)
		w.expectUses("listed", site, 0)
		expect.Equal(t, "paused", true, w.paused())
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "paused when it has settled", false, w.paused())
	})
}

// TestAWatchThatEndsAtOnceIsNone, however often it is opened.
func TestAWatchThatEndsAtOnceIsNone(t *testing.T) {
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
		w.expectDoubt("never watched", references.ConfigMap, "has not been watched for")
		w.change(func() { w.expires[pathOf(fixture.Pods)] = false })
		bubble.Pass(time.Minute)
		w.expectUses("watched again", site, 0)
		expect.Equal(t, "paused in the end", false, w.paused())
	})
}

// TestAListingThatIsStreamedIsNoWatch until it is complete.
func TestAListingThatIsStreamedIsNoWatch(t *testing.T) {
	listed(t, func(w *harness) {
		w.change(func() { w.frozen[pathOf(fixture.Pods)] = true })
		w.event(fixture.Pods, "ERROR", answer.StatusText(410))
		expect.Equal(w.t, "paused", true, w.paused())
		bubble.Pass(8 * time.Second)
		w.expectDoubt("listed for long", references.ConfigMap, "has not been watched for")
	})
}

// TestWhoHasEndedTellsNothing of the source that has its name by then.
func TestWhoHasEndedTellsNothing(t *testing.T) {
	listed(t, func(w *harness) {
		for range 3 {
			w.Use(nil, nil)
			w.Use(nil, configMaps)
			bubble.Pass(3 * time.Second)
			w.expectUses("anew", site, 1)
			expect.Equal(w.t, "paused", false, w.paused())
		}
	})
}

// TestASleepIsALoss, of the machine or by a clock that is set: nobody can tell since when something is as it is.
func TestASleepIsALoss(t *testing.T) {
	for name, test := range map[string]struct {
		by   time.Duration
		want bool
	}{
		"it sleeps":                    {20 * time.Second, true},
		"a clock is set back":          {-20 * time.Second, true},
		"a clock is set back a little": {-time.Second, false},
		"the machine is busy":          {2 * time.Second, false},
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
				expect.Equal(t, "is known anew", test.want, !w.index.Of(site).Since.Equal(before))
				expect.Equal(t, "paused", false, w.paused())
			})
		})
	}
}

// TestAnObjectThatTookTooLongIsReadAgain: perhaps nobody ever changes it, and it makes everything doubtful.
func TestAnObjectThatTookTooLongIsReadAgain(t *testing.T) {
	listed(t, func(w *harness) {
		referrers.Late(w.Watcher, fixture.Pods)
		bubble.Pass(4 * time.Minute)
		w.expectDoubt("late", references.ConfigMap, "took too long")
		bubble.Pass(2 * time.Minute)
		w.expectUses("read again", site, 1)
		expect.Equal(w.t, "is watched", true, w.watchOf(fixture.Pods) != nil)
	})
}

// TestAWatchThatTellsMoreThanCanBeReadIsBehind: what is read was told some time ago, and what has been told since is not known.
func TestAWatchThatTellsMoreThanCanBeReadIsBehind(t *testing.T) {
	for name, test := range map[string]struct {
		each, every time.Duration
		behind      bool
	}{
		"a hundred events a second, read at once":    {100 * time.Microsecond, 10 * time.Millisecond, false},
		"a tenth of the time":                        {time.Millisecond, 10 * time.Millisecond, false},
		"large ones, most of it to find their ends":  {2 * time.Millisecond, 10 * time.Millisecond, true},
		"events that take many seconds each":         {15 * time.Second, 15 * time.Second, true},
		"nearly all of the time":                     {9500 * time.Microsecond, 10 * time.Millisecond, true},
		"one event that takes longer than the other": {2 * time.Second, 2 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(fixture.Now)
			live := false
			c := referrers.OpenContact(clock, func(is bool) { live = is })
			clock.Step(2 * time.Second)
			c.Settle()
			if !live {
				t.Fatal("not live though nothing comes")
			}
			events := func(span time.Duration, each time.Duration) {
				for begun := clock.Now(); clock.Since(begun) < span; clock.Step(test.every - min(each, test.every)) {
					c.Read(func() {
						for left := each; left > 0; left -= time.Second {
							clock.Step(min(left, time.Second))
							c.Settle()
							if test.behind && live && clock.Since(begun) > 3*time.Second {
								t.Fatal("live while it is being read")
							}
						}
					})
					c.Settle()
				}
			}
			events(10*time.Second, test.each)
			if live == test.behind {
				t.Errorf("live: %v", live)
			}
			events(5*time.Second, 0)
			for range 3 {
				clock.Step(time.Second)
				c.Settle()
			}
			if !live {
				t.Error("not live once it has caught up")
			}
			events(5*time.Second, test.each)
			clock.Step(3 * time.Second)
			c.Settle()
			clock.Step(3 * time.Second)
			c.Settle()
			if !live {
				t.Error("not live once nothing comes any more")
			}
		})
	}
}
