// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func at(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(start.Add(d)) }

// remove deletes objects: it opens their entries and ends them.
func (s *store) remove(k *ledger.Machine, entries ...ledger.Entry) {
	s.Helper()
	s.write(k, entries...)
	for _, e := range entries {
		s.send(k, e, ledger.Deleted)
	}
	s.write(k)
}

func TestCharged(t *testing.T) {
	budget := &ledger.Budget{Max: 3, Window: time.Hour}
	s := newStore(t)
	s.budget = &ledger.Budget{Max: 100, Window: budget.Window}
	k := s.machine("first")
	is := func(charged int64, room int, free time.Duration) {
		t.Helper()
		expect.Equal(t, "charged", charged, k.Charged(s.now, budget))
		expect.Equal(t, "room", room, k.NewUpdate(s.now).Room(s.now, budget))
		want := start.Add(free)
		if free == 0 {
			want = time.Time{}
		}
		if got := k.FreeAt(s.now, budget); !got.Equal(want) {
			t.Errorf("free at %v, want %v", got, want)
		}
	}
	is(0, 3, 0)
	s.remove(k, entry("a", "1"), entry("b", "1"))
	is(2, 1, 0)
	s.now = s.now.Add(10 * time.Minute)
	s.write(k, entry("c", "1"))
	is(3, 0, time.Hour+ledger.Skew)
	s.send(k, entry("c", "1"), ledger.Refused)
	is(3, 1, time.Hour+ledger.Skew) // it had no effect: the update that ends it can open another
	s.write(k)
	s.remove(k, entry("d", "1"))
	is(3, 0, time.Hour+ledger.Skew)
	s.now = start.Add(time.Hour + ledger.Skew)
	is(1, 2, 0)
	s.write(k, entry("e", "1"), entry("f", "1"), entry("g", "1"))
	is(4, 0, 2*time.Hour+2*ledger.Skew) // a budget smaller than the number of open entries
}

func TestInheritedEntriesAreCharged(t *testing.T) {
	s := newStore(t)
	s.write(s.machine("first"), entry("a", "1"), entry("b", "1"))
	k := s.machine("second")
	expect.Equal(t, "room", 0, k.NewUpdate(s.now).Room(s.now, &ledger.Budget{Max: 2, Window: time.Hour}))
}

func TestDoubtfulEntriesLeaveRoom(t *testing.T) {
	s := newStore(t)
	open := func(k *ledger.Machine, leader, want int) {
		t.Helper()
		d := k.NewUpdate(s.now)
		room := d.Room(s.now, nil)
		if room != want {
			t.Fatalf("room is %d, want %d", room, want)
		}
		for i := range room {
			d.Open(entry(fmt.Sprint(leader, "-", i), "1"))
		}
		if d.Room(s.now, nil) != 0 || d.Open(entry("more", "1")) {
			t.Error("there is more room")
		}
		s.land(d)
		k.Wrote(d, s.ledger.DeepCopy())
	}
	for leader := range 4 {
		open(s.machine(fmt.Sprint(leader)), leader, ledger.MaxOpen)
	}
	if room := s.machine("last").NewUpdate(s.now).Room(s.now, nil); room != 0 {
		t.Errorf("room is %d with %d open", room, ledger.MaxOpen+ledger.MaxDoubtful)
	}
}

