// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UnknownKind says that no served kind has this name, and suggests the kind that was probably meant. It suggests the kind of the
// same name in another group or version. If there is none, it suggests a kind of the same version with a similar name or resource
// name. If there is none either, it suggests the kind that kubectl takes the name for.
//
// The result guessed reports whether there is a suggestion. The webhook, the condition and the command line use this text.
func UnknownKind(path string, kind schema.GroupVersionKind, served []*metav1.APIResourceList) (problem Problem, guessed bool) {
	problem = Problem{
		Path: path, Message: fmt.Sprintf("no matches for kind %q in version %q", kind.Kind, kind.GroupVersion()), Hint: "is its CustomResourceDefinition installed?",
	}
	var near []string
	kinds, elsewhere := map[string]string{}, "" // kinds by similar name
	for _, list := range served {
		for _, resource := range list.APIResources {
			switch {
			case strings.Contains(resource.Name, "/"): // a subresource
			case list.GroupVersion == kind.GroupVersion().String():
				near = append(near, resource.Kind, resource.Name)
				kinds[resource.Kind], kinds[resource.Name] = resource.Kind, resource.Kind
				if isCalled(resource, kind.Kind) {
					problem.Hint = fmt.Sprintf("did you mean %s?", resource.Kind)
					return problem, true
				}
			case resource.Kind == kind.Kind && slices.Contains(resource.Verbs, "list"):
				problem.Hint = fmt.Sprintf("did you mean apiVersion: %s?", list.GroupVersion)
				return problem, true
			case elsewhere == "" && isCalled(resource, kind.Kind) && slices.Contains(resource.Verbs, "list"):
				elsewhere = fmt.Sprintf("did you mean apiVersion: %s and kind: %s?", list.GroupVersion, resource.Kind)
			}
		}
	}
	if name := Closest(kind.Kind, near); name != "" {
		problem.Hint = fmt.Sprintf("did you mean %s?", kinds[name])
		return problem, true
	}
	problem.Hint = cmp.Or(elsewhere, problem.Hint)
	return problem, elsewhere != ""
}

// isCalled reports whether kubectl accepts a name, ignoring case, for the kind of a resource.
func isCalled(resource metav1.APIResource, name string) bool {
	names := append([]string{resource.Kind, resource.Name, resource.SingularName}, resource.ShortNames...)
	return slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}

// InNoNamespace says that a rule of a RetentionPolicy targets a cluster-scoped kind.
func InNoNamespace(path string, kind schema.GroupVersionKind) Problem {
	return Problem{
		Path: path, Message: fmt.Sprintf("%s objects are cluster-scoped", kind.GroupKind()),
		Hint: "only a ClusterRetentionPolicy can target them",
	}
}
