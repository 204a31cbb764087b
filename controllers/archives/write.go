// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
	"github.com/sunset-k8s/sunset/policy/audit"
)

const (
	segmentAge   = 200 * time.Millisecond // after its first record a segment is written, even if it is not full
	writeTimeout = time.Minute            // of one attempt to write a segment and to read it back
	maxRetry     = 30 * time.Second       // between two attempts
	attemptsMost = 5                      // to write a segment while the store takes other objects
	waitMost     = time.Hour              // of a record for its segment to be complete; then its object is recorded again
)

var errStale = fmt.Errorf("the store took no records for %s", waitMost)

// segment is the segment that grows.
type segment struct {
	wake wake.Signal // of the writer

	mu         sync.Mutex
	encryption                // of the records that it has
	next       *encryption    // to use from the next segment on; nil for the same
	requests   []*request     // by line
	most       int            // records that it may have; less than a full segment if the store has refused one of them before
	began      time.Time      // when the first record was added
	space      wake.Broadcast // a full segment is sealed, or another encryption used
}

// use has segments encrypted in this way from now on.
func (s *segment) use(e encryption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = &e
	if s.turn() {
		s.space.Send()
	}
	s.wake.Send()
}

// turn changes the encryption if the segment is empty, and reports whether it has. The caller holds mu.
func (s *segment) turn() bool {
	if s.next == nil || len(s.requests) > 0 {
		return false
	}
	s.encryption, s.next = *s.next, nil
	return true
}

// add adds the record of an item to the segment. It waits while the segment is full.
func (w *worker) add(ctx context.Context, i *item, paths []redact.Path, began time.Time) error {
	s, now := &w.segment, w.manager.Clock.Now()
	w.mu.Lock()
	intent, most := i.request.intent, w.history.together(i.request.target.UID)
	w.mu.Unlock()
	record, err := recordOf(i, intent, paths, w.manager.clusterID(), began)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for s.builder == nil || s.builder.Full() || len(s.requests) > 0 && len(s.requests) >= min(s.most, most) {
		space := s.space.C()
		s.mu.Unlock()
		s.wake.Send()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-space:
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if hasSecret(i) && len(s.recipients) == 0 {
		return errPlainSecrets
	}
	if _, err := s.builder.Add(audit.ObjectOf(i.request.target), record); err != nil {
		return err
	}
	i.request.recorded, i.request.recipients, i.request.began = intent.Rule, s.recipients, began
	if s.requests = append(s.requests, i.request); len(s.requests) == 1 {
		s.began, s.most = now, archive.MaxRecords
		s.wake.Send()
	}
	s.most = min(s.most, most)
	if s.builder.Full() {
		s.wake.Send()
	}
	return nil
}

// hasSecret reports whether a record would have the data of Secrets.
func hasSecret(i *item) bool {
	return policy.StoredAs(i.request.target.Kind) == secretKind ||
		slices.ContainsFunc(i.dependents, func(d dependent) bool { return d.kind.GroupKind() == secretKind })
}

// write writes segments until ctx ends.
func (w *worker) write(ctx context.Context) {
	for pause := time.Duration(0); w.segment.wake.Wait(ctx, w.manager.Clock, pause); {
		var sealed archive.Segment
		var requests []*request
		var err error
		sealed, requests, pause, err = w.seal()
		switch {
		case err != nil:
			w.retry(fmt.Errorf("complete a segment: %w", err), requests...)
		case len(requests) > 0:
			w.store(ctx, sealed, requests)
			pause = 0
		}
	}
}

// seal completes the segment if it is time, and returns its requests by line. Otherwise it returns when that is.
func (w *worker) seal() (sealed archive.Segment, requests []*request, pause time.Duration, err error) {
	s := &w.segment
	s.mu.Lock()
	defer s.mu.Unlock()
	now := w.manager.Clock.Now()
	switch {
	case len(s.requests) == 0:
		return sealed, nil, idlePause, nil
	case !s.builder.Full() && s.next == nil && now.Before(s.began.Add(segmentAge)):
		return sealed, nil, s.began.Add(segmentAge).Sub(now), nil
	}
	sealed, err = s.builder.Seal(now)
	requests, s.requests = s.requests, nil
	s.turn()
	s.space.Send()
	return sealed, requests, 0, err
}

// store writes a segment until the store has it, and then issues the receipts. If the store has something else, the objects are
// recorded again. If it takes other objects but not this segment, they are recorded again in smaller segments. A segment
// with a record that has waited longer than waitMost for the segment before is not written: its name has the day of its records. If
// the clock may have been wrong, so may be that day, and the objects are recorded again, too.
func (w *worker) store(ctx context.Context, sealed archive.Segment, requests []*request) {
	oldest := slices.MinFunc(requests, func(a, b *request) int { return a.began.Compare(b.began) })
	if w.manager.Clock.Since(oldest.began) >= waitMost {
		w.retry(errStale, requests...)
		return
	}
	again := w.isRefusedAgain(requests)
	maybeWrongDay := false
	for attempt, pause := 1, firstBackoff; ; attempt, pause = attempt+1, min(2*pause, maxRetry) {
		began := w.manager.Clock.Now()
		err := w.manager.mayRecord(ctx)
		switch {
		case err != nil:
			maybeWrongDay = true
		case maybeWrongDay:
			w.note(func(p *store.Probe) { p.Write, w.retrying = nil, false }) // the next segment shows whether it can be written
			w.again(requests...)
			return
		default:
			err = w.storeOnce(ctx, sealed)
		}
		if err == nil {
			metrics.ArchiveWriteSeconds.Observe(w.manager.Clock.Since(began).Seconds())
			break
		}
		if ctx.Err() != nil {
			return
		}
		log.FromContext(ctx).Error(err, "segment not written", "archive", w.name, "segment", sealed.Name, "records", len(requests))
		isPart := errors.Is(err, archive.ErrPart)
		switch {
		case errors.Is(err, archive.ErrCorrupt):
			w.failedToWrite(err)
			w.discard(ctx, sealed.Name) // and the next probe lets the objects be read again
			w.retry(err, requests...)
			return
		case (isPart || again || attempt >= attemptsMost) && w.takesOthers(ctx):
			w.refused(err, again, requests)
			return
		case isPart:
			w.note(func(p *store.Probe) { p.Write = err }) // the next probe lets the objects be recorded again, under another name
			w.retry(err, requests...)
			return
		}
		w.failedToWrite(err)
		wake.Sleep(ctx, w.manager.Clock, pause)
	}
	w.wrote(nil)
	w.issue(sealed, requests)
}

// isRefusedAgain reports whether a segment has only records that the store has refused, while it has taken others since.
func (w *worker) isRefusedAgain(requests []*request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range requests {
		if f := w.history.failures(r.target.UID); f.refusals == 0 || !w.written.last.After(f.refused) {
			return false
		}
	}
	return true
}

// takesOthers reports whether the store takes other objects than segments.
func (w *worker) takesOthers(ctx context.Context) bool {
	if w.manager.mayRecord(ctx) != nil {
		return false
	}
	p := w.probeNow(ctx)
	return p.Write == nil && p.Read == nil
}

// refused gives back the requests of a segment that the store does not take, and lets other segments be written. If the store takes
// none, the RetentionArchive says why until it takes one.
func (w *worker) refused(err error, again bool, requests []*request) {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	for _, r := range requests {
		w.history.refused(r.target.UID, err, now)
	}
	refusal := w.refusal
	w.refusedAt = now
	w.mu.Unlock()
	if !again {
		refusal = err
	}
	w.wrote(refusal)
	w.retry(fmt.Errorf("the store refuses the record: %w", err), requests...)
}

// storeOnce writes a segment and reads it back.
func (w *worker) storeOnce(ctx context.Context, sealed archive.Segment) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return w.Write(ctx, sealed.Name, sealed.Data)
}

