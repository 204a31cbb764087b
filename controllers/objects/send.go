package objects

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/stream"
	"github.com/sunset-k8s/sunset/policy"
)

// request is what is asked about one object. No cache of ours or of the API server answers it.
type request struct {
	method      string
	accept      string
	contentType string // of the body; empty without one
	body        []byte
}

// answer is what came back.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// outcome is what the answer means for the object.
func (a *answer) outcome() retention.Outcome { return outcomeOf(a.code, a.header, a.body) }

// send sends one request that changes an object and reads what the answer means.
func (c *Cluster) send(ctx context.Context, method string, t policy.Target, contentType string, body []byte) retention.Outcome {
	mapping, err := c.mapper.RESTMapping(t.Kind.GroupKind(), t.Kind.Version)
	if err != nil {
		return retention.Outcome{Err: err}
	}
	// The answer may be the whole object; we need none of it.
	r := request{method: method, accept: stream.AcceptMetadata + "," + stream.AcceptJSON, contentType: contentType, body: body}
	a, err := c.ask(ctx, mapping, t, r)
	if err != nil {
		return retention.Outcome{Err: err, Unsure: true}
	}
	return a.outcome()
}

// ask sends one request about an object. An error says that there was no answer.
func (c *Cluster) ask(ctx context.Context, mapping *meta.RESTMapping, t policy.Target, r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	url := c.base.JoinPath(path(mapping, t.Namespace, t.Name)...)
	asked, err := http.NewRequestWithContext(ctx, r.method, url.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
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
