package gate

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// Entry is a request in the journal.
type Entry struct {
	ID        string    // by which the API server's audit log knows it
	At        time.Time // when it arrived
	Done      time.Time // when it was answered, for a watch begun to be answered; zero while it is under way
	Verb      string    // get, list, watch, create, update, patch, delete, deletecollection
	Method    string    // of HTTP
	Resource  string    // with its subresource, as Requests has it; empty for what is no resource
	Namespace string
	Name      string
	Path      string
	Query     string // as in a URL
	UserAgent string
	Body      []byte // of writes
	Code      int    // that the client was given; zero while it is under way or when its connection was reset
	Forwarded bool   // the API server was asked
	Answered  int    // what the API server said; zero for nothing
	DryRun    bool
}

func newEntry(r *http.Request, body []byte) *Entry {
	a := parse(r)
	return &Entry{
		ID: string(uuid.NewUUID()), At: time.Now(), Verb: a.verb, Method: r.Method, Resource: a.resource, Namespace: a.namespace, Name: a.name,
		Path: r.URL.Path, Query: r.URL.RawQuery, UserAgent: r.UserAgent(), Body: body, DryRun: isDryRun(r),
	}
}

// record is a part of the journal.
type record struct {
	match   Match
	entries []*Entry
}

// write adds a request to the journal and to the records that match. Whoever calls it holds the lock.
func (g *Gate) write(p *passage) {
	g.journal = append(g.journal, p.entry)
	for _, r := range g.records {
		if r.match.meets(p.request) {
			r.entries = append(r.entries, p.entry)
		}
	}
}

// Journal is every request so far, in the order in which they arrived.
func (g *Gate) Journal() []Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return copied(g.journal)
}

// Record gives the requests that match from now on, in the order in which they arrived.
func (g *Gate) Record(match Match) func() []Entry {
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
