// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"maps"
	"sync"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// MaxSnapshots is how many VolumeSnapshots of one policy may be in progress, or have failed within two minutes, at the same time. Those
// that are ready count in their namespace, as long as their claims are due and not deleted.
const MaxSnapshots = 10

// snapshotForgotten is how long a VolumeSnapshot counts as in progress since its creation, or since an attempt has last seen it in
// progress. Attempts come more often.
const snapshotForgotten = 2 * time.Minute

// snapshots counts the VolumeSnapshots in progress of a pipeline, and knows since when claims are due. The zero value is ready.
type snapshots struct {
	mu    sync.Mutex
	open  map[item]openSnapshot
	due   map[item]dueClaim
	swept time.Time // when due was last swept
}

// openSnapshot is a VolumeSnapshot whose claim is not deleted yet.
type openSnapshot struct {
	policy string
	at     time.Time // of its creation, or when an attempt last saw it in progress
	ready  bool
}

// dueClaim is a claim that this process has seen to be due.
type dueClaim struct {
	start time.Time // of its time to live
	since time.Time // when it was first seen to be due, or when it needed a new VolumeSnapshot
	needs policy.ClaimSnapshot
	made  time.Time // when its VolumeSnapshot was created or first read; zero without one
	slow  bool      // its VolumeSnapshot was reported to be slow
}

// sweepEvery is how often claims that no longer exist are forgotten.
const sweepEvery = time.Hour

// since returns since when this process has seen that the claim of an intent is due. When half of retain has passed, the claim needs
// another VolumeSnapshot, so that each exists for the other half after the deletion. It also does after an edit of snapshot.
func (s *snapshots) since(it item, i policy.Intent, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due == nil {
		s.due = map[item]dueClaim{}
	}
	d, known := s.due[it]
	needs := *i.Rule.Snapshot
	if !known || !d.start.Equal(i.Start) || d.needs != needs || needs.Retain > 0 && now.Sub(d.since) > needs.Retain/2 {
		d = dueClaim{start: i.Start, since: now, needs: needs}
		s.due[it] = d
	}
	return d.since
}

// sweep forgets what it knows about claims that no longer exist.
func (s *snapshots) sweep(now time.Time, exists func(item) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.swept) < sweepEvery {
		return
	}
	s.swept = now
	maps.DeleteFunc(s.due, func(it item, _ dueClaim) bool { return !exists(it) })
	maps.DeleteFunc(s.open, func(it item, _ openSnapshot) bool { return !exists(it) })
}

// acquire reports whether a subject may have a VolumeSnapshot in progress, and then counts it.
func (s *snapshots) acquire(it item, by string, now time.Time, isDue func(item) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.others(it, by, now, isDue) >= MaxSnapshots {
		return false
	}
	s.count(it, openSnapshot{by, now, false})
	return true
}

// add counts a VolumeSnapshot that exists.
func (s *snapshots) add(it item, o openSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(it, o)
}

// waits reports whether the VolumeSnapshot of a subject is in progress, and whether a subject without one must wait because there are too
// many others.
func (s *snapshots) waits(it item, by string, now time.Time, isDue func(item) bool) (inProgress, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, open := s.open[it]
	return open && !o.ready, !open && s.due[it].made.IsZero() && s.others(it, by, now, isDue) >= MaxSnapshots
}

// count counts a VolumeSnapshot. mu must be held.
func (s *snapshots) count(it item, o openSnapshot) {
	if s.open == nil {
		s.open = map[item]openSnapshot{}
	}
	s.open[it] = o
}

// others returns how many VolumeSnapshots of other subjects a policy has in progress, and ready in the same namespace. isDue says whether
// the claim of a ready one is still to be deleted. mu must be held.
func (s *snapshots) others(it item, by string, now time.Time, isDue func(item) bool) (n int) {
	for other, o := range s.open {
		switch {
		case other == it || o.policy != by || o.ready && other.namespace != it.namespace:
		case o.ready && !isDue(other), !o.ready && now.Sub(o.at) > snapshotForgotten:
			delete(s.open, other)
		default:
			n++
		}
	}
	return n
}

// fail counts a VolumeSnapshot that was ready, and is not any more, like one in progress.
func (s *snapshots) fail(it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, open := s.open[it]; open {
		o.ready = false
		s.open[it] = o
	}
}

// release no longer counts the VolumeSnapshot of a subject as in progress.
func (s *snapshots) release(it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, it)
}

// setSnapshotted records whether a subject has a VolumeSnapshot. It reports whether the subject had none before.
func (s *snapshots) setSnapshotted(it item, has bool, now time.Time) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.due[it]
	switch {
	case !ok:
		return false
	case !has:
		d.made, d.slow = time.Time{}, false
	case d.made.IsZero():
		d.made, first = now, true
	}
	s.due[it] = d
	return first
}

// becomesSlow reports, once for each VolumeSnapshot, whether it was created SnapshotSlowAfter ago.
func (s *snapshots) becomesSlow(it item, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.due[it]
	if !ok || d.slow || d.made.IsZero() || now.Sub(d.made) < SnapshotSlowAfter {
		return false
	}
	d.slow = true
	s.due[it] = d
	return true
}
