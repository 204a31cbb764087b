// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	jobs  = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

// entry is an entry of a Job with UID "uid-" + name.
func entry(name, resourceVersion string) ledger.Entry {
	return ledger.Entry{
		Target: policy.Target{Kind: jobs, Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion},
		Rule:   "old", Outcome: "failed",
	}
}

// store has one ledger and writes it like the API server: only without a conflict. It fails if there is nothing to write.
type store struct {
	*testing.T
	ledger *v1alpha1.RetentionLedger
	now    time.Time
	budget *ledger.Budget
}

func newStore(t *testing.T) *store {
	s := &store{T: t, ledger: &v1alpha1.RetentionLedger{}, now: start}
	s.ledger.ResourceVersion = "1"
	return s
}

// machine is a machine that holds the ledger.
func (s *store) machine(holder string) *ledger.Machine {
	s.Helper()
	k := ledger.New(holder)
	s.read(k)
	s.write(k)
	return k
}

func (s *store) read(k *ledger.Machine) {
	s.Helper()
	expect.NoError(s.T, k.Read(s.ledger.DeepCopy()))
}

// land writes an update without a response to the machine.
func (s *store) land(d *ledger.Update) bool {
	s.Helper()
	o := d.Object()
	if o.ResourceVersion != s.ledger.ResourceVersion {
		return false
	}
	rv, err := strconv.Atoi(o.ResourceVersion)
	expect.NoError(s.T, err)
	o.ResourceVersion = strconv.Itoa(rv + 1)
	s.ledger = o
	return true
}

// write drafts and writes an update with these new entries. There must be room for them.
func (s *store) write(k *ledger.Machine, entries ...ledger.Entry) {
	s.Helper()
	d := k.NewUpdate(s.now)
	d.Room(s.now, s.budget)
	for _, e := range entries {
		if !d.Open(e) {
			s.Fatalf("%v is not opened", e)
		}
	}
	if !d.Changed() {
		s.Fatal("nothing to write")
	}
	if !s.land(d) {
		s.Fatal("conflict")
	}
	k.Wrote(d, s.ledger.DeepCopy())
}

// send sends a DELETE with this result.
func (s *store) send(k *ledger.Machine, e ledger.Entry, a ledger.DeleteResult) {
	s.Helper()
	if !k.MarkSent(e.Target) {
		s.Fatalf("%v cannot be sent", e)
	}
	k.Answered(e.Target, a)
}

// is compares the total counts and the open entries.
func (s *store) is(deleted, gone int64, open ...ledger.Entry) {
	s.Helper()
	if s.ledger.Total != (v1alpha1.LedgerCount{Deleted: deleted, Gone: gone}) {
		s.Errorf("counted %v, want %d deleted and %d gone", s.ledger.Total, deleted, gone)
	}
	var want, is []string
	for _, e := range open {
		want = append(want, fmt.Sprintf("%s %s %s", e.Name, e.UID, e.ResourceVersion))
	}
	for _, group := range s.ledger.Open {
		is = append(is, group.Objects...)
	}
	if fmt.Sprint(is) != fmt.Sprint(want) {
		s.Errorf("open entries are %q, want %q", is, want)
	}
}
