// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

var (
	unchanged = ledger.Observation{UID: "uid-a", ResourceVersion: "7"}
	changed   = ledger.Observation{UID: "uid-a", ResourceVersion: "8"}
	recreated = ledger.Observation{UID: "uid-b", ResourceVersion: "9"}
	removing  = ledger.Observation{UID: "uid-a", ResourceVersion: "8", Terminating: true}
	absent    = ledger.Observation{Absent: true}
)

// TestEntryEndsByAnswersAndObservations sends several DELETEs for one entry, and then reads its object.
func TestEntryEndsByAnswersAndObservations(t *testing.T) {
	type end struct{ deleted, gone, open int64 }
	for name, c := range map[string]struct {
		answers []ledger.DeleteResult
		looks   []ledger.Observation
		want    end
	}{
		"deleted":                                            {[]ledger.DeleteResult{ledger.Deleted}, nil, end{deleted: 1}},
		"404 to the only DELETE is void":                     {[]ledger.DeleteResult{ledger.NotThere}, nil, end{}},
		"409 to the only DELETE is void":                     {[]ledger.DeleteResult{ledger.Changed}, nil, end{}},
		"a refusal of the only DELETE is void":               {[]ledger.DeleteResult{ledger.Refused}, nil, end{}},
		"no response leaves it open":                         {[]ledger.DeleteResult{ledger.Unknown}, nil, end{open: 1}},
		"no response, then 404, is gone":                     {[]ledger.DeleteResult{ledger.Unknown, ledger.NotThere}, nil, end{gone: 1}},
		"no response, then 2xx, is deleted":                  {[]ledger.DeleteResult{ledger.Unknown, ledger.Deleted}, nil, end{deleted: 1}},
		"no response, then 409, leaves it open":              {[]ledger.DeleteResult{ledger.Unknown, ledger.Changed}, nil, end{open: 1}},
		"no response, then a refusal, leaves it open":        {[]ledger.DeleteResult{ledger.Unknown, ledger.Refused}, nil, end{open: 1}},
		"a doubtful entry stays doubtful":                    {[]ledger.DeleteResult{ledger.Unknown, ledger.Refused, ledger.NotThere}, nil, end{gone: 1}},
		"no response, and the object is absent":              {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{absent}, end{gone: 1}},
		"no response, and another object has its name":       {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{recreated}, end{gone: 1}},
		"no response, and the object is terminating":         {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{removing}, end{gone: 1}},
		"no response, and the object has changed":            {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{changed}, end{}},
		"no response, and the object is unchanged":           {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{unchanged}, end{open: 1}},
		"no response, and an empty observation":              {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{{}}, end{open: 1}},
		"409 in doubt, and the object has changed":           {[]ledger.DeleteResult{ledger.Unknown, ledger.Changed}, []ledger.Observation{changed}, end{}},
		"409 in doubt, and another object has its name":      {[]ledger.DeleteResult{ledger.Unknown, ledger.Changed}, []ledger.Observation{recreated}, end{gone: 1}},
		"an entry that is not doubtful ignores observations": {nil, []ledger.Observation{absent}, end{open: 1}},
		"unchanged at first, absent later":                   {[]ledger.DeleteResult{ledger.Unknown}, []ledger.Observation{unchanged, absent}, end{gone: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newStore(t), entry("a", "7")
			k := s.machine("first")
			s.write(k, e)
			for _, a := range c.answers {
				s.send(k, e, a)
			}
			for _, look := range c.looks {
				k.Observe(e, look, start)
			}
			if c.want.open == 1 {
				if k.NewUpdate(s.now).Changed() {
					t.Error("the entry has ended")
				}
				return
			}
			s.write(k)
			s.is(c.want.deleted, c.want.gone)
		})
	}
}

