package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// CollectedLabel is what makes a ClusterRole one of those that the chart's ClusterRole sunset-kinds collects.
const CollectedLabel = "rbac.sunset.x-k8s.io/aggregate-to-controller"

// YAML is the role that gives the right: for Sunset's own a ClusterRole that is collected, for others a Role and its binding.
// It ends with a line break.
func (r Right) YAML() string {
	if r.Account == "" {
		return role("ClusterRole", fmt.Sprintf("  name: %q\n  labels: {%s: \"true\"}\n", r.name(), CollectedLabel), r)
	}
	metadata := fmt.Sprintf("  namespace: %q\n  name: %q\n", r.Namespace, r.name())
	return role("Role", metadata, r) + Between + fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
%sroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %q}
subjects: [{kind: ServiceAccount, namespace: %q, name: %q}]
`, metadata, r.name(), r.Namespace, r.Account)
}

// Between stands between two documents.
const Between = "---\n"

func role(kind, metadata string, r Right) string {
	text := fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n%srules:\n", kind, metadata)
	resources := map[string][]string{} // by group
	for _, of := range r.Resources {
		resources[of.Group] = append(resources[of.Group], strconv.Quote(of.Resource))
	}
	for _, group := range slices.Sorted(maps.Keys(resources)) {
		slices.Sort(resources[group])
		text += fmt.Sprintf("- {apiGroups: [%q], resources: [%s], verbs: [%s]}\n",
			group, strings.Join(slices.Compact(resources[group]), ", "), strings.Join(r.Verbs, ", "))
	}
	return text
}

// name is one that no other policy's role has, as nothing that is named has a colon.
func (r Right) name() string {
	of := strings.ReplaceAll(r.Policy, "/", ":")
	if r.Account != "" {
		of = strings.TrimPrefix(r.Policy, r.Namespace+"/")
	}
	return "sunset:" + of + ":" + r.For
}

// longest is less than the API server takes as the message of a condition.
const longest = 30_000

// Message is a sentence and what grants rights: YAML as a whole, since the sentence is a comment. Rights that it has no room for are
// counted.
func Message(sentence string, rights ...Right) string {
	text := comment + Line(sentence) + "\n"
	for i, r := range rights {
		document := r.YAML()
		if i > 0 {
			document = Between + document
		}
		if len(text)+len(document) > longest {
			return text + comment + "and " + strconv.Itoa(len(rights)-i) + " more\n"
		}
		text += document
	}
	return text
}

const comment = "# "

// Line is a text with spaces for whatever cannot be printed. Policies and objects name what sentences tell, and whoever may write a
// Role applies what stands beside one: nothing in it may end a line. YAML ends one at \n, \r, U+0085, U+2028 and U+2029.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// Sentence is that of a Message; any other text is itself.
func Sentence(message string) string {
	commented, is := strings.CutPrefix(message, comment)
	if !is {
		return message
	}
	sentence, _, _ := strings.Cut(commented, "\n")
	return sentence
}
