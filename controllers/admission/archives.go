// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// archives returns warnings about rules that no longer archive, and about those that cannot archive to their RetentionArchive as it is.
func (r *Reviewer) archives(ctx context.Context, v *review) (warnings []string) {
	for _, rule := range v.Rules {
		path := fmt.Sprintf("spec.rules[%d].archive: ", rule.Index)
		if rule.Archive == nil {
			if v.before.archives(rule.ID.Rule) {
				warnings = append(warnings, path+"the rule no longer archives the objects that it deletes")
			}
			continue
		}
		if err := r.mayArchive(ctx, rule); err != nil {
			warnings = append(warnings, path+err.Error()+"; until then the rule deletes nothing")
		}
	}
	return warnings
}

// mayArchive returns why a rule may not archive; nil if it may, or if that cannot be found out.
func (r *Reviewer) mayArchive(ctx context.Context, rule *policy.Rule) error {
	archive, namespace := &v1alpha1.RetentionArchive{}, &metav1.PartialObjectMetadata{}
	switch err := r.Live.Get(ctx, client.ObjectKey{Name: rule.Archive.To}, archive); {
	case apierrors.IsNotFound(err):
		return policy.NoArchive(rule.Archive.To)
	case err != nil:
		return nil
	}
	if rule.Namespace != "" {
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := r.Live.Get(ctx, client.ObjectKey{Name: rule.Namespace}, namespace); err != nil {
			return nil
		}
	}
	return policy.MayArchive(rule, archive, policy.NamespaceOf(namespace.Labels, namespace.Annotations))
}
