package ledger

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Clone copies a keeper for the model, which goes on from one state in several ways.
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

// AppendAges appends how old what is in doubt is, in parts of a time.
func (k *Machine) AppendAges(b []byte, start time.Time) []byte {
	age := func(t time.Time) byte {
		if t.IsZero() {
			return 0
		}
		return 1 + byte(t.Sub(start)/RequestLife)
	}
	for _, uid := range slices.Sorted(maps.Keys(k.open)) {
		s := k.open[uid]
		b = append(appendFlags(b, s.rests), age(s.doubted), age(s.quiet))
	}
	return b
}

// AppendKey appends all that the keeper will ever act upon, while the API server has the ledger current. What it knows of
// another ledger it can only fail to write.
func (k *Machine) AppendKey(b []byte, current *v1alpha1.RetentionLedger) []byte {
	isCurrent := k.stored != nil && k.stored.ResourceVersion == current.ResourceVersion
	b = appendFlags(b, k.held, k.sealed, k.lost, k.deposed, isCurrent, k.Loose())
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

// What follows makes a keeper do what it must not.

// PretendSealed has it believe that the ledger is its own.
func (k *Machine) PretendSealed() { k.sealed, k.held = !k.lost, true }

// PretendCertain has it believe that all that is open is its own and certain.
func (k *Machine) PretendCertain() {
	for _, s := range k.open {
		s.doubtful = false
	}
}

// SendingAged has a DELETE be sent, and the age of its entry go on.
func (k *Machine) SendingAged(t policy.Target) bool {
	s := k.find(t)
	if s == nil {
		return false
	}
	quiet := s.quiet
	sending := k.Sending(t)
	s.quiet = quiet
	return sending
}

// EndVoid ends an entry as void, whatever is known about it.
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

// Ended are the entries that have ended and are open in the ledger as last read, if they count.
func (k *Machine) Ended() []Entry {
	var all []Entry
	for _, s := range k.sorted() {
		if s.end.counts() {
			all = append(all, s.Entry)
		}
	}
	return all
}

// CountAgain counts an entry that is not open any more.
func (d *Update) CountAgain(e Entry) {
	if _, open := d.uids[e.UID]; d.object != nil && !open && d.keeper.find(e.Target) == nil {
		d.closed++
		count(d.object, e, countOf(deleted))
	}
}

// OpenTwice adds an entry whatever else is open about its object.
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
