// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// policyCollection holds the policies of one kind and their approvals, with their paths in the API.
type policyCollection struct {
	*store[*entry]
	kind   schema.GroupVersionKind
	plural string

	approvals       *approvals
	approvalKind    schema.GroupVersionKind
	approvalsPlural string
}

// collections returns the collections of both kinds.
func (l *Reconciler) collections() []policyCollection {
	return []policyCollection{
		{&l.cluster, v1alpha1.ClusterRetentionPolicyKind, "clusterretentionpolicies",
			&l.clusterApprovals, v1alpha1.ClusterRetentionApprovalKind, "clusterretentionapprovals"},
		{&l.namespaced, v1alpha1.RetentionPolicyKind, "retentionpolicies",
			&l.namespacedApprovals, v1alpha1.RetentionApprovalKind, "retentionapprovals"},
	}
}

// entries returns all policies, as last compiled.
func (l *Reconciler) entries() []*entry {
	var all []*entry
	for _, collection := range l.collections() {
		for _, s := range collection.all {
			if e := s.value.compiled(); e != nil {
				all = append(all, e)
			}
		}
	}
	return all
}

func (l *Reconciler) compiledPolicies() []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries()
}

const apiPath = "/apis/sunset-k8s.io/v1alpha1/"

// list returns the path of all policies.
func (s policyCollection) list() string { return apiPath + s.plural }

// path returns the path of one policy.
func (s policyCollection) path(o metav1.Object) string {
	return pathOf(s.plural, o)
}

// pathOf returns the path of an object of Sunset's group.
func pathOf(plural string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return apiPath + plural + "/" + o.GetName()
	}
	return apiPath + "namespaces/" + o.GetNamespace() + "/" + plural + "/" + o.GetName()
}

// includes reports whether an entry has the version of a policy, or a later one, and its approvals.
func (s policyCollection) includes(e *entry, object metav1.Object, now time.Time) bool {
	return e.includes(object) && e.approved.Equal(s.approvals.of(object, now))
}

func (policyCollection) namespaceOf(o metav1.Object) string { return o.GetNamespace() }

// emptyOf returns an empty policy for a watch. It is unstructured, so that decoding does not drop unknown fields.
func emptyOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}
