// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// Record is what is known about one image as of the last listing.
//
// The current wall clock minus one of its times is the time observed since then. The times are up to two seconds late, so that
// they need not change with every listing. Time that was not observed makes the times later, and they step with the wall clock.
// So a rule that evaluates "start + ttl <= now" is never early. The times do not include what has happened since the last
// listing: right before a removal, take another one and look again.
type Record struct {
	FirstSeen time.Time
	// LastUsed is the first listing that showed the image unused again, or the last listing while it is in use. It is zero for
	// an image that was never seen in use.
	LastUsed time.Time
}

// UnusedSince returns when the age of an image begins: the later of FirstSeen and LastUsed.
func (r Record) UnusedSince() time.Time { return policy.Latest(r.FirstSeen, r.LastUsed) }

// record is an image in the last listing. Its times are points of observed time.
type record struct {
	first time.Duration
	last  time.Duration // only if it was used
	used  bool
	inUse bool
	round uint64 // the last listing that showed it
}

// see applies one line of a listing. A listing may have several lines about one image, and each use counts. see reports whether
// the image was unused before and is in use now.
func (r *record) see(round uint64, observed time.Duration, inUse bool) bool {
	wasSeen := r.round == round
	if r.inUse {
		r.last = observed // it may have been used until now
	}
	began := inUse && !r.inUse
	if began {
		r.used, r.last = true, observed
	}
	r.inUse = inUse || wasSeen && r.inUse
	r.round = round
	return began
}

// begin starts the age of the image again.
func (r *record) begin(observed time.Duration) {
	r.first, r.last, r.used = observed, 0, r.inUse
	if r.inUse {
		r.last = observed
	}
}
