// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	trimEvery     = time.Hour
	trimMost      = 2000           // objects that are deleted in an hour
	trimAtOnce    = 50             // objects that are deleted in a tick of the upkeep
	refusedFor    = 24 * time.Hour // after a refused deletion, until the next attempt for the objects of the day
	deleteTimeout = 10 * time.Second
	listTimeout   = 5 * time.Minute
)

// trimmer deletes from an archive what is older than spec.retain, a part in each tick.
type trimmer struct {
	*worker
	generation int64 // of the spec by which days were found
	listed     time.Time
	days       []archive.Expiry     // to delete
	refused    map[string]time.Time // the store refuses to delete objects of this day until then; by Expiry.Hold
}

// reportRefused exports how many days the store keeps although they are older than spec.retain.
func (t *trimmer) reportRefused() {
	metrics.ArchiveRefused.WithLabelValues(t.name).Set(float64(len(t.refused)))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expired = nil; len(t.refused) > 0 {
		t.expired = fmt.Errorf("the store refuses to delete objects of %d days that are older than spec.retain, because of object lock, a hold in the store or a missing permission; Sunset retries every day", len(t.refused))
	}
}

// trim deletes some objects, unless the clock may be wrong.
func (t *trimmer) trim(ctx context.Context, s spec, now time.Time) {
	if t.generation != s.object.Generation { // legal holds and retain may have changed
		t.generation, t.listed, t.days, t.refused = s.object.Generation, time.Time{}, nil, nil
		t.reportRefused()
	}
	if s.retention.Retain == 0 || !t.isCurrent() {
		return
	}
	due := now.Sub(t.listed) >= trimEvery
	if !due && len(t.days) == 0 {
		return
	}
	if err := t.manager.mayRecord(ctx); err != nil {
		log.FromContext(ctx).V(1).Info("nothing deleted for spec.retain; Sunset retries", "archive", t.name, "why", err.Error())
		return
	}
	if now = t.manager.Clock.Now(); due {
		t.listed = now
		if err := t.list(ctx, s.retention, now); err != nil {
			log.FromContext(ctx).Error(err, "archive not listed for spec.retain; Sunset retries in an hour", "archive", t.name)
			return
		}
	}
	for left := trimAtOnce; left > 0 && len(t.days) > 0 && t.isCurrent(); left-- {
		day := &t.days[0]
		if err := t.deleteOne(ctx, day.Names[0]); err != nil {
			t.note(ctx, day, err, now)
			day.Names = nil // of this day, nothing more can be deleted for now
		} else {
			day.Names = day.Names[1:]
		}
		if len(day.Names) == 0 {
			t.days = t.days[1:]
		}
	}
}

// isCurrent reports whether the RetentionArchive still has the spec by which days were found, and no other one has its url.
func (t *trimmer) isCurrent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed && t.invalid == nil && t.shared == nil && t.spec.object.Generation == t.generation
}

// list finds what to delete in the next hour. It tries days again that the store refused to delete long ago.
func (t *trimmer) list(ctx context.Context, keep archive.Retention, now time.Time) (err error) {
	for hold, until := range t.refused {
		if now.Before(until) {
			keep.Holds = append(keep.Holds[:len(keep.Holds):len(keep.Holds)], hold)
		} else {
			delete(t.refused, hold)
		}
	}
	t.reportRefused()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	bucket, err := t.open(ctx)
	if err != nil {
		return err
	}
	list := func(prefix string) iter.Seq2[archive.Entry, error] { return bucket.List(ctx, prefix) }
	t.days, err = keep.Expired(list, now, trimMost)
	return err
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

// note notes why objects of a day were not deleted.
func (t *trimmer) note(ctx context.Context, day *archive.Expiry, err error, now time.Time) {
	log.FromContext(ctx).Info("objects older than spec.retain not deleted; Sunset retries", "archive", t.name, "day", day.Day, "err", err.Error())
	if !errors.Is(err, archive.ErrRefused) {
		return
	}
	if t.refused == nil {
		t.refused = map[string]time.Time{}
	}
	t.refused[day.Hold()] = now.Add(refusedFor)
	t.reportRefused()
}
