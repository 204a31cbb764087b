// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
)

// One short list usually shows that a rule matches an object. Otherwise more pages are read, up to a limit.
const (
	idlePage  = 500
	idlePages = 4
)

// idle returns warnings about rules that match no objects now. It does not warn about a rule if it cannot list all objects.
func (r *Reviewer) idle(ctx context.Context, v *review) []string {
	namespaces, err := r.selected(ctx, v)
	if err != nil {
		return nil
	}
	if namespaces != nil && len(namespaces) == 0 {
		return []string{"spec.namespaceSelector: selects no namespace now"}
	}
	var warnings []string
	for _, rule := range v.Rules {
		target := v.targets[rule.Index]
		if target == nil || rule.Invalid() {
			continue
		}
		if nothing, err := r.matchesNothing(ctx, v, rule, target, namespaces); err == nil && nothing {
			problem := policy.Problem{
				Path:    fmt.Sprintf("spec.rules[%d].target", rule.Index),
				Message: fmt.Sprintf("matches no %s now", rule.Kind.Kind),
			}
			warnings = append(warnings, problem.String())
		}
	}
	return warnings
}

// selected returns the namespaces of a ClusterRetentionPolicy; nil for a RetentionPolicy, which applies only in its own namespace.
func (r *Reviewer) selected(ctx context.Context, v *review) (sets.Set[string], error) {
	if v.Namespace != "" {
		return nil, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.Live.List(ctx, list); err != nil {
		return nil, err
	}
	names := sets.New[string]()
	for _, n := range list.Items {
		if v.Namespaces.Matches(labels.Set(n.Labels)) && !v.Excluded.Has(n.Name) && !r.Protection.Namespace(n.Name) {
			names.Insert(n.Name)
		}
	}
	return names, nil
}

func (r *Reviewer) matchesNothing(ctx context.Context, v *review, rule *policy.Rule, target *meta.RESTMapping, namespaces sets.Set[string]) (bool, error) {
	selector := labels.Everything()
	if s := rule.Spec.Target.Selector; s != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return false, err
		}
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(target.GroupVersionKind.GroupVersion().WithKind(target.GroupVersionKind.Kind + "List"))
	for range idlePages {
		err := r.Live.List(ctx, list, client.InNamespace(v.Namespace), client.MatchingLabelsSelector{Selector: selector},
			client.Limit(idlePage), client.Continue(list.Continue))
		if err != nil {
			return false, err
		}
		for _, object := range list.Items {
			if object.Namespace == "" || namespaces == nil || namespaces.Has(object.Namespace) {
				return false, nil
			}
		}
		if list.Continue == "" {
			return true, nil
		}
	}
	return false, nil
}
