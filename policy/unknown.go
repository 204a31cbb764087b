// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// place is an object in a policy that has fields. Its path has [] for a list element: spec.rules[].target.
type place struct {
	path   string
	fields []string
}

var clusterPlaces, namespacedPlaces = placesOf(v1alpha1.ClusterRetentionPolicySpec{}), placesOf(v1alpha1.RetentionPolicySpec{})

// placesOf lists the places of a spec: first the policy itself, and each place before those below it.
func placesOf(spec any) []place {
	return appendPlaces([]place{{"", []string{"apiVersion", "kind", "metadata", "spec", "status"}}}, "spec", reflect.TypeOf(spec))
}

func appendPlaces(places []place, path string, t reflect.Type) []place {
	switch t.Kind() {
	case reflect.Pointer:
		return appendPlaces(places, path, t.Elem())
	case reflect.Slice:
		return appendPlaces(places, path+"[]", t.Elem())
	case reflect.Struct:
	default:
		return places
	}
	if t == reflect.TypeFor[metav1.Time]() {
		return places
	}
	at := len(places)
	places = append(places, place{path: path})
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		places[at].fields = append(places[at].fields, name)
		places = appendPlaces(places, joinPath(path, name), t.Field(i).Type)
	}
	return places
}

var index = regexp.MustCompile(`\[\d+\]`)

// unknown is a field that does not exist in its place.
type unknown struct {
	parent, name string
	beside       map[string]any // all fields of the place as written
	to           string         // the other place where it belongs; empty if there is none
}

func (u unknown) path() string { return joinPath(u.parent, u.name) }

// newUnknown splits the path of a field into place and name; the name can contain many dots.
func newUnknown(places []place, path string) unknown {
	end := 0
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if fieldsAt(places, path[:i]) == nil {
			break // so no place is below
		}
		end = i
	}
	if end == 0 {
		end = strings.LastIndex(path, ".")
	}
	return unknown{parent: path[:max(end, 0)], name: path[end+1:]}
}

// addUnknown reports the fields as problems. Fields of one place that belong in the same other place are one problem.
func (d *Document) addUnknown(paths []string, valueAt func(path string) any) {
	var all []unknown
	for _, path := range paths {
		u := newUnknown(d.places(), path)
		u.beside, _ = valueAt(u.parent).(map[string]any)
		u.to = d.belongsIn(u)
		all = append(all, u)
	}
	reported := map[[2]string]bool{}
	for _, u := range all {
		switch word := wordFor(u); {
		case word != nil:
			d.addWord(u, word)
			continue
		case u.to == "":
			d.Problems = append(d.Problems, Problem{Path: u.path(), Message: "unknown field", Hint: d.spelling(u)})
			continue
		case reported[[2]string{u.parent, u.to}]:
			continue
		}
		reported[[2]string{u.parent, u.to}] = true
		var together []unknown
		for _, other := range all {
			if other.parent == u.parent && other.to == u.to {
				together = append(together, other)
				d.Meant = append(d.Meant, Meant{By: other.path(), Path: joinPath(u.to, other.name)})
			}
		}
		d.Problems = append(d.Problems, misplaced(u.to, together))
	}
}

// word lists the names that other tools and users give to a field of a policy, or to something that a policy does not need.
type word struct {
	places, names string // separated by spaces
	field         string // the field that was probably meant; empty if there is none
	hint          string // empty for a field that takes the same value
}

const namespacesHint = "select namespaces by label, such as namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: dev}}, or write a RetentionPolicy"

