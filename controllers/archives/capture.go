// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// getsAtOnce is how many objects of one group are read at the same time.
const getsAtOnce = 8

// errOverflow says that the dependents, Events and logs of some targets are too large to be held together.
var errOverflow = errors.New("too large to be read together")

// capture reads the objects of some requests of one group, one by one, and records them.
func (w *worker) capture(ctx context.Context, key groupKey, requests []*request) {
	defer w.release(key)
	items, unread := w.readEach(ctx, requests)
	w.again(unread...)
	w.recordAll(ctx, key, items)
}

// readEach reads objects. It leaves some unread if there is no space for them.
func (w *worker) readEach(ctx context.Context, requests []*request) (items []*item, unread []*request) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	turns := make(chan struct{}, getsAtOnce)
	for n, r := range requests {
		if n > 0 && w.isFull() {
			unread = append(unread, r)
			continue
		}
		if !w.isExpected(r) {
			w.changed(retention.Changed, r)
			continue
		}
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			if i := w.readOne(ctx, r); i != nil {
				mu.Lock()
				defer mu.Unlock()
				items = append(items, i)
			}
		})
	}
	group.Wait()
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

// readOne reads the object of a request. It returns nil if there is no such version, or if it cannot be read.
func (w *worker) readOne(ctx context.Context, r *request) *item {
	if err := w.mayRead(r.key); err != nil {
		w.retry(err, r)
		return nil
	}
	data, err := w.get(ctx, r.target)
	if apierrors.IsNotFound(err) {
		w.changed(retention.Gone, r)
		return nil
	}
	if err != nil {
		w.retry(fmt.Errorf("read %s: %w", r.target, err), r)
		return nil
	}
	id, err := identify(data)
	if err != nil {
		w.retry(fmt.Errorf("read %s: %w", r.target, err), r)
		return nil
	}
	if !id.is(r) {
		w.changed(retention.Changed, r)
		return nil
	}
	i := &item{request: r, object: data}
	w.grow(i, len(data))
	return i
}

// errPlainSecrets says why Secrets are not read.
var errPlainSecrets = errors.New("it has Secrets, and the RetentionArchive is not encrypted; set spec.encryption.recipients")

// mayRead returns an error if an archive without encryption would get the data of Secrets.
func (w *worker) mayRead(key groupKey) error {
	secret := policy.StoredAs(key.kind) == secretKind
	for _, kind := range key.settings.Dependents {
		secret = secret || kind == secretKind
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if secret && !w.spec.encrypted {
		return errPlainSecrets
	}
	return nil
}

// isFull reports whether no more objects may be read.
func (w *worker) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.read >= readMost
}

// grow counts bytes that were read for an item.
func (w *worker) grow(i *item, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i.bytes += int64(bytes)
	w.read += int64(bytes)
}

// drop ends the use of the memory of items.
func (w *worker) drop(items ...*item) {
	w.mu.Lock()
	for _, i := range items {
		w.read -= i.bytes
		i.bytes = 0
	}
	w.mu.Unlock()
	w.wake.Send()
}

// recordAll completes items with their dependents, Events and logs, and adds them to the segment. If they are too large together, it
// does so with one half after the other, and the group has fewer at a time from then on.
func (w *worker) recordAll(ctx context.Context, key groupKey, items []*item) {
	if len(items) == 0 {
		return
	}
	together := &chunk{items: len(items)}
	for _, i := range items {
		i.chunk = together
	}
	failed, err := w.complete(ctx, key.settings, items)
	if errors.Is(err, errOverflow) && len(items) > 1 {
		w.fewer(key, len(items)/2)
		for _, i := range items {
			w.shrink(i)
		}
		w.recordAll(ctx, key, items[:len(items)/2])
		w.recordAll(ctx, key, items[len(items)/2:])
		return
	}
	defer w.drop(items...)
	paths, pathErr := pathsOf(key.settings.Redact)
	err = errors.Join(err, pathErr)
	for _, i := range items {
		why := err
		if why == nil {
			why = failed[i]
		}
		if why == nil {
			why = w.add(ctx, i, paths)
		}
		if why != nil {
			w.retry(fmt.Errorf("%s: %w", i.request.target, why), i.request)
		}
		w.drop(i)
	}
}

// fewer lets a group record fewer targets at a time.
func (w *worker) fewer(key groupKey, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.groups[key]; g != nil {
		g.most = max(1, min(g.most, most))
	}
}

// shrink drops everything of an item except its object.
func (w *worker) shrink(i *item) {
	i.dependents, i.events, i.logs = nil, nil, nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read -= i.bytes - int64(len(i.object))
	i.bytes = int64(len(i.object))
}

// complete reads the dependents, Events and logs of items, as the settings say. failed has the items for which that failed; the error
// is about all.
func (w *worker) complete(ctx context.Context, settings *policy.Archive, items []*item) (failed map[*item]error, err error) {
	if err := w.addDependents(ctx, settings.Dependents, items); err != nil {
		return nil, err
	}
	if settings.Events {
		if err := w.addEvents(ctx, items); err != nil {
			return nil, err
		}
	}
	if settings.Logs != nil {
		return w.addLogs(ctx, settings.Logs, items)
	}
	return nil, nil
}
