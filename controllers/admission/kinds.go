// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// resolve finds the resource of a rule's target. An unknown kind may be installed later, so in a ClusterRetentionPolicy it is
// only a warning. In a RetentionPolicy it is fatal for rules that the author changes, because the author's permissions cannot be checked.
func (r *Reviewer) resolve(v *review, rule *policy.Rule) (problem *policy.Problem, fatal bool, err error) {
	if rule.Kind.Kind == "" || rule.OnNodes() {
		return nil, false, nil // a missing kind is reported elsewhere, and the API server does not serve images of nodes
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
		problem := policy.InNoNamespace(path, rule.Kind)
		return &problem, true, nil
	}
	return nil, false, nil
}

// referrers returns warnings about declared kinds of referrers that do not exist. Until they are installed, they have no
// references.
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

// missing returns the problem of a kind that the cluster does not have. The hint suggests only kinds that discovery has found.
func (v *review) missing(path string, kind schema.GroupVersionKind) *policy.Problem {
	problem, _ := policy.UnknownKind(path, kind, v.served())
	return &problem
}

// isNoKind reports whether the error of the mapper says that the kind, or its whole group, is not served.
func isNoKind(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}
