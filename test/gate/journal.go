package gate

import "time"

// Entry is a request in the journal.
type Entry struct {
	At        time.Time // when it arrived
	Done      time.Time // when it was answered, for a watch begun to be answered; zero while it is under way
	Verb      string    // get, list, watch, create, update, patch, delete, deletecollection
	Method    string    // of HTTP
	Resource  string    // with its subresource, as Requests has it; empty for what is no resource
	Namespace string
	Name      string
	URL       string // path and query
	UserAgent string
	Body      []byte // of writes
	Code      int    // that the client was given; zero while it is under way or when its connection was reset
	Forwarded bool   // the API server was asked
	Answered  int    // what the API server said; zero for nothing
}

// Journal is every request so far, in the order in which they arrived.
func (g *Gate) Journal() []Entry { return nil }

// Record gives the requests that match from now on, in the order in which they arrived.
func (g *Gate) Record(match Match) func() []Entry { return nil }
