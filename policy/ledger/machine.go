// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrDeposed means that another controller has taken over the ledger. The machine cannot be used any more.
var ErrDeposed = errors.New("another controller holds the ledger")

// Machine is the state of one policy's ledger in one leader. It is not safe for concurrent use.
type Machine struct {
	holder string
	stored *v1alpha1.RetentionLedger // as last read or written
	open   map[types.UID]*state      // the open entries in stored
	// tried are the versions opened in updates made from stored. Such an update may still be written, or may have been written. The
	// value is true if the entry is no longer wanted.
	tried map[version]bool
	// counted are objects that have ended as deleted or gone. The caller may not have observed yet that they no longer exist.
	counted map[types.UID]bool // the value is true if Forget has seen the UID before
	latest  *Update            // the latest
	lostAt  string             // the resourceVersion of stored when the result of a write became unknown

	held    bool // stored has had our holder before
	sealed  bool // stored has our holder
	lost    bool // stored may differ from the ledger in the API server
	deposed bool
}

// New makes the machine of one leader. The holder must be a name that no other machine has had, not even an earlier one of this
// process. Call Read next.
func New(holder string) *Machine {
	return &Machine{holder: holder, lost: true, tried: map[version]bool{}, counted: map[types.UID]bool{}}
}

// Read takes the ledger as the API server has it, from a quorum read that began after the last write ended. The first read adopts
// it: its open entries were written by a former holder and are doubtful, and the next NewUpdate sets our holder. Before that write,
// the machine opens no entries and permits no DELETE.
//
// It fails with ErrDeposed if a ledger that we have held has another holder, and with another error if something in it cannot be
// read. Then no update is made and nothing is sent until a Read succeeds. The machine keeps stored, which must not change.
func (k *Machine) Read(stored *v1alpha1.RetentionLedger) error {
	k.latest, k.sealed, k.lost = nil, false, true
	if k.held && stored.Holder != k.holder {
		k.deposed = true
	}
	if k.deposed {
		return fmt.Errorf("%w: %q instead of %q", ErrDeposed, stored.Holder, k.holder)
	}
	return k.adopt(stored)
}

// Wrote takes the API server's response to the write of d's object: its entries are confirmed open from now on. For all but the
// latest update it is the same as Lost.
func (k *Machine) Wrote(d *Update, stored *v1alpha1.RetentionLedger) {
	latest := d != nil && d == k.latest
	k.Lost()
	if latest && stored.Holder == k.holder {
		_ = k.adopt(stored) // on an error the ledger stays lost, and the next Read returns the error
	}
}

// Lost says that the last update was not written (a conflict), or that the result is unknown (no response). NewUpdate gives only empty
// updates until Read.
func (k *Machine) Lost() {
	k.latest, k.lost = nil, true
	if k.stored != nil {
		k.lostAt = k.stored.ResourceVersion
	}
}

// MayBeReplaced reports whether a lost write may still replace the ledger as last read. Its entries are then not known to be open. Call
// Read again after a while, unless something else is written before.
func (k *Machine) MayBeReplaced() bool {
	return !k.deposed && k.stored != nil && k.lostAt != "" && k.lostAt == k.stored.ResourceVersion
}

// Stored is the ledger as last read or written; nil before that. Do not change it.
func (k *Machine) Stored() *v1alpha1.RetentionLedger { return k.stored }

// Forget drops counted objects from memory, except those that the caller still knows and those counted since the last call. Call
// it from time to time. A counted object is not opened again while it is in memory.
func (k *Machine) Forget(known func(types.UID) bool) {
	for uid, seen := range k.counted {
		switch {
		case known(uid):
		case seen:
			delete(k.counted, uid)
		default:
			k.counted[uid] = true
		}
	}
}

// adopt replaces the known ledger with stored. Known entries keep their state.
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
		clear(k.tried) // all earlier updates can only conflict
	}
	k.stored, k.open = stored, open
	k.lost, k.sealed = false, stored.Holder == k.holder
	k.held = k.held || k.sealed
	return nil
}

// known is the state of an open entry in the ledger.
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
