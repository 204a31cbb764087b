package scene

import (
	"strings"

	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/gate"
)

// complete adds what audit logs do not have: writes that ended in a replica's gate, or at a server that was killed before it had
// noted them, and the bodies of those whose sender died meanwhile.
func (r *Replica) complete(requests []history.Request) []history.Request {
	known := map[string]*history.Request{}
	for i := range requests {
		known[requests[i].ID] = &requests[i]
	}
	var more []history.Request
	for _, e := range r.Gate.Journal() {
		switch q := known[e.ID]; {
		case e.Verb != "delete" && e.Verb != "deletecollection" && e.Verb != "patch":
		case q == nil:
			more = append(more, r.unlogged(e))
		case len(q.Body) == 0:
			q.Carry(e.Body)
		}
	}
	return append(requests, more...)
}

// unlogged is a request that no audit log has.
func (r *Replica) unlogged(e gate.Entry) history.Request {
	q := history.Request{
		ID: e.ID, User: r.User, Agent: e.UserAgent, Verb: e.Verb, URI: e.Path + "?" + e.Query, Namespace: e.Namespace, Name: e.Name,
		Received: e.At, Answered: e.Done, Unreceived: !e.Forwarded,
	}
	q.Resource, q.Subresource, _ = strings.Cut(e.Resource, "/")
	if parts := strings.Split(e.Path, "/"); len(parts) > 3 && parts[1] == "apis" {
		q.Group, q.Version = parts[2], parts[3]
	}
	q.Carry(e.Body)
	return q
}