func TestSpent(t *testing.T) {
	for name, c := range map[string]struct {
		spent, want []v1alpha1.LedgerSpending
		now         time.Duration
	}{
		"deletions that end in the same part of the window are joined": {
			spent: []v1alpha1.LedgerSpending{{EndTime: at(time.Second), Count: 1}, {EndTime: at(59 * time.Second), Count: 2}, {EndTime: at(60 * time.Second), Count: 4}},
			now:   61 * time.Second,
			want:  []v1alpha1.LedgerSpending{{EndTime: at(59 * time.Second), Count: 3}, {EndTime: at(61 * time.Second), Count: 5}},
		},
		"a spending outside of the window is dropped": {
			spent: []v1alpha1.LedgerSpending{{EndTime: at(0), Count: 1}, {EndTime: at(time.Minute), Count: 2}},
			now:   time.Hour + ledger.Skew,
			want:  []v1alpha1.LedgerSpending{{EndTime: at(time.Minute), Count: 2}, {EndTime: at(time.Hour + ledger.Skew), Count: 1}},
		},
		"time does not decrease": {
			spent: []v1alpha1.LedgerSpending{{EndTime: at(time.Minute), Count: 1}},
			now:   0,
			want:  []v1alpha1.LedgerSpending{{EndTime: at(time.Minute), Count: 2}},
		},
		"a time is rounded up to a MicroTime": {
			now:  time.Nanosecond,
			want: []v1alpha1.LedgerSpending{{EndTime: at(time.Microsecond), Count: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.ledger.Spent, s.budget = c.spent, &ledger.Budget{Max: 10, Window: time.Hour}
			k := s.machine("first")
			s.write(k, entry("a", "1"))
			s.send(k, entry("a", "1"), ledger.Deleted)
			now := start.Add(c.now)
			d := k.NewUpdate(now)
			d.Room(now, s.budget)
			if got := d.Object().Spent; fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	t.Run("without limits spendings are kept, because limits may be set again", func(t *testing.T) {
		s := newStore(t)
		s.budget = &ledger.Budget{Max: 10, Window: time.Hour}
		s.remove(s.machine("first"), entry("a", "1"))
		if len(s.ledger.Spent) != 1 {
			t.Fatal(s.ledger.Spent)
		}
		d := s.machine("second").NewUpdate(s.now)
		if len(d.Object().Spent) != 1 {
			t.Error("spendings are dropped before the limits are known")
		}
		d.Room(s.now, nil)
		if len(d.Object().Spent) != 1 {
			t.Error(d.Object().Spent)
		}
	})
}

// TestBudgetOverTime: leaders with different clocks delete as much as possible. The number of deletions in a window never exceeds
// the budget, and the number of spendings is bounded.
func TestBudgetOverTime(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newStore(t)
		s.budget = &ledger.Budget{Max: 1 + random.Int64N(20), Window: time.Duration(30+random.IntN(300)) * time.Second}
		ended := s.deleteAtRandom(random)
		for i := range ended {
			if last := i + int(s.budget.Max); last < len(ended) && ended[last].Sub(ended[i]) < s.budget.Window {
				t.Fatalf("seed %d: more than %d within %v at %v", seed, s.budget.Max, s.budget.Window, ended[i].Sub(start))
			}
		}
		if len(ended) < int(s.budget.Max)*3 {
			t.Errorf("seed %d: only %d deletions with %v", seed, len(ended), s.budget)
		}
	}
}

// deleteAtRandom gives the times of the deletions by a correct clock.
func (s *store) deleteAtRandom(random *rand.Rand) []time.Time {
	var ended []time.Time
	isGone := map[types.UID]bool{}
	real, wrong, k := start, time.Duration(0), s.machine("first")
	for i := range 400 {
		real = real.Add(time.Duration(random.Int64N(int64(s.budget.Window) / 20)))
		s.now = real.Add(wrong)
		if random.IntN(20) == 0 {
			wrong = time.Duration(random.Int64N(int64(ledger.Skew)))
			k = s.machine(fmt.Sprint(i))
		}
		d := k.NewUpdate(s.now)
		for n := range random.IntN(d.Room(s.now, s.budget) + 1) {
			d.Open(entry(fmt.Sprint(i, "-", n), "1"))
		}
		s.land(d)
		k.Wrote(d, s.ledger.DeepCopy())
		for _, e := range slices.Concat(k.Unsent(), k.Doubtful()) {
			switch {
			case random.IntN(3) == 0:
			case isGone[e.UID]: // the previous leader did not write it
				s.send(k, e, ledger.NotThere)
			default:
				s.send(k, e, ledger.Deleted)
				isGone[e.UID], ended = true, append(ended, real)
			}
		}
		if len(s.ledger.Spent) > 60+2+int(60*ledger.Skew/s.budget.Window) {
			s.Fatalf("%d spendings in a window of %v", len(s.ledger.Spent), s.budget.Window)
		}
	}
	return ended
}

func TestSpendingsAreBoundedWhateverTheWindow(t *testing.T) {
	s := newStore(t)
	s.budget = &ledger.Budget{Max: 10_000, Window: time.Hour}
	k := s.machine("first")
	for i := range 1000 {
		s.now = s.now.Add(time.Second)
		s.write(k, entry(fmt.Sprint(i), "1"))
		s.send(k, entry(fmt.Sprint(i), "1"), ledger.Deleted)
		d := k.NewUpdate(s.now)
		s.land(d) // the window is unknown
		k.Wrote(d, s.ledger.DeepCopy())
	}
	expect.Equal(t, "charged", 1000, k.Charged(s.now, s.budget))
	if len(s.ledger.Spent) > 62 {
		t.Errorf("%d spendings", len(s.ledger.Spent))
	}
	for i := range 400 {
		s.ledger.Spent = append(s.ledger.Spent, v1alpha1.LedgerSpending{EndTime: metav1.NewMicroTime(s.now.Add(time.Duration(i))), Count: 1})
	}
	s.now, s.budget = s.now.Add(time.Second), nil // from now on the window is unknown
	s.read(k)
	s.write(k, entry("last", "1"))
	s.send(k, entry("last", "1"), ledger.Deleted)
	spent, count := k.NewUpdate(s.now).Object().Spent, int64(0)
	for _, spending := range spent {
		count += spending.Count
	}
	if len(spent) > 240 || count != 1000+400+1 {
		t.Errorf("%d spendings of %d deletions", len(spent), count)
	}
}
