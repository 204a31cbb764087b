// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	trimEvery = time.Hour // between two listings, if Sunset has deleted all that has expired
	trimMost  = 20_000    // objects of one listing; their names are in memory
	// trimAtOnce is how many objects are deleted in a tick of the upkeep: up to 20 a second. However few records a segment has, a worker
	// adds at most five segments a second (segmentAge), so that what expires in a day is deleted within about six hours. A store takes
	// hundreds of such requests a second.
	trimAtOnce    = 100
	trimParallel  = 10             // requests at the same time, so that a store with slow answers keeps up too
	trimFailures  = 3              // ticks in a row in which all requests fail, until the objects of the day wait for the next listing
	trimLate      = 24 * time.Hour // after that the condition says that Sunset does not keep up
	refusedFor    = 24 * time.Hour // after a refused deletion, until the next attempt for the objects of the day
	deleteTimeout = 10 * time.Second
	listTimeout   = 5 * time.Minute
)

// trimmer deletes from an archive what is older than spec.retain, a part in each tick.
type trimmer struct {
	*worker
	last       lastCheck
	generation int64 // of the spec by which days were found
	listed     time.Time
	unlisted   error                // why the last listing failed
	days       []archive.Expiry     // to delete
	truncated  bool                 // the listing has left something out
	failures   int                  // ticks in a row in which all requests failed
	failed     archive.Expiry       // the oldest day of the listing that waits for the next one, because requests failed; zero for none
	cause      error                // why requests failed
	refused    map[string]time.Time // the store refuses to delete objects of this day until then; by Expiry.Hold
	oldest     archive.Expiry       // the oldest day that is not deleted yet; zero for none
	began      time.Time            // since then there has always been one
}

// trim deletes some objects, unless the clock may be wrong.
func (t *trimmer) trim(ctx context.Context, s spec, now time.Time) {
	if t.generation != s.object.Generation { // legal holds and retain may have changed
		*t = trimmer{worker: t.worker, generation: s.object.Generation}
		t.reportExpired(now)
	}
	if s.retention.Retain == 0 {
		return
	}
	if due := now.Sub(t.listed) >= trimEvery || t.truncated && len(t.days) == 0; due || len(t.days) > 0 {
		t.work(ctx, s.retention, due)
	}
	t.reportExpired(t.manager.Clock.Now())
}

func (t *trimmer) work(ctx context.Context, keep archive.Retention, due bool) {
	t.last = lastCheck{}
	if err := t.check(ctx); err != nil {
		log.FromContext(ctx).V(1).Info("nothing deleted for spec.retain; Sunset retries", "archive", t.name, "why", err.Error())
		return
	}
	if now := t.manager.Clock.Now(); due {
		t.listed = now
		if t.unlisted = t.list(ctx, keep, now); t.unlisted != nil {
			log.FromContext(ctx).Error(t.unlisted, "archive not listed for spec.retain; Sunset retries in an hour", "archive", t.name)
			return
		}
	}
	for left := trimAtOnce; left > 0 && len(t.days) > 0 && t.check(ctx) == nil; {
		before := len(t.days[0].Names)
		tried, err := t.deleteSome(ctx, left)
		if len(t.days[0].Names) < before {
			t.failures = 0
		}
		if left -= tried; err != nil && !t.giveUp(ctx, err) {
			return
		}
		if len(t.days[0].Names) == 0 {
			t.days = t.days[1:]
		}
	}
}

// reportExpired exports what the archive has although it is older than spec.retain.
func (t *trimmer) reportExpired(now time.Time) {
	switch {
	case t.failed.Day != "":
		t.oldest = t.failed
	case len(t.days) > 0:
		t.oldest = t.days[0]
	case !t.truncated && t.unlisted == nil: // otherwise the next listing says it
		t.oldest = archive.Expiry{}
	}
	late := time.Duration(0)
	if t.oldest.Day == "" {
		t.began = time.Time{}
	} else if late = now.Sub(t.oldest.Over); t.began.IsZero() {
		t.began = now
	}
	metrics.ArchiveRefused.WithLabelValues(t.name).Set(float64(len(t.refused)))
	metrics.ArchiveExpired.WithLabelValues(t.name).Set(late.Seconds())
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.refused) > 0:
		t.expired = fmt.Errorf("the store refuses to delete objects of %d days that are older than spec.retain, because of object lock, a hold in the store or a missing permission; Sunset retries every day", len(t.refused))
	case t.unlisted != nil:
		t.expired = fmt.Errorf("list the store for spec.retain: %w; Sunset retries every hour", t.unlisted)
	case t.oldest.Day != "" && now.Sub(t.began) >= trimLate:
		t.expired = fmt.Errorf("objects of %s are older than spec.retain, and a day was not enough to delete all such objects: %w", strings.Trim(t.oldest.Day, "/"),
			cmp.Or(t.cause, errors.New("there are too many, or the store is slow")))
	default:
		t.expired = nil
	}
}