// discard deletes what the store has instead of a segment that has no receipts. If it cannot, verification reports the object.
func (w *worker) discard(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_ = w.Delete(ctx, name)
}

// issue adds the receipts for the lines of a segment that was verified.
func (w *worker) issue(sealed archive.Segment, requests []*request) {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	var ready []retention.Candidate
	var replaced []*receipt
	var lost []*request
	var of *batch
	for line, r := range requests {
		if !isLine(sealed, line, r) {
			lost = append(lost, r)
			continue
		}
		w.history.recorded(r.target.UID, now)
		of = batchOf(r, sealed.Name, of)
		new := &receipt{batch: of, uid: r.target.UID, name: r.target.Name, version: r.target.ResourceVersion, line: line, at: r.began}
		new.life = lifeOf(new.settings, w.history.by[r.target.UID].records) + min(now.Sub(r.began), singleTimeout)
		if old := w.receipts.add(new); old != nil {
			replaced = append(replaced, old)
		}
		if w.requests[r.target.UID] == r {
			delete(w.requests, r.target.UID)
		}
		ready = append(ready, r.candidates()...)
	}
	w.written.add(len(requests), len(sealed.Data), now)
	w.index.add(sealed)
	w.index.kept(replaced, now)
	w.mu.Unlock()
	callReady(ready)
	if len(lost) > 0 {
		w.retry(errOtherLine, lost...)
	}
	metrics.ArchiveRecords.WithLabelValues(w.name).Add(float64(len(requests)))
	metrics.ArchiveBytes.WithLabelValues(w.name).Add(float64(len(sealed.Data)))
}

// errOtherLine is a bug: the writer and the builder of a segment count lines differently.
var errOtherLine = errors.New("the segment has another record at the line of the object")

// isLine reports whether a line of a segment is the record of a request.
func isLine(s archive.Segment, line int, r *request) bool {
	return line < len(s.Meta) && s.Meta[line].Line == line && s.Meta[line].UID == r.target.UID && s.Meta[line].ResourceVersion == r.target.ResourceVersion
}
