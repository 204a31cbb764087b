// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"io"
	"slices"
	"time"
)

const (
	requestsMost   = 32 // to the API server at the same time, of one worker; one namespace has at most half of them
	requestTimeout = 20 * time.Second
	logTimeout     = 10 * time.Second // a kubelet may not answer
)

// within calls do when the share of the namespace permits another request, and with a timeout.
func (w *worker) within(ctx context.Context, namespace string, timeout time.Duration, do func(context.Context) error) error {
	if err := w.slots.wait(ctx, namespace, 1); err != nil {
		return err
	}
	defer w.slots.give(namespace, 1)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return do(ctx)
}

// list reads a page of a listing.
func (w *worker) list(ctx context.Context, l *lease, q Query, visit Visit) (page Page, err error) {
	err = w.within(ctx, l.namespace, requestTimeout, func(ctx context.Context) (err error) {
		page, err = w.manager.Objects.List(ctx, q, visit)
		return err
	})
	return page, err
}

// listAll reads all pages of a listing.
func (w *worker) listAll(ctx context.Context, l *lease, q Query, visit Visit) error {
	for {
		page, err := w.list(ctx, l, q, visit)
		if err != nil || page.Continue == "" {
			return err
		}
		q.Continue = page.Continue
	}
}

// tail reads the end of a log, and reports whether the log has more. It takes memory for an item before.
func (w *worker) tail(ctx context.Context, l *lease, i *item, c container, most int64) (text []byte, truncated bool, err error) {
	if err := l.reserve(i, most); err != nil { // before the timeout begins: it may wait
		return nil, false, err
	}
	defer func() { l.settle(i, most, lengthInJSON(text)) }()
	err = w.within(ctx, l.namespace, logTimeout, func(ctx context.Context) error {
		for lines := max(most/bytesInLine, 1); ; lines = min(4*lines, most) {
			if text, truncated, err = w.lastLines(ctx, c, lines, most); err != nil || truncated || lines == most || int64(bytes.Count(text, newline)) < lines {
				return err
			}
		}
	})
	return text, truncated, err
}

// bytesInLine is how long the lines of a log are at first expected to be. The API server counts lines only: with more of them than
// necessary, it would send much more than the archive keeps.
const bytesInLine = 64

var newline = []byte("\n")

// lastLines reads the last lines of a log, and returns at most the last bytes of them.
func (w *worker) lastLines(ctx context.Context, c container, lines, most int64) (text []byte, truncated bool, err error) {
	log, err := w.manager.Objects.Log(ctx, c.namespace, c.pod, c.name, lines)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = log.Close() }()
	return lastOf(log, int(most))
}

// lengthInJSON returns about how long a text is as a string in JSON.
func lengthInJSON(text []byte) (n int64) {
	for _, b := range text {
		switch {
		case b == '\n', b == '\t', b == '\r', b == '"', b == '\\':
			n += 2
		case b < ' ':
			n += 6
		default:
			n++
		}
	}
	return n
}

// blockBytes is how much of a log is read at once.
const blockBytes = 32 << 10

// lastOf reads everything, and returns at most the last bytes. It holds no more than two blocks more.
func lastOf(r io.Reader, most int) (text []byte, truncated bool, err error) {
	var blocks [][]byte
	total := 0
	for err == nil {
		block := make([]byte, min(blockBytes, most+1))
		var n int
		n, err = io.ReadFull(r, block)
		blocks, total = append(blocks, block[:n]), total+n
		for len(blocks) > 1 && total-len(blocks[0]) >= most {
			truncated = truncated || len(blocks[0]) > 0
			total -= len(blocks[0])
			blocks = blocks[1:]
		}
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, err
	}
	text = slices.Concat(blocks...)
	if len(text) > most {
		return text[len(text)-most:], true, nil
	}
	return text, truncated, nil
}