var words = []word{
	{"spec spec.rules[]", "schedule cron interval", "", "leave it out: each object expires by startTime and ttl; to delete only at certain times, write windows in spec"},
	{"spec", "dryRun enforce enabled enforcementAction validationFailureAction", "mode", "write mode: DryRun, or mode: Enforce"},
	{"spec", "suspend suspended paused disabled", "mode", "write mode: Suspend"},
	{"spec", "policies", "rules", ""},
	{"spec", "namespaces namespace includeNamespaces", "namespaceSelector", namespacesHint},
	{"spec.namespaceSelector", "matchNames matchName names any", "", namespacesHint},
	{"spec.overrides[]", "rules", "rule", "name one rule, such as rule: jobs; without it, the override applies to all rules of the policy"},
	{"spec.rules[]", "when if where condition conditions filter cel expression predicate", "eligible", ""},
	{"spec.rules[]", "maxAge olderThan age after expireAfter expiry duration retention retentionPeriod keepFor expirationTime ttlAfterFinished", "ttl", ""},
	{"spec.rules[]", "ttlSeconds ttlSecondsAfterFinished", "ttl", "a duration has a unit, such as ttl: 90s"},
	{"spec.rules[]", "match matches resource resources", "target", "write target: {apiVersion: GROUP/VERSION, kind: KIND}, such as target: {apiVersion: batch/v1, kind: Job}"},
	{"spec.rules[]", "keep keepLast maxCount historyLimit maxHistory", "keepNewest", "the newest objects are kept by count, such as keepNewest: {count: 3}"},
	{"spec.rules[]", "override overrides bounds", "overrideBounds", "write overrideBounds: {minTTL: 1h}; a RetentionPolicy has the overrides"},
	{"spec.rules[].overrideBounds", "min", "minTTL", ""},
	{"spec.rules[].overrideBounds", "max", "maxTTL", ""},
	{"spec.rules[].overrideBounds", "annotation", "ttlAnnotation", "write ttlAnnotation: Longer, WithinBounds or Ignore"},
	{"spec.rules[].overrideBounds", "suspend", "allowSuspend", ""},
	{"spec.rules[].overrideBounds", "keepNewest", "minKeepNewest", ""},
	{"spec.rules[]", "timestamp since from start startAt", "startTime", ""},
	{"spec.rules[]", "action actions", "", "leave it out: every rule deletes objects, and delete sets how"},
	{"spec.rules[]", "dryRun enforce enabled", "", "mode applies to the whole policy: write mode: DryRun, or mode: Enforce, in spec"},
	{"spec.rules[].delete", "owner", "target", "write target: Owner"},
	{"spec.rules[].delete", "propagation cascade cascading", "propagationPolicy", ""},
	{"spec.limits", "per period interval duration", "window", ""},
	{"spec.limits", "max count", "maxDeletions", ""},
	{"spec.rules[].target", "labelSelector", "selector", ""},
	{"spec.rules[].target", "labels", "selector", "write selector: {matchLabels: {LABEL: VALUE}}, such as selector: {matchLabels: {app: web}}"},
	{"spec.rules[].target", "resource resources kinds", "kind", "write one kind in CamelCase, such as kind: Job; each kind needs its own rule"},
	{"spec.rules[].target", "group version apiGroup apiGroups apiVersions", "apiVersion", "write apiVersion: GROUP/VERSION, such as apiVersion: batch/v1"},
	{"spec.rules[].target", "name names", "", "a rule selects objects by labels and expressions, such as eligible: object.metadata.name == 'NAME'"},
	{"spec.rules[].target", "namespace namespaces", "", "namespaceSelector and excludeNamespaces in spec set where the policy applies; a RetentionPolicy applies in its own namespace"},
}

// wordFor is nil for a field that is not such a word.
func wordFor(u unknown) *word {
	place := index.ReplaceAllString(u.parent, "[]")
	for i := range words {
		if slices.Contains(strings.Fields(words[i].places), place) && slices.Contains(strings.Fields(words[i].names), u.name) {
			return &words[i]
		}
	}
	return nil
}

// addWord says what to write instead of such a word.
func (d *Document) addWord(u unknown, w *word) {
	hint := cmp.Or(w.hint, fmt.Sprintf("did you mean %s?", w.field))
	if w.field != "" {
		d.Meant = append(d.Meant, Meant{By: u.path(), Path: joinPath(u.parent, w.field)})
		if _, is := u.beside[w.field]; is && w.field != "mode" { // the API server sets the default of mode before it calls the webhook
			hint = fmt.Sprintf("leave it out: %s is set too", w.field)
		}
	}
	d.Problems = append(d.Problems, Problem{Path: u.path(), Message: "unknown field", Hint: hint})
}

func (d *Document) places() []place {
	if d.Namespaced() {
		return namespacedPlaces
	}
	return clusterPlaces
}

