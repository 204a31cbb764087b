// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// Entry is a request in the journal.
type Entry struct {
	ID        string    // audit ID that the proxy gave it
	At        time.Time // time of arrival
	Done      time.Time // time of the answer (for a watch, of its start); zero while in flight
	Verb      string    // get, list, watch, create, update, patch, delete, deletecollection
	Method    string    // of HTTP
	Resource  string    // with its subresource, as for Requests; empty for a path without a resource
	Namespace string
	Name      string
	Path      string
	Query     string // as in a URL
	UserAgent string
	Body      []byte // of writes
	Code      int    // of the answer to the client; zero while in flight or after a connection reset
	Forwarded bool   // whether the API server received it
	Answered  int    // status code of the API server's answer; zero if there was none
	DryRun    bool
}

func newEntry(r *http.Request, body []byte) *Entry {
	a := parse(r)
	return &Entry{
		ID: string(uuid.NewUUID()), At: time.Now(), Verb: a.verb, Method: r.Method, Resource: a.resource, Namespace: a.namespace, Name: a.name,
		Path: r.URL.Path, Query: r.URL.RawQuery, UserAgent: r.UserAgent(), Body: body, DryRun: isDryRun(r),
	}
}

// record is the part of the journal that matches.
type record struct {
	match   Match
	entries []*Entry
}

// write adds a request to the journal and to the matching records. The caller holds the lock.
func (g *Proxy) write(p *passage) {
	g.journal = append(g.journal, p.entry)
	for _, r := range g.records {
		if r.match.meets(p.request) {
			r.entries = append(r.entries, p.entry)
		}
	}
}

// Journal returns every request so far, in order of arrival.
func (g *Proxy) Journal() []Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return copied(g.journal)
}

// Record returns a function that lists the matching requests from now on, in order of arrival.
func (g *Proxy) Record(match Match) func() []Entry {
	r := &record{match: match}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.records = append(g.records, r)
	return func() []Entry {
		g.mu.Lock()
		defer g.mu.Unlock()
		return copied(r.entries)
	}
}

func copied(entries []*Entry) []Entry {
	all := make([]Entry, len(entries))
	for i, e := range entries {
		all[i] = *e
	}
	return all
}
