package ledger

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// MaxOpen is how many entries of a leader may be open beside those in doubt.
	MaxOpen = 500
	// MaxDoubtful is how many more may be open in all: what is in doubt, own or inherited, leaves the room of the others
	// alone up to here, so that objects that refuse to go do not stop all the others.
	MaxDoubtful = 1500
)

// Update is what to write next. It is of no use after the keeper's next Read, Lost, Wrote or Draft.
type Update struct {
	keeper *Machine
	object *v1alpha1.RetentionLedger // with everything but what is open
	left   []Entry                   // still open
	opened []Entry
	uids   map[types.UID]struct{} // of both
	closed int
	owned  int // certain ones among left
	room   int

	doubtful map[string]int // among left, by namespace
	spare    int64          // how many more may be open, be they in doubt
}

// Draft is what to write next: the ledger as last read, with all ends applied at the time now and our holder. It is empty, and
// never Changed, when the keeper is deposed or must Read first.
func (k *Machine) Draft(now time.Time) *Update {
	d := &Update{keeper: k, uids: map[types.UID]struct{}{}, doubtful: map[string]int{}}
	k.draft = d
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

// settle leaves an entry open or closes it, and gives how much that spends.
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

// Room is how many more entries may be opened, by MaxOpen and by what the budget leaves; 0 until the ledger is ours. Without
// having been asked there is none. It also drops the spendings that do not matter to this budget any more: all if it is nil.
func (d *Update) Room(now time.Time, budget *Budget) int {
	d.room = 0
	if !d.live() || !d.keeper.sealed {
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

// Admits reports whether entries about a namespace may be opened: it must not have more of them in doubt than may be opened
// beside. So a namespace whose objects cannot be deleted leaves half of the room to the others, two of them a quarter, and one with
// nothing in doubt gets the last place.
func (d *Update) Admits(namespace string) bool { return int64(d.doubtful[namespace]) < d.spare }

// Open adds an entry. It is false, and nothing is added, when there is no room, when another entry about this object is open,
// when this very version is open in the ledger as last read even if it has ended since, when its object has been counted, or
// when it cannot be written down.
func (d *Update) Open(e Entry) bool {
	if !d.live() || d.room == 0 || !packable(e) || d.taken(e) {
		return false
	}
	d.room--
	d.spare--
	d.opened = append(d.opened, e)
	d.uids[e.UID] = struct{}{}
	d.keeper.tried[versionOf(e.Target)] = false
	return true
}

// taken reports whether an entry would be the second of its object. One of another version may be opened in the update that
// closes the first as void; one of the same version may not, since a lost write would leave open which of both is open.
func (d *Update) taken(e Entry) bool {
	_, open := d.uids[e.UID]
	_, counted := d.keeper.counted[e.UID]
	return open || counted || d.keeper.find(e.Target) != nil
}

// Changed reports whether it is worth writing.
func (d *Update) Changed() bool {
	return d.live() && (d.closed > 0 || len(d.opened) > 0 || !d.keeper.sealed)
}

// Object is to be written with its resourceVersion as optimistic lock. It is nil for an empty draft.
func (d *Update) Object() *v1alpha1.RetentionLedger {
	if d.object == nil {
		return nil
	}
	o := d.object.DeepCopy()
	o.Open = pack(append(d.left[:len(d.left):len(d.left)], d.opened...))
	return o
}

func (d *Update) live() bool { return d.object != nil && d.keeper.draft == d }
