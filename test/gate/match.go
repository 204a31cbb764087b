package gate

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// Match tells which requests are meant. One that is nil means every request.
type Match func(*http.Request) bool

func (m Match) meets(r *http.Request) bool { return m == nil || m(r) }

// Requests matches by what is asked for. verb is get, list, watch, create, update, patch, delete or deletecollection, or
// empty for any. resource is the plural name, of any API group, with its subresource if one is meant, as in "configmaps" or
// "retentionledgers/status"; empty means any.
func Requests(verb, resource string) Match {
	return func(r *http.Request) bool {
		a := parse(r)
		return (verb == "" || a.verb == verb) && (resource == "" || a.resource == resource)
	}
}

// Writes matches what changes something: creations, updates, patches and deletions, dry runs excluded.
func Writes(resource string) Match {
	return func(r *http.Request) bool {
		a := parse(r)
		return a.isWrite() && (resource == "" || a.resource == resource) && !isDryRun(r)
	}
}

// Named matches requests for one object, or for a collection narrowed to it by a field selector.
func Named(name string) Match {
	return func(r *http.Request) bool {
		selected := strings.Split(r.URL.Query().Get("fieldSelector"), ",")
		return parse(r).name == name || slices.Contains(selected, "metadata.name="+name)
	}
}

// In matches requests for what is in one namespace.
func In(namespace string) Match {
	return func(r *http.Request) bool { return parse(r).namespace == namespace }
}

// And matches what both match.
func (m Match) And(other Match) Match {
	return func(r *http.Request) bool { return m.meets(r) && other.meets(r) }
}

// Or matches what either matches.
func (m Match) Or(other Match) Match {
	return func(r *http.Request) bool { return m.meets(r) || other.meets(r) }
}

// Not matches what m does not.
func (m Match) Not() Match {
	return func(r *http.Request) bool { return !m.meets(r) }
}

func isWatch(r *http.Request) bool { return parse(r).verb == "watch" }

func isDryRun(r *http.Request) bool {
	return r.URL.Query().Has("dryRun") || r.Method == http.MethodDelete && bytes.Contains(Body(r), []byte(`"dryRun":[`))
}

// attributes are what a request is about, as far as its method and URL tell.
type attributes struct{ verb, resource, namespace, name string }

func (a attributes) isWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, a.verb)
}

// parse reads a request as the API server does, see
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
