package gate

import "net/http"

// Match tells which requests are meant. One that is nil means every request.
type Match func(*http.Request) bool

// Requests matches by what is asked for. verb is get, list, watch, create, update, patch, delete or deletecollection, or
// empty for any. resource is the plural name, of any API group, with its subresource if one is meant, as in "configmaps" or
// "retentionledgers/status"; empty means any.
func Requests(verb, resource string) Match { return nil }

// Writes matches what changes something: creations, updates, patches and deletions, dry runs excluded.
func Writes(resource string) Match { return nil }

// Named matches requests for one object, or for a collection narrowed to it by a field selector.
func Named(name string) Match { return nil }

// In matches requests for what is in one namespace.
func In(namespace string) Match { return nil }

// And matches what both match.
func (m Match) And(other Match) Match { return nil }

// Or matches what either matches.
func (m Match) Or(other Match) Match { return nil }

// Not matches what m does not.
func (m Match) Not() Match { return nil }
