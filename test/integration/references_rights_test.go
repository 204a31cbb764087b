package integration_test

import (
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/gate"
)

// referring are the rights to see what refers to ConfigMaps, but CronJobs.
var referring = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "pods", "podtemplates", "replicationcontrollers"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses", "ingressclasses"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicybindings", "mutatingadmissionpolicybindings"}, Verbs: []string{"list", "watch"}},
}

var ofCronJobs = rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"list", "watch"}}

// whatCannotBeFollowedKeeps: without the right to see one kind that may refer to ConfigMaps all of them stay, and
// the policy says which kind it is. Once the right is there again, so does the quiet period begin.
func (w *world) whatCannotBeFollowedKeeps() {
	w.Helper()
	user := "sunset-" + w.namespace
	config, err := w.plane.UserConfig(user)
	if err != nil {
		w.Fatal(err)
	}
	p := w.policy("unreferenced", unreferenced)
	g := gate.New(w.T, config)
	g.Adjust(only(p))
	w.grant(user, "core", core...)
	w.grant(user, "configmaps", onConfigMaps("list", "watch", "delete"))
	w.grant(user, "referring", referring...)
	revoke := w.grant(user, "cronjobs", ofCronJobs)
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	unused := w.configMap("unused", nil)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Eligible != 1 {
			return fmt.Errorf("%d eligible", s.Eligible)
		}
		return nil
	})

	revoke()
	g.Cut() // watches outlive the right to watch, until something ends them
	w.expect(p, v1alpha1.ConditionReferencesKnown, "ReferencesUnknown", "list and watch", "cronjobs")
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Eligible != 0 {
			return fmt.Errorf("%d eligible", s.Eligible)
		}
		return nil
	})

	w.grant(user, "again", ofCronJobs)
	granted := time.Now()
	w.gone(unused)
	if early := quiet - time.Since(granted); early > 0 {
		w.Errorf("gone %s early after what refers to it was known again", early)
	}
}
