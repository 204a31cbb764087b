// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// here returns the ConfigMaps of the test that users have created, and how many of them are marked. None may be terminating
// or have a finalizer.
func (w *env) here() (all []corev1.ConfigMap, marked int) {
	w.Helper()
	list := &corev1.ConfigMapList{}
	expect.NoError(w, w.List(w.Context(), list, client.InNamespace(w.namespace), client.HasLabels{"test"}))
	for i := range list.Items {
		cm := &list.Items[i]
		if len(cm.Finalizers) > 0 || cm.DeletionTimestamp != nil {
			w.Errorf("%s has finalizers %v, is deleted %v", cm.Name, cm.Finalizers, cm.DeletionTimestamp)
		}
		if _, ok := cm.Annotations[v1alpha1.EligibleSinceAnnotation]; ok {
			marked++
		}
	}
	return list.Items, marked
}

// retired is a ConfigMap that a rule without startTime marks immediately.
func (w *env) retired(name string) *corev1.ConfigMap {
	cm := w.configMap(name, marked)
	w.label(cm, `"yes"`)
	return cm
}

// halfway creates a backlog, and objects to mark.
func (w *env) halfway() (fleeting, marking *v1alpha1.ClusterRetentionPolicy) {
	for i := range 100 {
		w.configMap(fmt.Sprint("backlog-", i), fleet)
	}
	for i := range 10 {
		w.retired(fmt.Sprint("marked-", i))
	}
	return w.policy("fleeting", fmt.Sprintf(fleetingPolicy, "Enforce")), w.policy("unused", fmt.Sprintf(unused, "Enforce", "1h"))
}

// TestUninstalledInTheMiddleOfABacklog ends the process and revokes its permissions at the same time, like helm uninstall.
// Then no more objects are deleted, nothing hangs, and one command removes every mark.
func TestUninstalledInTheMiddleOfABacklog(t *testing.T) {
	w := newEnv(t)
	user := "sunset-" + w.namespace
	config, err := w.plane.UserConfig(user)
	expect.NoError(w, err)
	w.grant(user, "core", core...)
	w.grant(user, "ledgers", rbacv1.PolicyRule{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"retentionledgers"}, Verbs: []string{"list"}})
	revoke := w.grant(user, "kinds", onConfigMaps("list", "watch", "delete", "patch"))
	w.halfway()
	g := proxy.New(t, config)
	writes := recorded(g, func(r *http.Request) bool {
		return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/configmaps/")
	})
	p := controller(t, g, "--leader-elect=false", "--max-deletions-per-second=10")
	cluster.Eventually(t, patience, func() error {
		all, marked := w.here()
		return cluster.Want(len(all) <= 90 && marked >= 10, "%d ConfigMaps exist, %d marked", len(all), marked)
	})
	revoke()
	p.stop(t)
	sent := len(writes())
	left, _ := w.here()
	if len(left) < 20 {
		t.Fatalf("only %d were left in the middle of the backlog", len(left))
	}
	time.Sleep(2 * time.Second)
	if now, _ := w.here(); len(now) != len(left) || len(writes()) != sent {
		t.Errorf("%d ConfigMaps were left, then %d; %d writes, then %d", len(left), len(now), sent, len(writes()))
	}
	run := w.commandLine(w.plane.Config(), "--all", "--force")
	for _, test := range []struct {
		flag   string
		marked int
	}{{"--dry-run=client", 10}, {"--force", 0}} {
		said, err := run("unmark", test.flag)
		if now, marked := w.here(); err != nil || marked != test.marked || len(now) != len(left) {
			t.Errorf("%s: %d of %d ConfigMaps exist, %d are marked: %v\n%s", test.flag, len(now), len(left), marked, err, said)
		}
	}
}

