// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// getsAtOnce is how many objects of one group are read at the same time.
const getsAtOnce = 8

// How long the dependents, Events and logs of some targets may take together, and those of one.
const (
	togetherTimeout = time.Minute
	singleTimeout   = 10 * time.Minute
)

// capture reads the objects of some requests of one group, one by one, and records them.
func (w *worker) capture(ctx context.Context, key groupKey, l *lease, requests []*request) {
	items, unread := w.readEach(ctx, l, requests)
	w.again(unread...)
	w.recordAll(ctx, key, l, items)
}

// readEach reads objects. It leaves some unread if the memory for them is used up.
func (w *worker) readEach(ctx context.Context, l *lease, requests []*request) (items []*item, unread []*request) {
	var group errgroup.Group
	var read []*item
	group.SetLimit(getsAtOnce)
	for _, r := range requests {
		if !w.isExpected(r) {
			w.changed(retention.Changed, r)
			continue
		}
		i := &item{request: r}
		if l.reserve(i, objectBytes) != nil {
			unread = append(unread, r)
			continue
		}
		read = append(read, i)
		group.Go(func() error {
			w.readOne(ctx, i)
			l.settle(i, objectBytes, int64(cap(i.object)))
			return nil
		})
	}
	_ = group.Wait()
	for _, i := range read {
		if i.object != nil {
			items = append(items, i)
		}
	}
	return items, unread
}

// isExpected reports whether a request is still for the version that is to be deleted.
func (w *worker) isExpected(r *request) bool {
	w.mu.Lock()
	c, of := r.candidate, r.intent
	w.mu.Unlock()
	if c == nil {
		return false
	}
	i, ok := c.Intent()
	return ok && i.Subject.UID == of.Subject.UID && i.Subject.ResourceVersion == of.Subject.ResourceVersion
}

// readOne reads the object of an item. The item has none if there is no such version, or if it cannot be read.
func (w *worker) readOne(ctx context.Context, i *item) {
	r := i.request
	err := w.mayRead(r.key)
	if err == nil {
		err = w.within(ctx, r.target.Namespace, requestTimeout, func(ctx context.Context) (err error) {
			i.object, err = w.manager.Objects.Get(ctx, r.target)
			return err
		})
	}
	var id identity
	if err == nil {
		id, err = identify(i.object)
	}
	switch {
	case apierrors.IsNotFound(err):
		w.changed(retention.Gone, r)
	case err != nil:
		w.retry(fmt.Errorf("read %s: %w", r.target, err), r)
	case !id.is(r):
		w.changed(retention.Changed, r)
	default:
		return
	}
	i.object = nil
}

// errPlainSecrets says why Secrets are not read.
var errPlainSecrets = errors.New("it has Secrets, and the RetentionArchive is not encrypted; set spec.encryption.recipients")

// mayRead returns an error if an archive without encryption would get the data of Secrets.
func (w *worker) mayRead(key groupKey) error {
	secret := policy.StoredAs(key.kind) == secretKind || slices.Contains(key.settings.Dependents, secretKind)
	w.mu.Lock()
	defer w.mu.Unlock()
	if secret && len(w.spec.recipients) == 0 {
		return errPlainSecrets
	}
	return nil
}

// recordAll completes items with their dependents, Events and logs, and adds them to the segment: as many together as there is memory
// for. The group has no more at a time from then on.
func (w *worker) recordAll(ctx context.Context, key groupKey, l *lease, items []*item) {
	most := w.most(key, chunkMost)
	for len(items) > 0 && ctx.Err() == nil {
		some, began := items[:min(len(items), most)], w.manager.Clock.Now()
		failed, err := w.complete(ctx, key.settings, l, some)
		if errors.Is(err, errOverflow) {
			l.strip(some...)
			if len(some) > 1 {
				most = w.most(key, len(some)/2)
				continue
			}
			w.recordLarge(ctx, key, l, some)
		} else {
			w.addAll(ctx, key, l, some, began, failed, err)
		}
		items = items[len(some):]
	}
}

// recordLarge completes one item with the memory for large records, and adds it to the segment.
func (w *worker) recordLarge(ctx context.Context, key groupKey, l *lease, one []*item) {
	if w.large.Acquire(ctx, 1) != nil {
		return
	}
	l.setLarge(true)
	began := w.manager.Clock.Now()
	failed, err := w.complete(ctx, key.settings, l, one)
	w.addAll(ctx, key, l, one, began, failed, err)
	l.setLarge(false)
	w.large.Release(1)
}

// addAll adds items to the segment, except those that failed. An error is about all. Their contents were read from began on.
func (w *worker) addAll(ctx context.Context, key groupKey, l *lease, items []*item, began time.Time, failed map[*item]error, err error) {
	paths, pathErr := pathsOf(key.settings.Redact)
	err = errors.Join(err, pathErr)
	for _, i := range items {
		why := cmp.Or(err, failed[i])
		if why == nil {
			why = w.add(ctx, i, paths, began)
		}
		if why != nil {
			w.retry(fmt.Errorf("%s: %w", i.request.target, why), i.request)
		}
		l.drop(i)
		i.clear()
	}
}

// most lets a group record at most as many targets at a time, and returns how many.
func (w *worker) most(key groupKey, most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.groups[key]; g != nil {
		g.most = max(1, min(g.most, most))
		return g.most
	}
	return max(1, most)
}

// complete reads the dependents, Events and logs of items, as the settings say. failed has the items for which that failed; the error
// is about all. It is errOverflow if they are too many to be read together.
func (w *worker) complete(ctx context.Context, settings *policy.Archive, l *lease, items []*item) (failed map[*item]error, err error) {
	timeout := togetherTimeout
	if len(items) == 1 {
		timeout = singleTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = w.addDependents(limited, settings.Dependents, l, items)
	if err == nil && settings.Events {
		err = w.addEvents(limited, l, items)
	}
	if err == nil && settings.Logs != nil {
		failed, err = w.addLogs(limited, settings.Logs, l, items)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil && len(items) > 1:
		return nil, errOverflow
	case limited.Err() != nil:
		return nil, fmt.Errorf("its dependents, Events and logs were not read within %s", timeout)
	}
	return failed, err
}
