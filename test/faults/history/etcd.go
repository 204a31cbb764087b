// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Etcd reads the history of one etcd for many checks: each event is read and decoded once, and all Logs share the states. The zero
// value has read nothing. It is safe for concurrent use.
type Etcd struct {
	mu     sync.Mutex
	stored []stored
	last   event // that is stored
}

// stored is one event: the state that was stored; nil if the key was removed.
type stored struct {
	revision int64
	key      string
	state    *State
}

// Read returns every state that was ever stored under a prefix such as /registry/, from the first revision to the latest
// one when it starts. endpoint is etcd's own, such as http://127.0.0.1:2379; Read uses its JSON gateway. Both are the same in every call.
func (e *Etcd) Read(ctx context.Context, endpoint, prefix string) (*Log, error) {
	last, all, err := e.read(ctx, endpoint, prefix)
	if err != nil {
		return nil, err
	}
	l := NewLog()
	for _, s := range all {
		if err := l.add(Change{Revision: s.revision, Key: s.key, Before: l.last(s.key), After: s.state}); err != nil {
			return nil, err
		}
	}
	l.Revision = last
	return l, nil
}

// read reads what was stored since the last call, and returns everything. It reads the last known event again: if etcd has another one
// now, it was restored to an earlier state, and everything is read again.
func (e *Etcd) read(ctx context.Context, endpoint, prefix string) (last int64, all []stored, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, err = lastRevision(ctx, endpoint); err != nil {
		return 0, nil, fmt.Errorf("read the revision of etcd: %w", err)
	}
	for {
		known := len(e.stored) > 0
		err = watch(ctx, endpoint, max(e.last.KV.ModRevision, 1), last, func(next event) error {
			if known {
				if known = false; !reflect.DeepEqual(next, e.last) {
					return errRestored
				}
				return nil
			}
			return e.take(prefix, next)
		})
		if known && err == nil { // it has no such revision
			err = errRestored
		}
		if !errors.Is(err, errRestored) {
			break
		}
		e.stored, e.last = nil, event{}
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read the history of etcd: %w", err)
	}
	return last, e.stored[:len(e.stored):len(e.stored)], nil
}

var errRestored = errors.New("etcd was restored")

func (e *Etcd) take(prefix string, next event) error {
	key := string(next.KV.Key)
	if !strings.HasPrefix(key, prefix) {
		return nil
	}
	s := stored{revision: next.KV.ModRevision, key: key}
	if next.Type != "DELETE" {
		var err error
		if s.state, err = stateOf(s.revision, key, next.KV.Value); err != nil {
			return err
		}
	}
	e.stored, e.last = append(e.stored, s), next
	return nil
}

// all is the range of every key, in the format of the gateway.
const all = `"key":"AA==","range_end":"AA=="`

func lastRevision(ctx context.Context, endpoint string) (int64, error) {
	body, err := post(ctx, endpoint+"/v3/kv/range", `{`+all+`,"limit":1,"keys_only":true}`)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	var answer struct{ Header header }
	err = json.NewDecoder(body).Decode(&answer)
	return answer.Header.Revision, err
}

type header struct {
	Revision int64 `json:"revision,string"`
}

// event is an event of etcd: a PUT, whose type is empty, or a DELETE.
type event struct {
	Type string `json:"type"`
	KV   struct {
		Key         []byte `json:"key"`
		Value       []byte `json:"value"`
		ModRevision int64  `json:"mod_revision,string"`
	} `json:"kv"`
}

type watched struct {
	Result struct {
		Events          []event `json:"events"`
		Canceled        bool    `json:"canceled"`
		CancelReason    string  `json:"cancel_reason"`
		CompactRevision string  `json:"compact_revision"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// watch calls see with every event from one revision up to another one. It watches all keys, because each revision has an event of some key: so
// the end is certain.
func watch(ctx context.Context, endpoint string, first, last int64, see func(event) error) error {
	if last <= 1 || last < first {
		return nil // nothing was stored
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := post(ctx, endpoint+"/v3/watch", `{"create_request":{`+all+`,"start_revision":"`+strconv.FormatInt(first, 10)+`"}}`)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	for messages := json.NewDecoder(body); ; {
		var message watched
		if err := messages.Decode(&message); err != nil {
			return err
		}
		done, err := message.each(last, see)
		if done || err != nil {
			return err
		}
	}
}

var errCompacted = errors.New("etcd has been compacted, so its history is incomplete; start API servers with --etcd-compaction-interval=0")

func (w *watched) each(last int64, see func(event) error) (done bool, err error) {
	switch {
	case len(w.Error) > 0:
		return false, errors.New(string(w.Error))
	case w.Result.CompactRevision != "" && w.Result.CompactRevision != "0":
		return false, errCompacted
	case w.Result.Canceled:
		return false, fmt.Errorf("etcd ended the watch: %s", w.Result.CancelReason)
	}
	for _, e := range w.Result.Events {
		if e.KV.ModRevision > last {
			return true, nil
		}
		if err := see(e); err != nil {
			return false, err
		}
		done = e.KV.ModRevision == last
	}
	return done, nil
}

func post(ctx context.Context, url, body string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	return response.Body, nil
}
