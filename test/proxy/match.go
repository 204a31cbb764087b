// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// Match selects requests. A nil Match selects every request.
type Match func(*http.Request) bool

func (m Match) meets(r *http.Request) bool { return m == nil || m(r) }

// Requests matches by verb and resource. verb is get, list, watch, create, update, patch, delete or deletecollection; empty means
// any. resource is the plural name, in any API group, with its subresource if there is one, as in "configmaps" or
// "retentionledgers/status"; empty means any.
func Requests(verb, resource string) Match {
	return func(r *http.Request) bool {
		a := parse(r)
		return (verb == "" || a.verb == verb) && (resource == "" || a.resource == resource)
	}
}

// Writes matches requests that change something: create, update, patch and delete, without dry runs.
func Writes(resource string) Match {
	return func(r *http.Request) bool {
		a := parse(r)
		return a.isWrite() && (resource == "" || a.resource == resource) && !isDryRun(r)
	}
}

// Named matches requests for one object, or for a collection that a field selector narrows to it.
func Named(name string) Match {
	return func(r *http.Request) bool {
		selected := strings.Split(r.URL.Query().Get("fieldSelector"), ",")
		return parse(r).name == name || slices.Contains(selected, "metadata.name="+name)
	}
}

// In matches requests for objects in one namespace.
func In(namespace string) Match {
	return func(r *http.Request) bool { return parse(r).namespace == namespace }
}

// And matches requests that match both.
func (m Match) And(other Match) Match {
	return func(r *http.Request) bool { return m.meets(r) && other.meets(r) }
}

// Or matches requests that match at least one.
func (m Match) Or(other Match) Match {
	return func(r *http.Request) bool { return m.meets(r) || other.meets(r) }
}

// Not matches requests that m does not match.
func (m Match) Not() Match {
	return func(r *http.Request) bool { return !m.meets(r) }
}

func isWatch(r *http.Request) bool { return parse(r).verb == "watch" }

func isDryRun(r *http.Request) bool {
	return r.URL.Query().Has("dryRun") || r.Method == http.MethodDelete && bytes.Contains(Body(r), []byte(`"dryRun":[`))
}

// attributes describe a request, as far as its method and URL say.
type attributes struct{ verb, resource, namespace, name string }

func (a attributes) isWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, a.verb)
}

// parse reads a request in the same way as the API server, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris.
func parse(r *http.Request) (a attributes) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return attributes{verb: strings.ToLower(r.Method)}
	}
	if inside := parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize"; inside {
		a.namespace, parts = parts[1], parts[2:]
	}
	a.resource = parts[0]
	if len(parts) > 1 {
		a.name = parts[1]
	}
	if len(parts) > 2 {
		a.resource += "/" + parts[2]
	}
	a.verb = verbOf(r, a.name)
	return a
}

func verbOf(r *http.Request, name string) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodGet && (watch == "true" || watch == "1"):
		return "watch"
	case r.Method == http.MethodGet && name == "":
		return "list"
	case r.Method == http.MethodDelete && name == "":
		return "deletecollection"
	default:
		return map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
			http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	}
}
