// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

var (
	policies         = v1alpha1.GroupVersion.WithResource("retentionpolicies").GroupResource()
	approvals        = v1alpha1.GroupVersion.WithResource("retentionapprovals").GroupResource()
	clusterPolicies  = v1alpha1.GroupVersion.WithResource("clusterretentionpolicies").GroupResource()
	clusterApprovals = v1alpha1.GroupVersion.WithResource("clusterretentionapprovals").GroupResource()
	ledgers          = v1alpha1.GroupVersion.WithResource("retentionledgers").GroupResource()
	imageRules       = v1alpha1.GroupVersion.WithResource("nodeimagerules").GroupResource()
)

// users binds roles to users, in a namespace and in the cluster, and asks the API server what they may do.
func (s *server) users() {
	for _, test := range []struct {
		role, verb string
		resource   schema.GroupResource
		want       bool
	}{
		{"view", "watch", policies, true},
		{"view", "list", approvals, true},
		{"view", "create", policies, false},
		{"edit", "create", policies, true},
		{"edit", "create", approvals, false},
		{"edit", "delete", approvals, false},
		{"admin", "patch", policies, true},
		{"admin", "create", approvals, true},
		{"admin", "list", clusterPolicies, false},
		{"admin", "get", ledgers, false}, // they name objects of other namespaces
		{"sunset-approver", "create", approvals, true},
		{"sunset-approver", "patch", policies, false},
		{"sunset-cluster-view", "list", clusterPolicies, true},
		{"sunset-cluster-view", "list", policies, true},
		{"sunset-cluster-view", "get", ledgers, true},
		{"sunset-cluster-view", "list", imageRules, true},
		{"sunset-cluster-view", "patch", clusterPolicies, false},
		{"sunset-cluster-edit", "patch", clusterPolicies, true},
		{"sunset-cluster-edit", "create", clusterApprovals, false},
		{"sunset-cluster-edit", "list", ledgers, true},
		{"sunset-cluster-edit", "update", ledgers, false},
		{"sunset-cluster-edit", "update", imageRules, false},
		{"sunset-cluster-approver", "create", clusterApprovals, true},
		{"sunset-cluster-approver", "get", ledgers, true},
		{"sunset-cluster-approver", "patch", clusterPolicies, false},
	} {
		s.bind(test.role)
		cluster.Eventually(s, patience, func() error { return s.may(test.role, test.verb, test.resource, "team", test.want) })
	}
}

// bind grants a role to the user with its name: roles for the cluster everywhere, others in the team's namespace.
func (s *server) bind(role string) {
	s.Helper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role}}
	var binding client.Object = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: role}, RoleRef: ref, Subjects: subjects}
	if strings.HasPrefix(role, "sunset-cluster-") {
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: ref, Subjects: subjects}
	}
	if err := s.Create(s.Context(), binding); err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
}

// stopped runs the command of the notes: afterwards the controller may neither change nor delete objects that policies select,
// and agents cannot read rules.
func (s *server) stopped() {
	const agent = "system:serviceaccount:" + namespace + ":sunset-node-agent"
	jobs, ranges, configMaps := schema.GroupResource{Group: "batch", Resource: "jobs"}, schema.GroupResource{Resource: "limitranges"}, schema.GroupResource{Resource: "configmaps"}
	rules := v1alpha1.GroupVersion.WithResource("nodeimagerules").GroupResource()
	check := func(want bool) {
		s.Helper()
		for _, p := range []struct {
			user, verb string
			resource   schema.GroupResource
		}{
			{account, "delete", jobs}, {account, "delete", ranges}, {account, "patch", configMaps}, {agent, "get", rules}, {agent, "watch", rules},
		} {
			cluster.Eventually(s, patience, func() error { return s.may(p.user, p.verb, p.resource, "", want) })
		}
	}
	check(true)
	expect.NoError(s, s.DeleteAllOf(s.Context(), &rbacv1.ClusterRoleBinding{}, client.MatchingLabels{grantsDeletion: "true"}))
	check(false)
	expect.NoError(s, s.may(account, "delete", v1alpha1.GroupVersion.WithResource("retentionledgers").GroupResource(), "", true))
}

// may fails if a user has a permission, or does not have it.
func (s *server) may(user, verb string, resource schema.GroupResource, in string, want bool) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: in, Verb: verb, Group: resource.Group, Resource: resource.Resource}}}
	if err := s.Create(s.Context(), review); err != nil {
		return err
	}
	if review.Status.Allowed != want {
		return fmt.Errorf("%s may %s %s: %t, want %t", user, verb, resource, review.Status.Allowed, want)
	}
	return nil
}