// TestBrakeForEverything: with --dry-run Sunset counts everything, deletes and marks nothing, and policies report the
// reason. Without it, objects that need no approval are deleted. Unapproved backlogs wait, from before the dry run and from
// policies created during it.
func TestBrakeForEverything(t *testing.T) {
	w := newEnv(t)
	held := w.backlog(10)
	stop := w.sunset()
	before := w.policy("before", cautious("Enforce", "0s"))
	hash := w.pending(before, 10)
	w.status(w.policy("running", fmt.Sprintf(fleetingPolicy, "Enforce")+defaultApproval), func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(len(s.Previews) == 1, "not counted")
	})
	w.stays(0, held...) // the objects of a new rule are not evaluated until its kind is listed
	stop()
	stop = w.sunset(func(c *manager.Config) { c.DryRun = true })
	meanwhile := w.policy("meanwhile", cautious("Enforce", "1s"))
	fleeting, unused := w.halfway()
	w.rulesOnNodes(w.policy("images", agedImages), func(p v1alpha1.NodeImagePolicy) error {
		return cluster.Want(p.Spec.Mode == v1alpha1.DryRun, "published mode: %s", p.Spec.Mode)
	})
	for p, due := range map[*v1alpha1.ClusterRetentionPolicy]int64{fleeting: 100, unused: 0, before: 10, meanwhile: 10} {
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			c := w.condition(s, v1alpha1.ConditionReady)
			if s.Due.Now != due || s.Due.Hour < due || s.Matched == 0 || c.Reason != "DryRun" || !strings.Contains(c.Message, "--dry-run") {
				return errors.New("want a dry run because of the flag, with everything counted")
			}
			return nil
		})
	}
	if all, marked := w.here(); len(all) != 110 || marked != 0 {
		t.Errorf("%d ConfigMaps exist, %d are marked", len(all), marked)
	}
	stop()
	w.sunset()
	cluster.Eventually(t, patience, func() error {
		all, marked := w.here()
		return cluster.Want(len(all) == 10 && marked == 10, "%d ConfigMaps exist, %d are marked", len(all), marked)
	})
	if again := w.pending(before, 10); again != hash {
		t.Errorf("the hash to approve was %s, then %s", hash, again)
	}
	written := w.pending(meanwhile, 10)
	w.stays(time.Second, held...)
	w.approve(before, hash)
	w.approve(meanwhile, written)
	w.left()
}

// unreferencedPolicy marks ConfigMaps without references.
const unreferencedPolicy = `
mode: Enforce
rules:
- name: unreferenced
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {test: features}}}
  eligible: references.count == 0
  ttl: 0s
`

// TestFeatureThatIsOffKeeps: a disabled feature keeps the objects of its rules and their earlier marks, even if another
// rule would delete them.
func TestFeatureThatIsOffKeeps(t *testing.T) {
	w := newEnv(t)
	w.sunset(func(c *manager.Config) { c.Protection.Off = []policy.Feature{policy.References, policy.NodeImages} })
	kept := w.configMap("kept", map[string]string{"test": "features"})
	const since = `{"0123456789abcdef":"2001-01-01T00:00:00Z"}`
	w.setAnnotation(kept, v1alpha1.EligibleSinceAnnotation, fmt.Sprintf("%q", since))
	unreferenced := w.policy("unreferenced", unreferencedPolicy)
	w.expect(unreferenced, v1alpha1.ConditionReady, "RuleInvalid", "feature gate References, which is disabled", "--feature-gates=References=true")
	w.policy("anything", strings.Replace(fmt.Sprintf(fleetingPolicy, "Enforce"), "{test: versions}", "{test: features}", 1))
	images := w.policy("images", agedImages)
	w.expect(images, v1alpha1.ConditionReady, "RuleInvalid", "feature gate NodeImages, which is disabled")
	w.rulesOnNodes(images, func(p v1alpha1.NodeImagePolicy) error {
		for _, r := range p.Spec.Rules {
			if err := contains(r.Eligible, "this rule is invalid"); err != nil {
				return err
			}
		}
		return nil
	})
	w.policy("alive", fmt.Sprintf(fleetingPolicy, "Enforce"))
	w.gone(w.configMap("other", fleet))
	w.stays(time.Second, kept)
	if now := kept.Annotations[v1alpha1.EligibleSinceAnnotation]; now != since {
		t.Errorf("marked %s, then %s", since, now)
	}
}