func TestObservationOf(t *testing.T) {
	now := metav1.NewTime(start)
	there := &metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}
	terminating := &metav1.ObjectMeta{UID: "u", ResourceVersion: "7", DeletionTimestamp: &now}
	if got, want := ledger.ObservationOf(there), (ledger.Observation{UID: "u", ResourceVersion: "7"}); got != want {
		t.Errorf("an object that exists: %+v, want %+v", got, want)
	}
	if got, want := ledger.ObservationOf(terminating), (ledger.Observation{UID: "u", ResourceVersion: "7", Terminating: true}); got != want {
		t.Errorf("a terminating object: %+v, want %+v", got, want)
	}
}

func TestInheritedEntryIsDoubtful(t *testing.T) {
	s, e := newStore(t), entry("a", "7")
	s.write(s.machine("first"), e)

	k := ledger.New("second")
	s.read(k)
	if k.MarkSent(e.Target) || len(k.Doubtful()) > 0 {
		t.Error("the entry is used before the ledger is sealed")
	}
	k.Observe(e, absent, start)
	s.write(k)
	s.is(0, 0, e)
	if doubtful := k.Doubtful(); len(doubtful) != 1 || doubtful[0] != e {
		t.Errorf("doubtful entries are %v", doubtful)
	}
	k.Withdrawn(e.Target) // the former holder may have sent its DELETE
	if k.NewUpdate(s.now).Changed() {
		t.Error("an entry that may have been sent ended as void")
	}
	s.send(k, e, ledger.NotThere)
	s.write(k)
	s.is(0, 1)
}

func TestReadReturnsErrDeposed(t *testing.T) {
	s, e := newStore(t), entry("a", "7")
	first := s.machine("first")
	s.write(first, e)
	d := first.NewUpdate(s.now)
	d.Room(s.now, nil)
	d.Open(entry("b", "1"))

	s.machine("second")
	if s.land(d) {
		t.Fatal("the former holder can write")
	}
	first.Lost()
	if err := first.Read(s.ledger); !errors.Is(err, ledger.ErrDeposed) {
		t.Errorf("Read: %v", err)
	}
	if first.MarkSent(e.Target) || first.NewUpdate(s.now).Changed() || first.NewUpdate(s.now).Object() != nil {
		t.Error("the former holder continues")
	}
	if err := first.Read(s.ledger); !errors.Is(err, ledger.ErrDeposed) {
		t.Errorf("Read again: %v", err)
	}
}

func TestUpdateSealsAlone(t *testing.T) {
	s := newStore(t)
	k := ledger.New("first")
	if d := k.NewUpdate(s.now); d.Changed() || d.Object() != nil {
		t.Error("an update before Read")
	}
	s.read(k)
	d := k.NewUpdate(s.now)
	if d.Room(s.now, nil) != 0 || d.Open(entry("a", "7")) {
		t.Error("an entry is opened before the ledger is sealed")
	}
	if !d.Changed() || d.Object().Holder != "first" {
		t.Error("the update does not have the holder")
	}
}

func TestLostWrite(t *testing.T) {
	a, b := entry("a", "7"), entry("b", "1")
	lose := func(t *testing.T) (*store, *ledger.Machine, *ledger.Update) {
		s := newStore(t)
		k := s.machine("first")
		s.write(k, a)
		s.send(k, a, ledger.Deleted)
		d := k.NewUpdate(s.now)
		d.Room(s.now, nil)
		d.Open(b)
		k.Lost()
		if k.NewUpdate(s.now).Changed() || k.MarkSent(b.Target) {
			t.Error("the machine continues after a lost write")
		}
		return s, k, d
	}
	t.Run("that is never written", func(t *testing.T) {
		s, k, _ := lose(t)
		s.read(k)
		if !k.MayBeReplaced() {
			t.Error("it may still be written")
		}
		s.write(k, b)
		s.is(1, 0, b)
		if k.MayBeReplaced() {
			t.Error("it can no longer be written")
		}
	})
	t.Run("that was written", func(t *testing.T) {
		s, k, d := lose(t)
		s.land(d)
		s.read(k)
		if k.NewUpdate(s.now).Changed() || k.MayBeReplaced() {
			t.Error("the deletion is counted again")
		}
		if unsent := k.Unsent(); len(unsent) != 1 || unsent[0] != b {
			t.Errorf("unsent entries are %v", unsent)
		}
		s.send(k, b, ledger.NotThere) // our own entry, never sent before
		s.write(k)
		s.is(1, 0)
	})
	t.Run("that is written late", func(t *testing.T) {
		s, k, d := lose(t)
		s.read(k)
		again := k.NewUpdate(s.now)
		s.land(d)
		if s.land(again) {
			t.Fatal("both were written")
		}
		k.Lost()
		k.Withdrawn(b.Target) // it is unknown whether it is open
		s.read(k)
		s.write(k)
		s.is(1, 0)
	})
	t.Run("whose response comes too late", func(t *testing.T) {
		s, k, d := lose(t)
		s.land(d)
		k.Wrote(d, s.ledger)
		if k.NewUpdate(s.now).Changed() || k.MarkSent(b.Target) {
			t.Error("the machine continues without Read")
		}
	})
}

