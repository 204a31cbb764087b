// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

func TestEasesWhenTheNextSpendingDoesNotCountAnyMore(t *testing.T) {
	s, budget := newStore(t), &ledger.Budget{Max: 5, Window: time.Hour}
	k := s.machine("first")
	if at := k.EasesAt(s.now, budget); !at.IsZero() {
		t.Errorf("eases at %s without spendings", at)
	}
	for i, name := range []string{"a", "b"} {
		e := entry(name, "7")
		s.now = start.Add(time.Duration(i) * 10 * time.Minute)
		opening := k.NewUpdate(s.now)
		opening.Room(s.now, budget)
		opening.Open(e)
		s.land(opening)
		k.Wrote(opening, s.ledger.DeepCopy())
		s.send(k, e, ledger.Deleted)
		d := k.NewUpdate(s.now)
		d.Room(s.now, budget)
		s.land(d)
		k.Wrote(d, s.ledger.DeepCopy())
	}
	first := start.Add(time.Hour + ledger.Skew)
	if at := k.EasesAt(s.now, budget); !at.Equal(first) {
		t.Errorf("eases at %s, want %s", at, first)
	}
	if at := k.EasesAt(first, budget); !at.Equal(first.Add(10 * time.Minute)) {
		t.Errorf("eases at %s, want the end of the second spending", at)
	}
	if at := k.EasesAt(s.now, nil); !at.IsZero() {
		t.Errorf("eases at %s without limits", at)
	}
}
