// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// FuzzRead lets a new leader take over any ledger. If the ledger cannot be read, Read fails, and the machine drafts and sends
// nothing. Otherwise nothing is lost. Open entries are doubtful, count against every budget, and are in the next update. Counters
// only grow by ended entries. Another leader reads the same.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{}`,
		`{"holder":"former","open":[{"rule":"old","outcome":"failed","apiVersion":"batch/v1","kind":"Job","namespace":"ns","objects":["a u 1","b v 2"]}],"spent":[{"until":"2026-03-01T11:59:00.000000Z","count":3}],"total":{"deleted":7,"gone":1}}`,
		`{"open":[{"rule":"old","apiVersion":"v1","kind":"Pod","objects":["a u 1"]},{"rule":"old","apiVersion":"v1","kind":"Pod","objects":["b u 1"]}]}`,
		`{"open":[{"rule":"","apiVersion":"v1","kind":"Pod","objects":[]}]}`,
		`{"spent":[{"until":"2026-03-01T13:00:00.000000Z","count":9223372036854775807},{"until":"2026-03-01T12:00:00.000000Z","count":1}]}`,
		`{"spent":[{"until":null,"count":0}]}`, `{"spent":[{"until":"2026-03-01T12:00:00.000000Z","count":-1}]}`,
		`{"total":{"deleted":-5},"rules":[{"name":"old"},{"name":"old"}],"namespaces":[{"name":"*"}],"open":[{"rule":"*","outcome":"*","apiVersion":"a/b","kind":"K","objects":["n n n n"]}]}`,
		`{"open":[{"rule":"r","apiVersion":"a/b/c","kind":"K","objects":["a u 1"]}]}`,
		`{"open":[{"rule":"r","apiVersion":"/v1","kind":"K","objects":[" a u 1"]}]}`,
	} {
		f.Add([]byte(text), int64(5), int64(3600))
	}
	f.Fuzz(func(t *testing.T, data []byte, most, seconds int64) {
		stored := &v1alpha1.RetentionLedger{}
		if json.Unmarshal(data, stored) != nil {
			t.Skip() // the API server rejects it
		}
		stored.ResourceVersion = "1"
		k := ledger.New("new")
		if err := k.Read(stored.DeepCopy()); err != nil {
			if k.NewUpdate(start).Object() != nil || len(k.Doubtful())+len(k.Unsent()) > 0 {
				t.Errorf("%v, but the machine continues", err)
			}
			return
		}
		budget := &ledger.Budget{Max: most, Window: time.Duration(1+abs(seconds)%(365*24*3600)) * time.Second}
		s := &store{T: t, ledger: stored.DeepCopy(), now: start, budget: budget}
		sealing := k.NewUpdate(s.now)
		s.land(sealing)
		k.Wrote(sealing, s.ledger.DeepCopy())
		open := k.Doubtful()
		if want := lines(stored); len(open) != want || len(k.Unsent()) > 0 || lines(s.ledger) != want {
			t.Fatalf("%d of %d are doubtful, %d are written", len(open), want, lines(s.ledger))
		}
		expect.Equal(t, "counters", stored.Total, s.ledger.Total)
		checkRoom(s, k, budget, int64(len(open)))
		s.ledger.ResourceVersion = strconv.Itoa(100)
		expect.Equal(t, "entries for another leader", open, readAgain(t, s.ledger))
		for _, e := range open {
			k.Observe(e, ledger.Observation{Absent: true}, start)
		}
		ended := k.NewUpdate(s.now).Object()
		if n := ended.Total.Gone - stored.Total.Gone; n != int64(len(open)) || lines(ended) != 0 || ended.Total.Deleted != stored.Total.Deleted {
			t.Errorf("%d of %d are counted as gone, %d are still open", n, len(open), lines(ended))
		}
	})
}

func abs(n int64) int64 { return max(n, -(n + 1)) }

// lines is the number of open entries in a ledger.
func lines(l *v1alpha1.RetentionLedger) (n int) {
	for _, group := range l.Open {
		n += len(group.Objects)
	}
	return n
}

// checkRoom compares the room with the spendings within the window, one by one.
func checkRoom(s *store, k *ledger.Machine, budget *ledger.Budget, open int64) {
	spent := open
	for _, spending := range s.ledger.Spent {
		if s.now.Before(spending.EndTime.Add(budget.Window)) && spent+spending.Count >= spent {
			spent += spending.Count
		}
	}
	if room := int64(k.NewUpdate(s.now).Room(s.now, budget)); room > 0 && room+spent > budget.Max {
		s.Errorf("room is %d of %d, but %d are spent: %+v", room, budget.Max, spent, s.ledger.Spent)
	}
}

// readAgain are the open entries for the next leader.
func readAgain(t *testing.T, l *v1alpha1.RetentionLedger) []ledger.Entry {
	k := ledger.New("newer")
	if err := k.Read(l.DeepCopy()); err != nil {
		t.Fatalf("read the written ledger: %v", err)
	}
	s := &store{T: t, ledger: l, now: start}
	d := k.NewUpdate(start)
	s.land(d)
	k.Wrote(d, s.ledger.DeepCopy())
	return k.Doubtful()
}
