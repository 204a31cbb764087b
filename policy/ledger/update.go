// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// MaxOpen is the maximum number of open entries of a leader, without the doubtful ones.
	MaxOpen = 500
	// MaxDoubtful is how many more entries can be open in total. Doubtful entries, own or inherited, use no room of the other
	// entries up to this number, so that objects that cannot be deleted do not stop all others.
	MaxDoubtful = 1500
)

// Update is the next write. It is invalid after the machine's next Read, Lost, Wrote or NewUpdate.
type Update struct {
	machine *Machine
	object  *v1alpha1.RetentionLedger // without the open entries
	left    []Entry                   // still open
	opened  []Entry
	uids    map[types.UID]struct{} // of left and opened
	closed  int
	owned   int // entries in left that are not doubtful
	room    int

	doubtful map[string]int // entries in left, by namespace
	spare    int64          // how many more may be open, even if they become doubtful
}

// NewUpdate gives the next write: the ledger as last read, with all ended entries counted at now, and the holder of the machine. It
// is empty, and never Changed, if the machine is deposed or must Read first.
func (k *Machine) NewUpdate(now time.Time) *Update {
	d := &Update{machine: k, uids: map[types.UID]struct{}{}, doubtful: map[string]int{}}
	k.latest = d
	if k.lost || k.deposed {
		return d
	}
	d.object = k.stored.DeepCopy()
	d.object.Holder, d.object.Open = k.holder, nil
	var spent int64
	for _, s := range k.sorted() {
		spent += d.settle(s)
	}
	d.object.Spent = spend(d.object.Spent, now, spent)
	return d
}

// settle leaves an entry open or closes it, and returns how many deletions it spends.
func (d *Update) settle(s *state) int64 {
	if s.end == none {
		d.left = append(d.left, s.Entry)
		d.uids[s.UID] = struct{}{}
		if s.doubtful {
			d.doubtful[s.Namespace]++
		} else {
			d.owned++
		}
		return 0
	}
	d.closed++
	if !s.end.counts() {
		return 0
	}
	count(d.object, s.Entry, countOf(s.end))
	return 1
}

// Room is how many more entries can be opened, by MaxOpen and the budget; 0 until the ledger is sealed. Open adds nothing before
// a call of Room. Room also drops the spendings that do not count for this budget any more: all if it is nil.
func (d *Update) Room(now time.Time, budget *Budget) int {
	d.room = 0
	if !d.live() || !d.machine.sealed {
		return 0
	}
	d.object.Spent = budget.prune(d.object.Spent, now)
	open := len(d.left) + len(d.opened)
	d.spare = int64(MaxOpen + MaxDoubtful - open)
	if budget != nil {
		d.spare = min(d.spare, budget.Max-int64(open)-budget.spent(d.object.Spent, now))
	}
	d.room = int(max(0, min(int64(MaxOpen-d.owned-len(d.opened)), d.spare)))
	return d.room
}

// Admits reports whether entries of a namespace can be opened: it must have fewer doubtful entries than the remaining room. So a
// namespace whose objects cannot be deleted leaves half of the room to the others, and two such namespaces leave a quarter. A
// namespace without doubtful entries can use the last place.
func (d *Update) Admits(namespace string) bool { return int64(d.doubtful[namespace]) < d.spare }

// Open adds an entry. It returns false and adds nothing in these cases:
//   - The update has no room.
//   - Another entry of this object is open.
//   - This version is open in the ledger as last read, even if its entry has ended since.
//   - The object has been counted.
//   - The entry cannot be encoded.
func (d *Update) Open(e Entry) bool {
	if !d.live() || d.room == 0 || !packable(e) || d.taken(e) {
		return false
	}
	d.room--
	d.spare--
	d.opened = append(d.opened, e)
	d.uids[e.UID] = struct{}{}
	d.machine.tried[versionOf(e.Target)] = false
	return true
}

// taken reports whether the entry would be the second of its object. An entry of another version can be opened in the update that
// closes the first as void. An entry of the same version cannot, because after a lost write it would be unknown which of both is
// open.
func (d *Update) taken(e Entry) bool {
	_, open := d.uids[e.UID]
	_, counted := d.machine.counted[e.UID]
	return open || counted || d.machine.find(e.Target) != nil
}

// Changed reports whether the update has changes to write.
func (d *Update) Changed() bool {
	return d.live() && (d.closed > 0 || len(d.opened) > 0 || !d.machine.sealed)
}

// Object must be written with its resourceVersion as optimistic lock. It is nil for an empty update.
func (d *Update) Object() *v1alpha1.RetentionLedger {
	if d.object == nil {
		return nil
	}
	o := d.object.DeepCopy()
	o.Open = pack(append(d.left[:len(d.left):len(d.left)], d.opened...))
	return o
}

func (d *Update) live() bool { return d.object != nil && d.machine.latest == d }
