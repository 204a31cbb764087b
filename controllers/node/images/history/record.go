package history

import "time"

// Record is what is known about one image as of the last listing.
//
// Its times are such that the wall clock of now, minus one of them, is the time observed since; they are up to two seconds
// late, so that they need not change with every listing. So they come later by all the time that was not observed, step with
// the wall clock, and are safe in rules that say "start + ttl <= now". What has happened since the last listing is not in
// them: take a listing, and look again, right before a removal.
type Record struct {
	FirstSeen time.Time
	// LastUsed is the first listing that showed it unused again, or the last one while it is in use. It is zero for one never
	// seen in use.
	LastUsed time.Time
	// InUse is whether the last listing showed it in use.
	InUse bool
	// UnusedFor is for how long it was observed unused until the last listing. No wall clock has a part in it.
	UnusedFor time.Duration
}

// UnusedSince is where the age of an image begins: the later of FirstSeen and LastUsed.
func (r Record) UnusedSince() time.Time {
	if r.LastUsed.After(r.FirstSeen) {
		return r.LastUsed
	}
	return r.FirstSeen
}

// record is an image of the last listing. Its times are points of observed time.
type record struct {
	first time.Duration
	last  time.Duration // only if it was used
	used  bool
	inUse bool
	round uint64 // the last listing that showed it
}

// see takes over what one line of a listing says; a listing may have more about one image, and each use counts. It reports
// whether the image was unused before and is not any more.
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

// begin has the image begin again.
func (r *record) begin(observed time.Duration) {
	r.first, r.last, r.used = observed, 0, r.inUse
	if r.inUse {
		r.last = observed
	}
}

// start is where its age begins.
func (r *record) start() time.Duration {
	if r.used {
		return max(r.first, r.last)
	}
	return r.first
}
