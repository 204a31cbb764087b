// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/test/faults/build/shifted"
)

// unsure is an entry of a machine whose DELETE has an unknown result.
func unsure(s *store, k *ledger.Machine, name string) ledger.Entry {
	s.Helper()
	e := entry(name, "7")
	s.write(k, e)
	s.send(k, e, ledger.Unknown)
	return e
}

func asItWas(e ledger.Entry) ledger.Observation {
	return ledger.Observation{UID: e.UID, ResourceVersion: e.ResourceVersion}
}

func TestDoubtEndsOnceNoRequestCanBeCarriedOut(t *testing.T) {
	const life = ledger.RequestLife
	for name, test := range map[string]struct {
		first, began time.Duration // the reads after the DELETE
		again        time.Duration // when another DELETE is sent; 0 for never
		sight        func(ledger.Entry) ledger.Observation
		ends         bool
	}{
		"RequestLife after the first read":       {first: time.Second, began: time.Second + life, sight: asItWas, ends: true},
		"one nanosecond less":                    {first: time.Second, began: life + time.Second - 1, sight: asItWas},
		"at a late first read":                   {began: 10 * life, sight: asItWas},
		"another DELETE starts the time again":   {first: time.Second, again: time.Minute, began: life + time.Minute, sight: asItWas},
		"an empty observation":                   {first: time.Second, began: 2 * life, sight: func(ledger.Entry) ledger.Observation { return ledger.Observation{} }},
		"an observation without resourceVersion": {first: time.Second, began: 2 * life, sight: func(e ledger.Entry) ledger.Observation { return ledger.Observation{UID: e.UID} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			k := s.machine("a")
			e := unsure(s, k, "x")
			if test.first > 0 {
				k.BeginReads(start.Add(test.first))
				k.Observe(e, asItWas(e), start.Add(test.first))
			}
			if test.again > 0 {
				s.send(k, e, ledger.Unknown)
				k.BeginReads(start.Add(test.again + time.Second))
			}
			began := start.Add(test.began)
			k.BeginReads(began)
			if ended := k.Observe(e, test.sight(e), began); ended != test.ends {
				t.Fatalf("ended is %t", ended)
			}
			if !test.ends {
				return
			}
			if d := k.NewUpdate(s.now); d.Room(s.now, nil) == 0 || d.Open(e) {
				t.Error("a second entry of the version is opened")
			}
			s.write(k)
			s.is(0, 0)
			s.write(k, e)
			s.is(0, 0, e)
		})
	}
}

// TestInheritedDoubtLastsFromTheFirstLook: a former leader may have sent a DELETE directly before the ledger was sealed.
func TestInheritedDoubtLastsFromTheFirstLook(t *testing.T) {
	s := newStore(t)
	e := entry("x", "7")
	s.write(s.machine("a"), e)
	k := ledger.New("b")
	s.read(k)
	if len(k.BeginReads(start)) > 0 {
		t.Fatal("the object is read before the ledger is sealed")
	}
	s.write(k)
	k.BeginReads(start.Add(time.Hour))
	if k.Observe(e, asItWas(e), start.Add(time.Hour)) {
		t.Error("the entry ended at the first read")
	}
	k.BeginReads(start.Add(time.Hour + ledger.RequestLife))
	if !k.Observe(e, asItWas(e), start.Add(time.Hour+ledger.RequestLife)) {
		t.Error("the entry has not ended")
	}
}

// TestClockThatIsSetEndsNoDoubt: the wall clock can be set, and the monotonic clock stops while a machine is suspended. The
// smaller duration counts.
func TestClockThatIsSetEndsNoDoubt(t *testing.T) {
	const life = ledger.RequestLife
	first := time.Now()
	for name, began := range map[string]time.Time{
		"the wall clock is set forward":         shifted.Set(first.Add(time.Second), 2*life),
		"the wall clock is set back":            shifted.Set(first.Add(2*life), -2*life),
		"both clocks say less than RequestLife": first.Add(life - 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			k := s.machine("a")
			e := unsure(s, k, "x")
			k.BeginReads(first)
			k.BeginReads(began)
			if k.Observe(e, asItWas(e), began) {
				t.Error("the doubt has ended")
			}
			k.BeginReads(first.Add(life))
			if !k.Observe(e, asItWas(e), first.Add(life)) {
				t.Error("the doubt has not ended")
			}
		})
	}
}

func TestEntryInDoubtIsRetriedLessOften(t *testing.T) {
	s := newStore(t)
	k := s.machine("a")
	e := unsure(s, k, "x")
	for at := time.Duration(0); at < 5*time.Minute; at += time.Minute {
		k.BeginReads(start.Add(at))
		s.send(k, e, ledger.Unknown)
	}
	k.BeginReads(start.Add(5 * time.Minute))
	if k.MarkSent(e.Target) || k.IsOpen(e.Target) || !k.HasStopped(e.Target) {
		t.Error("a DELETE may be sent after five minutes")
	}
	s.read(k)
	if !k.HasStopped(e.Target) {
		t.Error("it does not rest any more after Read")
	}
}

func TestEntriesInDoubtLeaveRoomToOtherNamespaces(t *testing.T) {
	s := newStore(t)
	s.budget = &ledger.Budget{Max: 10, Window: time.Hour}
	k := s.machine("a")
	for i := range 20 {
		d := k.NewUpdate(s.now)
		d.Room(s.now, s.budget)
		if !d.Admits("ns") {
			if i != 5 {
				t.Errorf("the namespace is not admitted with %d of 10 doubtful", i)
			}
			break
		}
		unsure(s, k, string(rune('a'+i)))
	}
	d := k.NewUpdate(s.now)
	d.Room(s.now, s.budget)
	for i := range 5 {
		e := entry(string(rune('A'+i)), "7")
		e.Namespace = "other"
		if !d.Admits("other") || !d.Open(e) {
			t.Errorf("only %d entries of another namespace are opened", i)
		}
	}
	if d.Admits("other") {
		t.Error("more entries are admitted than the budget allows")
	}
}
