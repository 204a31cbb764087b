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
	"strings"
)

// ReadEtcd reads every state that was ever stored under a prefix such as /registry/, from the first revision to the latest
// one when it starts. endpoint is etcd's own, such as http://127.0.0.1:2379; ReadEtcd uses its JSON gateway.
func ReadEtcd(ctx context.Context, endpoint, prefix string) (*Log, error) {
	last, err := lastRevision(ctx, endpoint)
	if err != nil {
		return nil, fmt.Errorf("read the revision of etcd: %w", err)
	}
	l := NewLog()
	if err := watch(ctx, endpoint, last, func(e event) error {
		key := string(e.KV.Key)
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		if e.Type == "DELETE" {
			return l.remove(e.KV.ModRevision, key)
		}
		return l.Put(e.KV.ModRevision, key, e.KV.Value)
	}); err != nil {
		return nil, fmt.Errorf("read the history of etcd: %w", err)
	}
	l.Revision = last
	return l, nil
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

// watch calls see with every event up to a revision. It watches all keys, because each revision has an event of some key: so
// the end is certain.
func watch(ctx context.Context, endpoint string, last int64, see func(event) error) error {
	if last <= 1 {
		return nil // nothing was ever stored
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := post(ctx, endpoint+"/v3/watch", `{"create_request":{`+all+`,"start_revision":"1"}}`)
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