// lastCheck is the last check whether objects may be deleted.
type lastCheck struct {
	mu  sync.Mutex
	at  time.Time // when the answer of the API server arrived
	err error     // why nothing more may be deleted in this tick; nil if it may
}

// check returns an error unless the RetentionArchive has the spec by which days were found, and no other one has its url. The answer of
// the API server is at most a second old: a cache could lack a new legal hold.
func (t *trimmer) check(ctx context.Context) error {
	t.last.mu.Lock()
	defer t.last.mu.Unlock()
	if t.last.err == nil && !preflight.Fresh(t.manager.Clock.Now(), t.last.at) {
		t.last.err = t.checkNow(ctx)
		t.last.at = t.manager.Clock.Now()
	}
	return t.last.err
}

func (t *trimmer) checkNow(ctx context.Context) error {
	if err := t.manager.mayRecord(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	all, err := readFrom(ctx, t.manager.Live)
	if err != nil {
		return fmt.Errorf("read RetentionArchives: %w", err)
	}
	i := slices.IndexFunc(all, func(a reading) bool { return a.UID == t.uid && a.Generation == t.generation })
	if i < 0 {
		return errEdited
	}
	return cmp.Or(all[i].invalid, all[i].shared)
}

var errEdited = errors.New("the RetentionArchive was edited or deleted")

// list finds what to delete next. It tries days again that the store refused to delete long ago.
func (t *trimmer) list(ctx context.Context, keep archive.Retention, now time.Time) (err error) {
	for hold, until := range t.refused {
		if now.Before(until) {
			keep.Holds = append(keep.Holds[:len(keep.Holds):len(keep.Holds)], hold)
		} else {
			delete(t.refused, hold)
		}
	}
	t.days, t.truncated, t.failures, t.failed, t.cause = nil, false, 0, archive.Expiry{}, nil
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	bucket, err := t.open(ctx)
	if err != nil {
		return err
	}
	list := func(prefix string) iter.Seq2[archive.Entry, error] { return bucket.List(ctx, prefix) }
	t.days, err = keep.Expired(list, now, trimMost)
	n := 0
	for _, day := range t.days {
		n += len(day.Names)
	}
	t.truncated = n == trimMost
	return err
}

// deleteSome deletes objects of the first day, several at the same time and all of one kind: its index goes after its segments. It
// returns how many it tried. Those that are left stay in the day. The error is one after which it stopped.
func (t *trimmer) deleteSome(ctx context.Context, most int) (tried int, err error) {
	day := &t.days[0]
	kind, _, _ := strings.Cut(day.Names[0], "/")
	for tried < min(most, len(day.Names)) && strings.HasPrefix(day.Names[tried], kind) {
		tried++
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(trimParallel)
	deleted, failed := make([]bool, tried), atomic.Int32{}
	for n, name := range day.Names[:tried] {
		group.Go(func() error {
			if ctx.Err() != nil || t.check(ctx) != nil {
				return ctx.Err()
			}
			err := t.deleteOne(ctx, name)
			if deleted[n] = err == nil; err == nil || !errors.Is(err, archive.ErrRefused) && int(failed.Add(1)) < min(trimParallel, tried) {
				return nil
			}
			return err
		})
	}
	err = group.Wait()
	left := []string(nil)
	for n, name := range day.Names[:tried] {
		if !deleted[n] {
			left = append(left, name)
		}
	}
	day.Names = slices.Concat(left, day.Names[tried:])
	return tried, err
}

func (t *trimmer) deleteOne(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := t.Delete(ctx, name); err != nil {
		return err
	}
	metrics.ArchiveDeletedObjects.WithLabelValues(t.name).Inc()
	return nil
}

// giveUp reports whether the objects of the first day must wait for another listing, because of an error. Otherwise the next tick tries
// them again.
func (t *trimmer) giveUp(ctx context.Context, err error) bool {
	day := &t.days[0]
	log.FromContext(ctx).Info("objects older than spec.retain not deleted; Sunset retries", "archive", t.name, "day", day.Day, "err", err.Error())
	if t.failures++; !errors.Is(err, archive.ErrRefused) {
		if t.failures < trimFailures {
			return false
		}
		t.truncated = false // it is not listed again at once
		if t.cause = err; t.failed.Day == "" {
			t.failed = archive.Expiry{Day: day.Day, Over: day.Over}
		}
	} else {
		if t.refused == nil {
			t.refused = map[string]time.Time{}
		}
		t.refused[day.Hold()] = t.manager.Clock.Now().Add(refusedFor)
	}
	t.failures, day.Names = 0, nil
	return true
}
