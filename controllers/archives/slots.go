// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"io"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	requestsAtOnce = 16 // to the API server, of one worker
	logsAtOnce     = 16 // reading logs, which a kubelet can delay
	requestTimeout = 20 * time.Second
	logTimeout     = 10 * time.Second
)

// slots limit the requests of a worker.
type slots struct{ requests, logs chan struct{} }

func newSlots() slots {
	return slots{requests: make(chan struct{}, requestsAtOnce), logs: make(chan struct{}, logsAtOnce)}
}

// within calls do with a slot and a timeout.
func within(ctx context.Context, slots chan struct{}, timeout time.Duration, do func(context.Context) error) error {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return do(ctx)
}

// get reads an object.
func (w *worker) get(ctx context.Context, t policy.Target) (data []byte, err error) {
	err = within(ctx, w.slots.requests, requestTimeout, func(ctx context.Context) (err error) {
		data, err = w.manager.Objects.Get(ctx, t)
		return err
	})
	return data, err
}

// list reads a page of a listing.
func (w *worker) list(ctx context.Context, q Query, visit Visit) (page Page, err error) {
	err = within(ctx, w.slots.requests, requestTimeout, func(ctx context.Context) (err error) {
		page, err = w.manager.Objects.List(ctx, q, visit)
		return err
	})
	return page, err
}

// listAll reads all pages of a listing.
func (w *worker) listAll(ctx context.Context, q Query, visit Visit) error {
	for {
		page, err := w.list(ctx, q, visit)
		if err != nil || page.Continue == "" {
			return err
		}
		q.Continue = page.Continue
	}
}

// tail reads the end of a log, and reports whether the log has more.
func (w *worker) tail(ctx context.Context, namespace, pod, container string, most int64) (text []byte, truncated bool, err error) {
	err = within(ctx, w.slots.logs, logTimeout, func(ctx context.Context) error {
		log, err := w.manager.Objects.Log(ctx, namespace, pod, container, most)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		text, truncated, err = lastOf(log, int(most))
		return err
	})
	return text, truncated, err
}

// lastOf reads everything, and returns at most the last bytes.
func lastOf(r io.Reader, most int) (text []byte, truncated bool, err error) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		text = append(text, buffer[:n]...)
		if len(text) > 2*most+len(buffer) {
			truncated = true
			text = append(text[:0], text[len(text)-most:]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	if len(text) > most {
		return text[len(text)-most:], true, nil
	}
	return text, truncated, nil
}
