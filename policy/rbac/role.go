// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CollectedLabel adds a ClusterRole to those that the chart's ClusterRole sunset-kinds aggregates.
const CollectedLabel = "rbac.sunset-k8s.io/aggregate-to-controller"

// YAML is the role that grants the permission: an aggregated ClusterRole for Sunset, a Role with its RoleBinding for a
// ServiceAccount. It ends with a line break.
func (r Permission) YAML() string {
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

// Between separates two YAML documents.
const Between = "---\n"

func role(kind, metadata string, r Permission) string {
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

// name is unique for the policy, because names of policies and resources contain no colon.
func (r Permission) name() string {
	of := strings.ReplaceAll(r.Policy, "/", ":")
	if r.Account != "" {
		of = strings.TrimPrefix(r.Policy, r.Namespace+"/")
	}
	return "sunset:" + of + ":" + strings.ReplaceAll(r.For, "/", "-") // names of roles are segments of paths
}

// Line is a text with spaces instead of unprintable characters, because authors of policies and objects choose the names in
// messages, and no name may end a line of a terminal or of YAML. YAML ends a line at \n, \r, U+0085, U+2028 and U+2029.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
}
