package admission

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// resolve finds the resource of a rule's target. A kind that is not there may come, so that an administrator is only
// warned; in a namespace it is fatal, because then the author's rights cannot be checked.
func (r *Reviewer) resolve(v *review, rule *policy.Rule) (problem *policy.Problem, fatal bool, err error) {
	if rule.Kind.Kind == "" || rule.OnNodes() {
		return nil, false, nil // said already; and no API server has images of nodes
	}
	path := fmt.Sprintf("spec.rules[%d].target.kind", rule.Index)
	mapping, err := r.Mapper.RESTMapping(rule.Kind.GroupKind(), rule.Kind.Version)
	switch {
	case isNoKind(err):
		return v.missing(path, rule.Kind), v.Namespace != "", nil
	case err != nil && v.Namespace != "":
		return nil, false, fmt.Errorf("look up %s: %w", rule.Kind, err)
	case err != nil:
		return nil, false, nil
	}
	v.targets[rule.Index] = mapping
	if v.Namespace != "" && mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return &policy.Problem{
			Path:    path,
			Message: fmt.Sprintf("%s objects are in no namespace", rule.Kind.GroupKind()),
			Hint:    "only a ClusterRetentionPolicy can be about them",
		}, true, nil
	}
	return nil, false, nil
}

// referrers warns of kinds that are declared to refer to others and are not there: until they are they refer to nothing.
func (r *Reviewer) referrers(v *review) []string {
	var warnings []string
	for i, reference := range v.References {
		if reference.From.Kind == "" {
			continue
		}
		if _, err := r.Mapper.RESTMapping(reference.From.GroupKind(), reference.From.Version); isNoKind(err) {
			warnings = append(warnings, v.missing(fmt.Sprintf("spec.references[%d].from.kind", i), reference.From).String())
		}
	}
	return warnings
}

// missing says that the cluster has no such kind.
func (v *review) missing(path string, kind schema.GroupVersionKind) *policy.Problem {
	return &policy.Problem{
		Path: path, Message: fmt.Sprintf("the cluster has no kind %s in %s", kind.Kind, kind.GroupVersion()), Hint: v.meant(kind),
	}
}

// isNoKind recognises the mapper's answers for a kind, or a whole group, that is not served.
func isNoKind(err error) bool {
	var status apierrors.APIStatus
	return meta.IsNoMatchError(err) || errors.As(err, &status) && status.Status().Code == 404
}

// meant says which kind was probably meant. What could not be discovered is just not suggested.
func (v *review) meant(kind schema.GroupVersionKind) string {
	lists := v.served()
	var near, elsewhere []string
	for _, list := range lists {
		for _, resource := range list.APIResources {
			switch {
			case resource.Kind == kind.Kind && list.GroupVersion != kind.GroupVersion().String() && canBeListed(resource):
				elsewhere = append(elsewhere, list.GroupVersion)
			case list.GroupVersion == kind.GroupVersion().String():
				near = append(near, resource.Kind, resource.Name)
			}
		}
	}
	if len(elsewhere) > 0 {
		return fmt.Sprintf("did you mean apiVersion: %s?", elsewhere[0])
	}
	if name := policy.Closest(kind.Kind, near); name != "" {
		return fmt.Sprintf("did you mean %s?", kindOf(name, kind.GroupVersion(), lists))
	}
	return "is its CustomResourceDefinition installed?"
}

func canBeListed(resource metav1.APIResource) bool { return slices.Contains(resource.Verbs, "list") }

// kindOf is the kind that goes by a name, which may be that of its resource.
func kindOf(name string, gv schema.GroupVersion, lists []*metav1.APIResourceList) string {
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if list.GroupVersion == gv.String() && resource.Name == name {
				return resource.Kind
			}
		}
	}
	return name
}
