// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// referring are the permissions to read all kinds that refer to ConfigMaps, except CronJobs.
var referring = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "pods", "podtemplates", "replicationcontrollers"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses", "ingressclasses"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"}, Verbs: []string{"list", "watch"}},
}

var ofCronJobs = rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"list", "watch"}}

// whatCannotBeFollowedKeeps: without permission to read one of the kinds that may refer to ConfigMaps, all ConfigMaps stay,
// and the policy names the kind. When the permission is restored, the quiet period starts again.
func (w *env) whatCannotBeFollowedKeeps() {
	w.Helper()
	user := "sunset-" + w.namespace
	config, err := w.plane.UserConfig(user)
	expect.NoError(w, err)
	p := w.policy("unreferenced", unreferenced)
	g := proxy.New(w.T, config)
	g.Adjust(only(p))
	w.grant(user, "core", core...)
	w.grant(user, "configmaps", onConfigMaps("list", "watch", "delete"))
	w.grant(user, "referring", referring...)
	revoke := w.grant(user, "cronjobs", ofCronJobs)
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	unused := w.configMap("unused", nil)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Eligible == 1, "%d eligible", s.Eligible)
	})

	revoke()
	g.Cut() // a watch continues without permission until it is closed
	w.expect(p, v1alpha1.ConditionReferencesKnown, "ReferencesUnknown", "list and watch", "cronjobs")
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Eligible == 0, "%d eligible", s.Eligible)
	})

	granted := time.Now()
	w.grant(user, "again", ofCronJobs)
	w.gone(unused)
	if early := quiet - time.Since(granted); early > 0 {
		w.Errorf("deleted %s early after its references were known again", early)
	}
}
