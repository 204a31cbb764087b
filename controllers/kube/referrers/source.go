// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/engine"
)

const (
	absentEvery  = time.Second     // between lookups of a kind that does not exist
	resolveEvery = 5 * time.Second // between lookups of a kind whose existence is unknown
	lateAgain    = 5 * time.Minute // until everything is listed again, if reading an object took too long
)

// source is one kind of referrers, read with one set of extractors. The index expects it.
type source struct {
	watcher *Watcher
	from    references.SourceID
	row     *extract.Row
	before  *source            // watches the kind until this one is completely known; nil for none
	stop    context.CancelFunc // nil until it runs

	mu       sync.Mutex
	closed   bool                 // it reports nothing any more
	served   schema.GroupResource // where it was last found
	phase    Phase
	why      error                 // of phase Unknown
	listed   []references.Referrer // by a listing whose watch is not open yet
	waiting  bool                  // for that watch
	liveness *watchLiveness        // nil while the kind is neither listed nor watched
	again    time.Time             // when to list everything again; zero for never
}

// run lists and watches the kind until ctx ends.
func (s *source) run(ctx context.Context) {
	for ctx.Err() == nil {
		again := resolveEvery
		found, err := s.watcher.discovery.find(ctx, s.row.Kind, !s.row.Declared)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.lose(err)
		case found == nil:
			s.absent()
			again = absentEvery
		default:
			s.found(found)
			s.follow(ctx, found)
		}
		wake.Sleep(ctx, s.watcher.clock, wait.Jitter(again, 0.2))
	}
}

func (s *source) found(at *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = at.groupResource()
	s.loseLocked(references.ErrUnlisted)
}

// follow lists and watches a resource until ctx ends or the resource is no longer served.
func (s *source) follow(ctx context.Context, at *served) {
	c := s.newLiveness()
	d := newDecoder(ctx, s.watcher.compiler, s.row, at.kind)
	d.noteArrival, d.lose = c.noteArrival, s.lose
	defer d.close()
	defer s.dropLiveness()
	follower := listwatch.Follower{
		Name: string(s.from), Clock: s.watcher.clock, Store: store{s},
		ListerWatcher: &listWatch{source: s, liveness: c, Collection: &listwatch.Collection{
			Client: s.watcher.discovery.client, Path: at.path(), MetadataOnly: s.row.MetadataOnly(), Decoder: d, Clock: s.watcher.clock,
		}},
		Failed: func(err error) {
			if why := reason(err, at.name()); why != nil {
				s.lose(why)
			}
		},
	}
	follower.Run(ctx)
}

// denied is the reason of a source for which the permission to list and watch is missing.
type denied struct{ error }

// reason returns why references are unknown after a failed list or watch; nil if a new list is enough.
func reason(err error, resource string) error {
	switch {
	case err == nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return nil
	case apierrors.IsForbidden(err):
		return denied{errors.New(listwatch.Refused(resource, "list", "watch"))}
	default:
		return fmt.Errorf("cannot list and watch %s: %w", resource, err)
	}
}

func (s *source) newLiveness() *watchLiveness {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.liveness = &watchLiveness{clock: s.watcher.clock, closed: s.watcher.clock.Now(), report: s.reportLive}
	if s.closed {
		s.liveness.mute()
	}
	s.liveness.report(false)
	return s.liveness
}

// reportLive resumes the source in the index if its watch is live, and pauses it otherwise.
func (s *source) reportLive(live bool) {
	if live {
		s.watcher.index.Resume(s.from)
	} else {
		s.watcher.index.Pause(s.from)
	}
}

func (s *source) dropLiveness() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.liveness = nil
}

// check makes the references unknown if changes may have been missed. It is called every second.
func (s *source) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		s.before.check()
	}
	if s.liveness == nil {
		return
	}
	s.liveness.settle()
	if why := s.liveness.doubt(); why != nil && s.phase == Watched {
		s.loseLocked(why)
	}
	if !s.again.IsZero() && s.watcher.clock.Now().After(s.again) {
		s.again = time.Time{}
		s.loseLocked(references.ErrUnlisted)
		s.liveness.cut()
	}
}

