// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

// request is a request about one object. No cache of Sunset or of the API server answers it.
type request struct {
	method      string
	accept      string
	contentType string // of the body; empty without one
	body        []byte
	since       time.Time // of the oldest preflight check that the request relies on; zero for a read
}

var errLate = errors.New("not sent: the preflight checks were more than a second old")

// timely is the body of a request that relies on preflight checks. If the checks are outdated when the first bytes are sent,
// for example because the connection took long, it ends the request: the API server acts only on a whole body. After the first
// bytes it never ends the request, because the API server may already have the whole body.
type timely struct {
	io.Reader
	clock clock.PassiveClock
	since time.Time
	begun bool
}

// Read implements io.Reader.
func (b *timely) Read(p []byte) (int, error) {
	if !b.begun && !preflight.Fresh(b.clock.Now(), b.since) {
		return 0, errLate
	}
	b.begun = true
	return b.Reader.Read(p)
}

// bodyOf returns a new reader of the body. The HTTP client needs another one if a connection ends before the body was sent.
func (c *Cluster) bodyOf(r request) io.ReadCloser {
	if r.since.IsZero() {
		return io.NopCloser(bytes.NewReader(r.body))
	}
	return io.NopCloser(&timely{Reader: bytes.NewReader(r.body), clock: c.clock, since: r.since})
}

// answer is the response to a request.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// outcome returns what the response means for the object.
func (a *answer) outcome() retention.Outcome { return outcomeOf(a.code, a.header, a.body) }

// send sends one request that changes an object, and returns what the response means.
func (c *Cluster) send(ctx context.Context, mapping *meta.RESTMapping, t policy.Target, r request) retention.Outcome {
	if !preflight.Fresh(c.clock.Now(), r.since) {
		return retention.Outcome{Err: errLate, Unsent: true}
	}
	r.accept = listwatch.AcceptMetadata + "," + listwatch.AcceptJSON // the response may contain the object, which is not needed
	a, err := c.ask(ctx, mapping, t, r)
	if err != nil {
		late := errors.Is(err, errLate)
		return retention.Outcome{Err: err, Unsure: !late, Unsent: late}
	}
	return a.outcome()
}

// ask sends one request about an object. An error means that there was no response.
func (c *Cluster) ask(ctx context.Context, mapping *meta.RESTMapping, t policy.Target, r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	url := c.base.JoinPath(path(mapping, t.Namespace, t.Name)...)
	asked, err := http.NewRequestWithContext(ctx, r.method, url.String(), nil)
	if err != nil {
		return nil, err
	}
	if len(r.body) > 0 {
		asked.ContentLength, asked.Body = int64(len(r.body)), c.bodyOf(r)
		asked.GetBody = func() (io.ReadCloser, error) { return c.bodyOf(r), nil }
	}
	if r.contentType != "" {
		asked.Header.Set("Content-Type", r.contentType)
	}
	asked.Header.Set("Accept", r.accept)
	response, err := c.requests.Do(asked)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return &answer{code: response.StatusCode, header: response.Header, body: body}, nil
}
