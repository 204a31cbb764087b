// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// slow is a runtime in which removals take a time for each round and a time for each removal. It uses the time of the synctest
// bubble.
type slow struct {
	*testing.T
	*images.Batcher
	look, all, each time.Duration
	podsStart       bool

	mu       sync.Mutex
	underWay int
	rounds   []int         // sizes of the rounds
	busy     time.Duration // time spent on removals
	looked   int
	lasts    int
}

const ms = time.Millisecond

// inBubble runs a test of a slow runtime.
func inBubble(t *testing.T, all, each time.Duration, test func(*slow)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{T: t, look: 10 * ms, all: all, each: each}
		s.Batcher = images.NewBatcher(clock.RealClock{}, func() { s.lasts++ })
		test(s)
		time.Sleep(10 * time.Second) // until all rests have ended
	})
}

// looks takes a snapshot and returns when the youngest Pod has started.
func (s *slow) looks() (youngest time.Time) {
	s.mu.Lock()
	s.looked++
	s.mu.Unlock()
	time.Sleep(s.look)
	if s.podsStart {
		youngest = time.Now().Add(-time.Second)
	}
	return youngest
}

func (s *slow) removes() {
	s.mu.Lock()
	s.underWay++
	s.mu.Unlock()
	time.Sleep(time.Nanosecond) // until all removals of the round have started
	s.mu.Lock()
	together := s.underWay
	s.mu.Unlock()
	took := s.all + s.each*time.Duration(together)
	time.Sleep(took)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay--; s.underWay == 0 {
		s.rounds = append(s.rounds, together)
		s.busy += took
	}
}

// drain removes n images with 16 workers and returns how long it took.
func (s *slow) drain(n int) time.Duration {
	s.Helper()
	began := time.Now()
	due := make(chan int, n)
	for i := range n {
		due <- i
	}
	close(due)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for range due {
				if err := s.Go(s.Context(), s.looks, s.removes); err != nil {
					s.Error(err)
				}
			}
		})
	}
	workers.Wait()
	return time.Since(began)
}

func TestRoundsAreAsWideAsTheRuntimeLikes(t *testing.T) {
	for name, test := range map[string]struct {
		all, each     time.Duration
		atLeast, most int // in each of the last rounds
	}{
		"all of the cost is shared":  {60 * ms, 1 * ms, 16, 16},
		"some of the cost is shared": {60 * ms, 90 * ms, 8, 16},
		"none of the cost is shared": {0, 150 * ms, 8, 16},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, test.all, test.each, func(s *slow) {
				s.drain(15 + 16*8)
				if !slices.Equal(s.rounds[:2], []int{1, 2}) {
					s.Errorf("the first rounds are %v, want 1 and 2", s.rounds[:2])
				}
				late := s.rounds[5 : len(s.rounds)-1] // the last round may be smaller
				if slices.Min(late) < test.atLeast || slices.Max(late) > test.most {
					s.Errorf("rounds of %v, want %d to %d", late, test.atLeast, test.most)
				}
			})
		})
	}
}

func TestThirdOfTheTimeIsLeftToPodsThatStart(t *testing.T) {
	for name, test := range map[string]struct {
		podsStart     bool
		atLeast, most int // percent of the time that is busy
		widest        int
	}{
		"no Pod starts": {false, 93, 96, 16}, // the remaining time is snapshots and short rests
		"Pods start":    {true, 64, 69, 8},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 100*ms, 5*ms, func(s *slow) {
				s.look, s.podsStart = 2*ms, test.podsStart
				if took := s.drain(1000); s.busy*100 < took*time.Duration(test.atLeast) || s.busy*100 > took*time.Duration(test.most) {
					s.Errorf("busy for %s of %s, want %d to %d %%", s.busy, took, test.atLeast, test.most)
				}
				expect.Equal(s.T, "widest round", test.widest, slices.Max(s.rounds))
				if s.looked != len(s.rounds) {
					s.Errorf("%d snapshots for %d rounds, want one each", s.looked, len(s.rounds))
				}
			})
		})
	}
}

func TestSlowWhilePasses(t *testing.T) {
	inBubble(t, 60*ms, ms, func(s *slow) {
		s.drain(100)
		s.each = 150 * ms
		s.rounds = nil
		s.drain(40)
		if last := s.rounds[len(s.rounds)-2]; last > 8 {
			s.Errorf("rounds of %v while removals are slow, want 8 at the end", s.rounds)
		}
		s.each = ms
		s.rounds = nil
		s.drain(100)
		if wide := slices.Index(s.rounds, 16); wide < 0 || wide > 5 {
			s.Errorf("rounds of %v after that, want 16 soon", s.rounds)
		}
	})
}

func TestBatcherWaitsBrieflyForAHungRemoval(t *testing.T) {
	inBubble(t, 60*ms, ms, func(s *slow) {
		forever := make(chan struct{})
		var hangs sync.WaitGroup
		hangs.Go(func() { _ = s.Go(s.Context(), s.looks, func() { <-forever }) })
		synctest.Wait()
		if took := s.drain(10); took < 4*time.Second || took > 8*time.Second {
			s.Errorf("10 others took %s, want them to wait for some seconds", took)
		}
		if took := s.drain(100); took > 3*time.Second {
			s.Errorf("100 more took %s, want them not to wait", took)
		}
		close(forever)
		hangs.Wait()
	})
}

func TestBatcherBoundsTheWaitForAPlace(t *testing.T) {
	inBubble(t, 3500*ms, 0, func(s *slow) {
		var refused int
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				began := time.Now()
				if err := s.Go(s.Context(), s.looks, s.removes); err != nil {
					s.mu.Lock()
					defer s.mu.Unlock()
					if refused++; time.Since(began) != 5*time.Second {
						s.Errorf("refused after %s: %v", time.Since(began), err)
					}
				}
			})
		}
		group.Wait()
		expect.Equal(s.T, "refused of 8 removals, of which two ran one after the other", 6, refused)
	})
}

func TestBatcherForgetsCanceledCallers(t *testing.T) {
	inBubble(t, 60*ms, ms, func(s *slow) {
		ctx, cancel := context.WithCancel(s.Context())
		var group sync.WaitGroup
		group.Go(func() { _ = s.Go(s.Context(), s.looks, s.removes) })
		synctest.Wait()
		group.Go(func() {
			if err := s.Go(ctx, s.looks, s.removes); err == nil {
				s.Error("removed although the context was canceled")
			}
		})
		synctest.Wait()
		cancel()
		group.Wait()
		s.drain(20)
	})
}

func TestRoundsWithoutRemovalsCostNothing(t *testing.T) {
	inBubble(t, 60*ms, ms, func(s *slow) {
		began := time.Now()
		for range 100 {
			expect.NoError(s.T, s.Pass(s.Context()))
		}
		if took := time.Since(began); took > 0 {
			s.Errorf("it took %s", took)
		}
		synctest.Wait()
		if s.lasts != 0 {
			s.Errorf("last was called %d times, want never", s.lasts)
		}
	})
}

func TestBatcherReportsTheLastRemoval(t *testing.T) {
	inBubble(t, 60*ms, ms, func(s *slow) {
		s.drain(50)
		bubble.Pass(time.Second)
		if s.lasts != 1 {
			s.Errorf("last was called %d times, want once", s.lasts)
		}
	})
}
