// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// indexMost is how many records and results may wait for the index to be written, before no more objects are recorded:
// their lines are in memory.
const indexMost = 50_000

// index is the index of an archive. The mu of the worker guards it.
type index struct {
	current *archive.Indexer   // nil until the store is known
	earlier []*archive.Indexer // with other recipients; until they are written
	pending int                // records and results that may not be written
	err     error              // why the last attempt to write failed; nil if it did not
}

// turn has the index encrypted for other recipients from now on. Lines that already wait are for the earlier
// ones.
func (x *index) turn(to *archive.Indexer) {
	if x.current != nil {
		x.earlier = append(x.earlier, x.current)
	}
	x.current = to
}

func (x *index) add(s archive.Segment) {
	if x.current != nil {
		x.current.Add(s)
		x.pending += len(s.Meta)
	}
}

func (x *index) finish(r *receipt, result archive.Result, at time.Time) {
	if x.current != nil && result != "" {
		x.current.Finish(r.segment, r.line, result, at)
		x.pending++
	}
}

// kept adds that nothing deleted the objects of some receipts, except those of which that is not known.
func (x *index) kept(all []*receipt, now time.Time) {
	for _, r := range all {
		if !r.unsure && !r.inFlight(now) {
			x.finish(r, archive.Kept, now)
		}
	}
}

// backlog returns why nothing may be recorded until the index is written; nil if it may.
func (x *index) backlog() error {
	if x.err == nil || x.pending < indexMost {
		return nil
	}
	return fmt.Errorf("%d records and results wait for the index: %w", x.pending, x.err)
}

// flush writes the index. Only one goroutine may call it at a time.
func (w *worker) flush(ctx context.Context) error {
	w.mu.Lock()
	if w.index.current == nil {
		w.mu.Unlock()
		return nil
	}
	earlier, pending := len(w.index.earlier), w.index.pending
	all := append(slices.Clone(w.index.earlier), w.index.current)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var failed []error
	for _, x := range all {
		failed = append(failed, x.Flush(ctx, w.manager.Clock.Now()))
	}
	err := errors.Join(failed...)
	if err != nil {
		err = fmt.Errorf("write the index: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.index.err = err; err == nil {
		w.index.earlier = w.index.earlier[earlier:]
		w.index.pending -= pending
		w.wake.Send()
	}
	return err
}
