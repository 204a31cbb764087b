// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Clone copies a machine for the model, which continues from one state in several ways.
func (k *Machine) Clone() *Machine {
	c := *k
	c.open = make(map[types.UID]*state, len(k.open))
	for uid, s := range k.open {
		copied := *s
		c.open[uid] = &copied
	}
	c.tried, c.counted = maps.Clone(k.tried), maps.Clone(k.counted)
	return &c
}

// AppendAges appends the ages of doubtful entries, in units of RequestLife.
func (k *Machine) AppendAges(b []byte, start time.Time) []byte {
	age := func(t time.Time) byte {
		if t.IsZero() {
			return 0
		}
		return 1 + byte(t.Sub(start)/RequestLife)
	}
	for _, uid := range slices.Sorted(maps.Keys(k.open)) {
		s := k.open[uid]
		b = append(appendFlags(b, s.stopped), age(s.doubted), age(s.quiet))
	}
	return b
}

// AppendKey appends everything that affects future actions of the machine, while current is the ledger in the API server. If the
// machine knows another ledger, its writes can only fail.
func (k *Machine) AppendKey(b []byte, current *v1alpha1.RetentionLedger) []byte {
	isCurrent := k.stored != nil && k.stored.ResourceVersion == current.ResourceVersion
	b = appendFlags(b, k.held, k.sealed, k.lost, k.deposed, isCurrent, k.MayBeReplaced())
	for _, uid := range slices.Sorted(maps.Keys(k.open)) {
		s := k.open[uid]
		b = append(append(b, uid...), s.ResourceVersion...)
		b = append(appendFlags(b, s.doubtful, s.underWay), byte(s.end))
	}
	b = append(b, '|')
	tried := slices.SortedFunc(maps.Keys(k.tried), func(a, b version) int {
		return slices.Compare([]byte(a.uid+types.UID(a.resourceVersion)), []byte(b.uid+types.UID(b.resourceVersion)))
	})
	for _, v := range tried {
		b = appendFlags(append(append(b, v.uid...), v.resourceVersion...), k.tried[v])
	}
	b = append(b, '|')
	for _, uid := range slices.Sorted(maps.Keys(k.counted)) {
		b = append(b, uid...)
	}
	return append(b, '|')
}

func appendFlags(b []byte, flags ...bool) []byte {
	var all byte
	for i, f := range flags {
		if f {
			all |= 1 << i
		}
	}
	return append(b, all)
}

// The following functions make a machine do something wrong.

// PretendSealed makes it act as if the ledger had its holder.
func (k *Machine) PretendSealed() { k.sealed, k.held = !k.lost, true }

// PretendCertain makes it act as if all open entries were its own and not doubtful.
func (k *Machine) PretendCertain() {
	for _, s := range k.open {
		s.doubtful = false
	}
}

// SendingAged is MarkSent, but the age of the entry does not start again.
func (k *Machine) SendingAged(t policy.Target) bool {
	s := k.find(t)
	if s == nil {
		return false
	}
	quiet := s.quiet
	sending := k.MarkSent(t)
	s.quiet = quiet
	return sending
}

// EndVoid ends an open entry as void without a check.
func (k *Machine) EndVoid(t policy.Target) {
	if s := k.find(t); s != nil && s.end == none {
		s.underWay, s.end = false, void
	}
}

// IsDoubtful reports whether an entry is open and doubtful.
func (k *Machine) IsDoubtful(t policy.Target) bool {
	s := k.find(t)
	return s != nil && s.doubtful
}

// Ended are the counted ends of entries that are still open in the ledger as last read.
func (k *Machine) Ended() []Entry {
	var all []Entry
	for _, s := range k.sorted() {
		if s.end.counts() {
			all = append(all, s.Entry)
		}
	}
	return all
}

// CountAgain counts an entry that is no longer open.
func (d *Update) CountAgain(e Entry) {
	if _, open := d.uids[e.UID]; d.object != nil && !open && d.machine.find(e.Target) == nil {
		d.closed++
		count(d.object, e, countOf(deleted))
	}
}

// OpenTwice adds an entry even if another entry of its object is open.
func (d *Update) OpenTwice(e Entry) bool {
	delete(d.uids, e.UID)
	return d.Open(e)
}

// SpendNothing drops all spendings.
func (d *Update) SpendNothing() {
	if d.object != nil {
		d.object.Spent = nil
	}
}