var errSlept = errors.New("the machine was suspended or its clock changed; Sunset lists the kind again")

// restart lists everything again.
func (s *source) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		s.before.restart()
	}
	if s.phase != Unknown {
		s.loseLocked(errSlept)
	}
	if s.liveness != nil {
		s.liveness.cut()
	}
}

// lose records that the references of the kind are not completely known, and why.
func (s *source) lose(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseLocked(why)
}

func (s *source) loseLocked(why error) {
	s.listed, s.waiting = nil, false
	if s.closed || s.phase == Unknown && s.why.Error() == why.Error() {
		return
	}
	s.phase, s.why = Unknown, why
	s.watcher.index.Lose(s.from, why)
}

// absent records that the kind does not exist, and so has no objects.
func (s *source) absent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.phase != Absent {
		s.listed = nil
		s.publish(Absent)
		s.reportLive(true)
	}
}

// begin is called before a listing. It drops an earlier listing that no watch has continued.
func (s *source) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed, s.waiting = nil, false
}

// replace takes a listing. The listing counts once a watch is open that continues from it.
func (s *source) replace(all []references.Referrer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = time.Time{}
	for i := range all {
		s.noteLate(&all[i])
	}
	if s.listed, s.waiting = all, true; s.liveness.listed() {
		s.publish(Watched)
	}
}

// resumes reports whether a watch may continue where the previous listing or watch ended. If changes may have been missed in
// between, a new listing is necessary.
func (s *source) resumes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting || s.phase == Watched
}

// opened records that a watch is open, and reports whether the references of the kind are known with it.
func (s *source) opened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		s.publish(Watched)
	}
	return s.phase == Watched
}

// publish passes the listing to the index, and ends the source before.
func (s *source) publish(phase Phase) {
	if s.closed {
		return
	}
	if s.before == nil {
		s.watcher.index.Replace(s.from, s.listed)
	} else {
		s.watcher.index.Succeed(s.from, s.before.from, s.row.About(), s.listed)
		s.before.close()
		s.before = nil
	}
	s.phase, s.why, s.listed, s.waiting = phase, nil, nil, false
}

// handOver returns the source that a later source of the kind replaces: this one, or if it is not completely known the one before,
// which no longer belongs to this one.
func (s *source) handOver() *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != Unknown {
		return s
	}
	before := s.before
	s.before = nil
	return before
}

// names returns the names of the source and of the one before.
func (s *source) names() []references.SourceID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before == nil {
		return []references.SourceID{s.from}
	}
	return append(s.before.names(), s.from)
}

// marked records that the watch has sent a bookmark.
func (s *source) marked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.liveness != nil {
		s.liveness.mark()
	}
}

func (s *source) put(r *references.Referrer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.noteLate(r)
	s.watcher.index.Put(s.from, *r)
}

func (s *source) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.watcher.index.Remove(s.from, uid)
	}
}

// close ends the source. From then on it reports nothing, even if requests are still in flight.
func (s *source) close() {
	if s.stop != nil {
		s.stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.liveness != nil {
		s.liveness.mute()
	}
	if s.before != nil { // first: without this source, only its kinds could count as known
		s.before.close()
		s.before = nil
	}
	s.watcher.index.Forget(s.from)
}

// noteLate schedules a new listing if reading an object took too long: the object may never change again.
func (s *source) noteLate(r *references.Referrer) {
	if r.Err != nil && s.again.IsZero() && errors.Is(r.Err, engine.ErrDeadline) {
		s.again = s.watcher.clock.Now().Add(lateAgain)
	}
}

// states returns the states of the source and of the one before.
func (s *source) states() (all []State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		all = s.before.states()
	}
	var refused denied
	return append(all, State{Kind: s.row.Kind, From: s.from, About: s.row.About(), Phase: s.phase, Why: s.why, Resource: s.served, Denied: errors.As(s.why, &refused)})
}