// spelling is a hint what to write instead of a field.
func (d *Document) spelling(u unknown) string {
	if meant := Closest(u.name, fieldsAt(d.places(), u.parent)); meant != "" {
		d.Meant = append(d.Meant, Meant{By: u.path(), Path: joinPath(u.parent, meant)})
		if _, is := u.beside[meant]; is {
			return fmt.Sprintf("leave it out: %s is set too", meant)
		}
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return cmp.Or(d.onlyIn(u.parent, u.name), "check the spelling and the indentation; fields of newer versions of Sunset are rejected too")
}

func fieldsAt(places []place, path string) []string {
	general := index.ReplaceAllString(path, "[]")
	if i := slices.IndexFunc(places, func(p place) bool { return p.path == general }); i >= 0 {
		return places[i].fields
	}
	return nil
}

// destination is the nearest place, above or below, that has the field; empty if there is none.
func destination(places []place, from, field string) string {
	best, steps := "", 0
	for _, p := range places {
		related := p.path != "" && (from == "" || within(p.path, from) || within(from, p.path))
		if p.path == from || !related || !slices.Contains(p.fields, field) || strings.Contains(p.path, ".override") {
			continue
		}
		n := strings.Count(p.path, ".") - strings.Count(from, ".")
		if n = max(n, -n); best == "" || n < steps || n == steps && p.path == "spec.rules[]" {
			best, steps = p.path, n
		}
	}
	return best
}

// belongsIn is the other place where a field belongs; empty if there is none. A field of a label selector is a label.
func (d *Document) belongsIn(u unknown) string {
	known := fieldsAt(d.places(), u.parent)
	if known == nil {
		return ""
	}
	if near := Closest(u.name, known); near != "" && editDistance(u.name, near) <= 1 {
		return "" // one wrong letter, such as override for overrides
	}
	to := destination(d.places(), index.ReplaceAllString(u.parent, "[]"), u.name)
	if to == "" && slices.Contains(known, labelsField) && Closest(u.name, known) == "" && isScalar(u.beside[u.name]) {
		to = joinPath(u.parent, labelsField)
	}
	return to
}

func isScalar(value any) bool {
	switch value.(type) {
	case nil, map[string]any, []any:
		return false
	}
	return true
}

const labelsField = "matchLabels"

// misplaced is the problem of fields of one place that belong in another.
func misplaced(to string, fields []unknown) Problem {
	parent := fields[0].parent
	general := index.ReplaceAllString(parent, "[]")
	name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(to, parent+"."), general+"."), "spec.")
	var names, values []string
	for _, u := range fields {
		names = append(names, u.name)
		values = append(values, fmt.Sprintf("%s: %s", u.name, quoted(u.beside[u.name])))
	}
	verb, last := " belongs in ", len(names)-1
	if last > 0 {
		names, verb = []string{strings.Join(names[:last], ", ") + " and " + names[last]}, " belong in "
	}
	p := Problem{Path: fields[0].path(), Hint: "check the indentation"}
	p.Message = names[0] + verb + name + ", not in " + cmp.Or(strings.TrimPrefix(parent, "spec."), "the policy itself")
	if name == labelsField {
		p.Hint = fmt.Sprintf("write %s: {%s: {%s}}", parent[strings.LastIndex(parent, ".")+1:], labelsField, strings.Join(values, ", "))
	}
	return p
}

var bare = regexp.MustCompile(`^[a-zA-Z][\w-]{3,}$`)

// quoted is text in YAML, with quotes if YAML could read it as another type.
func quoted(value any) string {
	text := fmt.Sprint(value)
	if bare.MatchString(text) && text != "true" && text != "false" && text != "null" {
		return text
	}
	return strconv.Quote(text)
}

// onlyIn is a hint which kind of policy has the field.
func (d *Document) onlyIn(place, field string) string {
	switch namespaced := d.Namespaced(); {
	case namespaced && joinPath(place, field) == referencesField:
		return "references apply to the whole cluster: write them in a ClusterRetentionPolicy"
	case namespaced && place == "spec" && slices.Contains(fieldsAt(clusterPlaces, "spec"), field):
		return "a RetentionPolicy applies only in its own namespace: leave it out, or write a ClusterRetentionPolicy"
	case !namespaced && place == "spec" && slices.Contains(fieldsAt(namespacedPlaces, "spec"), field):
		return "only a RetentionPolicy has this field"
	}
	return ""
}

// Meant is the field that a misspelt or misplaced field was probably meant to be. It is not reported as missing.
type Meant struct{ By, Path string }

var element = regexp.MustCompile(`^spec\.(rules|overrides|references)(\[\d+\])?`)

// explains reports whether the problem of the written field concerns all rules that the missing field would concern.
func (m Meant) explains(missing string) bool {
	part := element.FindString(m.By)
	return (within(missing, m.Path) || within(index.ReplaceAllString(missing, "[]"), m.Path)) && (part == "" || part == element.FindString(missing))
}
