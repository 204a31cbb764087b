// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

// NoArchive is why a rule does not archive to a RetentionArchive that does not exist.
func NoArchive(name string) error {
	return fmt.Errorf("RetentionArchive %q does not exist; create it, or correct archive.to of the rule", name)
}

// MayArchive returns why a rule may not archive to a RetentionArchive as it is; nil if it may. The rule is one that archives there, by
// name. Namespace is the one of its RetentionPolicy; it is unused for a rule of a ClusterRetentionPolicy. The rule may archive objects of
// other kinds too, such as the owner that it deletes.
func MayArchive(r *Rule, a *v1alpha1.RetentionArchive, namespace Namespace, also ...schema.GroupKind) error {
	if (r.archives(secretKind) || slices.Contains(also, secretKind)) && (a.Spec.Encryption == nil || len(a.Spec.Encryption.Recipients) == 0) {
		return fmt.Errorf("RetentionArchive %q is not encrypted, so Secrets must not be archived there; set spec.encryption.recipients", a.Name)
	}
	if r.Namespace == "" {
		return nil
	}
	if a.Spec.AllowNamespaces == nil {
		return fmt.Errorf("RetentionArchive %q allows no RetentionPolicies; an administrator can set spec.allowNamespaces", a.Name)
	}
	selector, err := metav1.LabelSelectorAsSelector(a.Spec.AllowNamespaces)
	switch {
	case err != nil:
		return fmt.Errorf("RetentionArchive %q: spec.allowNamespaces: %w", a.Name, err)
	case !selector.Matches(namespace.Labels):
		return fmt.Errorf("RetentionArchive %q does not allow RetentionPolicies of namespace %s; an administrator can change spec.allowNamespaces", a.Name, r.Namespace)
	}
	return nil
}