func TestMachineSendsOneDeleteAtATime(t *testing.T) {
	s, e := newStore(t), entry("a", "7")
	k := s.machine("first")
	if k.MarkSent(e.Target) {
		t.Error("the entry is not open")
	}
	s.write(k, e)
	if !k.MarkSent(e.Target) || k.MarkSent(e.Target) {
		t.Error("not exactly one DELETE is under way")
	}
	k.Withdrawn(e.Target)
	k.Observe(e, absent, start)
	if k.NewUpdate(s.now).Changed() {
		t.Error("the entry ended while a DELETE was under way")
	}
	k.Answered(e.Target, ledger.Deleted)
	if k.MarkSent(e.Target) {
		t.Error("an ended entry can be sent")
	}
	s.write(k)
	s.is(1, 0)
}

func TestMachineOpensOneEntryPerObject(t *testing.T) {
	s := newStore(t)
	k := s.machine("first")
	old, fresh := entry("a", "7"), entry("a", "8")
	s.write(k, old)
	opens := func(e ledger.Entry) bool {
		d := k.NewUpdate(s.now)
		d.Room(s.now, nil)
		return d.Open(e)
	}
	if opens(old) || opens(fresh) {
		t.Error("there are two entries of one object")
	}
	s.send(k, old, ledger.Changed)
	if opens(old) {
		t.Error("the same version is opened in the update that closes it")
	}
	s.write(k, fresh)
	s.is(0, 0, fresh)
	s.send(k, fresh, ledger.Refused)
	s.write(k)
	s.write(k, fresh) // retried later
	s.send(k, fresh, ledger.Deleted)
	if opens(fresh) || opens(entry("a", "9")) {
		t.Error("a deleted object is opened before the deletion is written")
	}
	s.write(k)
	if opens(fresh) || opens(entry("a", "9")) {
		t.Error("a deleted object is opened again")
	}
	k.Forget(func(uid types.UID) bool { return true })
	if opens(fresh) {
		t.Error("an object that the caller knows is forgotten")
	}
	k.Forget(func(uid types.UID) bool { return false })
	if opens(fresh) {
		t.Error("an object is forgotten at the first call")
	}
	k.Forget(func(uid types.UID) bool { return false })
	if !opens(entry("a", "9")) {
		t.Error("an object is not forgotten")
	}
}

func TestWithdrawn(t *testing.T) {
	s, e := newStore(t), entry("a", "7")
	k := s.machine("first")
	d := k.NewUpdate(s.now)
	d.Room(s.now, nil)
	d.Open(e)
	k.Withdrawn(e.Target) // while it is being written
	s.land(d)
	k.Wrote(d, s.ledger)
	if k.MarkSent(e.Target) || len(k.Unsent()) > 0 {
		t.Error("a withdrawn entry can be sent")
	}
	s.write(k)
	s.is(0, 0)
}
