// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/faults/schedule"
)

// TestRandomSchedules runs schedules of random faults: the same two in every test run, and in make faults as many as SEEDS
// says, or as fit into TIME.
func TestRandomSchedules(t *testing.T) {
	scenario.Short(t)
	seeds := newSeeds(t)
	figures := &figures{began: time.Now()}
	var running sync.WaitGroup
	for range sideBySide {
		running.Go(func() {
			for seed := range seeds.all {
				t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) { runs(t, seed, figures) })
			}
		})
	}
	running.Wait()
	t.Log(figures)
}

func TestSeedGivesTheSameScheduleAgain(t *testing.T) {
	draw := func(seed uint64) string { return schedule.Draw(rand.New(rand.NewPCG(seed, 0)), true).String() }
	first, again, another := draw(1), draw(1), draw(2)
	if again != first {
		t.Error("the same seed gives two different schedules")
	}
	if another == first {
		t.Error("two seeds give the same schedule")
	}
}

// sideBySide is the number of schedules that run at the same time.
const sideBySide = 10

// disturbedOneIn says that one in so many seeds disturbs whole servers. Such a schedule waits until it is alone, and others wait
// for it.
const disturbedOneIn = 4

// coldOneIn says that one in so many seeds has replicas that watch objects only while they lead.
const coldOneIn = 3

func runs(t *testing.T, seed int64, f *figures) {
	drawn := schedule.Draw(rand.New(rand.NewPCG(uint64(seed), 0)), seed%disturbedOneIn == 0)
	var s *scenario.Scenario
	t.Cleanup(func() { // after the check
		f.add(s)
		if t.Failed() {
			t.Log(drawn)
		}
	})
	// -run cannot select a seed.
	o := drawn.Options()
	o.Cold = seed%coldOneIn == 2 // seed 2 is one of the two of every test run
	o.Repeat = scenario.Repeat{Test: "TestRandomSchedules", Env: "SUNSET_FAULTS_SEEDS=1", Seed: seed}
	s = scenario.New(t, o)
	f.addFault(drawn.Run(s))
}

// figures summarizes the runs.
type figures struct {
	began time.Time

	mu                                                 sync.Mutex
	schedules, struck, sent, checked, gone, violations int
}

func (f *figures) addFault(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.struck += n
}

func (f *figures) add(s *scenario.Scenario) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedules++
	if s != nil {
		report := s.Report()
		f.sent += report.Deletions
		f.checked += report.Checked
		f.gone += report.Removed
		f.violations += len(report.Violations)
	}
}

// String returns one line for docs/contributing/reliability-harness.md.
func (f *figures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d schedules in %s: %d faults fired, %d DELETEs, %d of them checked, %d objects deleted, %d violations",
		f.schedules, time.Since(f.began).Round(time.Second), f.struck, f.sent, f.checked, f.gone, f.violations)
}

// seeds returns each seed of this run once.
type seeds struct {
	mu       sync.Mutex
	next     int64
	left     int       // without a deadline
	deadline time.Time // zero for none
}

// newSeeds reads the variables of make faults.
func newSeeds(t *testing.T) *seeds {
	t.Helper()
	if os.Getenv("SUNSET_FAULTS") != "all" {
		return &seeds{next: 1, left: 2}
	}
	s := &seeds{next: scenario.Seed(), left: 4}
	if text := os.Getenv("SUNSET_FAULTS_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SUNSET_FAULTS_SEEDS: %v", err)
		}
		s.left = n
	}
	if text := os.Getenv("SUNSET_FAULTS_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SUNSET_FAULTS_TIME: %v", err)
		}
		s.deadline = time.Now().Add(d)
	}
	return s
}

// all yields seeds until the number or the time is used up.
func (s *seeds) all(yield func(int64) bool) {
	for {
		seed, ok := s.take()
		if !ok || !yield(seed) {
			return
		}
	}
}

func (s *seeds) take() (seed int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() && s.left == 0 || !s.deadline.IsZero() && time.Now().After(s.deadline) {
		return 0, false
	}
	s.left--
	s.next++
	return s.next - 1, true
}
