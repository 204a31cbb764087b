// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"

	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// complete adds requests that the audit logs lack: writes that ended in a replica's proxy, or at a server that was killed
// before it logged them. It also adds the missing bodies of requests whose sender died.
func (r *Replica) complete(requests []history.Request) []history.Request {
	known := map[string]*history.Request{}
	for i := range requests {
		known[requests[i].ID] = &requests[i]
	}
	var more []history.Request
	for _, e := range r.Proxy.Journal() {
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

// unlogged returns a request that is in no audit log.
func (r *Replica) unlogged(e proxy.Entry) history.Request {
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
