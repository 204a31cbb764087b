package ledger

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrDeposed says that somebody else has taken the ledger over. The keeper is of no more use.
var ErrDeposed = errors.New("another controller holds the ledger")

// Machine is one leader's side of one policy's ledger. Not safe for concurrent use.
type Machine struct {
	holder string
	stored *v1alpha1.RetentionLedger // as last read or written
	open   map[types.UID]*state      // what is open there
	// tried are the versions opened in drafts that were made from stored: such a draft may land yet, or have landed. The
	// value says whether the entry is not wanted any more.
	tried map[version]bool
	// counted are objects that have ended as deleted or gone. Whoever decides may not have seen yet that they are gone.
	counted map[types.UID]bool // the value says whether Forget has met it before
	draft   *Update            // the latest
	lostAt  string             // the resourceVersion from which a draft was made that nobody knows the fate of

	held    bool // stored has had our holder
	sealed  bool // stored has our holder
	lost    bool // stored may not be what the API server has
	deposed bool
}

// New makes the keeper of one leader. The holder must be a name that no other keeper has had, also not an earlier one of
// this process. Read comes next.
func New(holder string) *Machine {
	return &Machine{holder: holder, lost: true, tried: map[version]bool{}, counted: map[types.UID]bool{}}
}

// Read takes the ledger as the API server has it, by a quorum read that began after the last write ended. The first read
// adopts it: what is open there was written by a former holder and is doubtful, and the next Draft puts our holder in.
// Nothing may be opened or sent before that is written.
//
// It fails with ErrDeposed once another holder is found in a ledger that we have held, and otherwise if something in it
// cannot be read; nothing is drafted or sent then until a Read succeeds. The keeper keeps stored: do not change it.
func (k *Machine) Read(stored *v1alpha1.RetentionLedger) error {
	k.draft, k.sealed, k.lost = nil, false, true
	if k.held && stored.Holder != k.holder {
		k.deposed = true
	}
	if k.deposed {
		return fmt.Errorf("%w: %q instead of %q", ErrDeposed, stored.Holder, k.holder)
	}
	return k.adopt(stored)
}

// Wrote takes the API server's answer to writing d's object: its entries are confirmed open from now on. An answer to
// any but the latest draft is taken like a lost one.
func (k *Machine) Wrote(d *Update, stored *v1alpha1.RetentionLedger) {
	latest := d != nil && d == k.draft
	k.Lost()
	if latest && stored.Holder == k.holder {
		_ = k.adopt(stored) // what cannot be read stays lost, and the next Read says why
	}
}

// Lost says that nobody knows whether the last draft was written (no answer), or that it was not (a conflict). Nothing more
// may be drafted until Read.
func (k *Machine) Lost() {
	k.draft, k.lost = nil, true
	if k.stored != nil {
		k.lostAt = k.stored.ResourceVersion
	}
}

// Loose reports whether a lost write may still land on the ledger as last read. What it would open is not known to be open
// then: Read again after a while, unless something else is written before.
func (k *Machine) Loose() bool {
	return !k.deposed && k.stored != nil && k.lostAt != "" && k.lostAt == k.stored.ResourceVersion
}

// Stored is the ledger as last read or written; nil before that. It must not be changed.
func (k *Machine) Stored() *v1alpha1.RetentionLedger { return k.stored }

// Forget drops what is remembered about objects that have been counted, but for those that are still known to whoever
// decides and those counted since the last time. Call it now and then: what has been counted is opened never again while it
// is remembered.
func (k *Machine) Forget(known func(types.UID) bool) {
	for uid, met := range k.counted {
		switch {
		case known(uid):
		case met:
			delete(k.counted, uid)
		default:
			k.counted[uid] = true
		}
	}
}

// adopt makes stored the ledger that is known. Entries that were known keep their state.
func (k *Machine) adopt(stored *v1alpha1.RetentionLedger) error {
	entries, err := unpack(stored)
	if err != nil {
		return err
	}
	open := make(map[types.UID]*state, len(entries))
	for _, e := range entries {
		open[e.UID] = k.known(e)
	}
	if k.stored == nil || k.stored.ResourceVersion != stored.ResourceVersion {
		clear(k.tried) // all drafts made before can only conflict
	}
	k.stored, k.open = stored, open
	k.lost, k.sealed = false, stored.Holder == k.holder
	k.held = k.held || k.sealed
	return nil
}

// known is the state of an entry that is open in the ledger.
func (k *Machine) known(e Entry) *state {
	if s, ok := k.open[e.UID]; ok && s.Is(e.Target) {
		return s
	}
	unwanted, ours := k.tried[versionOf(e.Target)]
	switch {
	case !ours:
		return &state{Entry: e, doubtful: true}
	case unwanted:
		return &state{Entry: e, end: void}
	default:
		return &state{Entry: e}
	}
}
