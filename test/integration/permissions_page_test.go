// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPermissionsOnThePageAreEnough: with the permissions of docs/reference/permissions.md no request of Sunset is refused.
func TestPermissionsOnThePageAreEnough(t *testing.T) {
	w := newEnv(t)
	config := w.userOfPermissionsPage()
	refused := &refusals{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refused.through(next) })
	w.sunset(func(c *manager.Config) {
		c.Rest = config
		c.Election = manager.Election{Enabled: true, RetryPeriod: time.Second}
		c.Namespace, c.Identity = "sunset-system", w.namespace
	})
	p := w.policy("jobs", `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  outcome: "'suspended'"
  events: PerObject
`)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	images := w.policy("images", oldImages)
	w.rulesOnNodes(images, waits(1))
	w.status(images, func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionWatching)
		return cluster.Want(c.Reason != "Forbidden" && s.NodeImages != nil, "no report was read: %s", c.Message)
	})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "job"}, Spec: batchv1.JobSpec{Suspend: ptr.To(true), Template: template}}
	w.create(job)
	w.gone(job)
	ledger := w.counted(p, has(1, 0))
	cluster.Eventually(t, patience, func() error {
		told := &eventsv1.EventList{}
		if err := w.List(t.Context(), told, client.InNamespace(w.namespace)); err != nil || len(told.Items) == 0 {
			return fmt.Errorf("no Event: %w", err)
		}
		return nil
	})
	expect.NoError(t, w.Delete(t.Context(), p))
	w.gone(ledger)
	if got := refused.all(); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
}

// userOfPermissionsPage returns the configuration of a user with the permissions of docs/reference/permissions.md, which the API server
// grants until the test ends.
func (w *env) userOfPermissionsPage() *rest.Config {
	w.Helper()
	page, err := os.ReadFile("../../docs/reference/permissions.md")
	expect.NoError(w, err)
	w.createAll(documents(string(page)))
	const user = "system:serviceaccount:sunset-system:sunset-controller"
	for _, document := range documents(string(page)) {
		role := &rbacv1.ClusterRole{} // a Role decodes as a ClusterRole too
		expect.NoError(w, yaml.Unmarshal([]byte(document), role))
		if strings.HasSuffix(role.Kind, "Role") && len(role.Rules) > 0 {
			w.waitForPermission(role.Namespace, user, role.Rules[0], true)
		}
	}
	config, err := w.plane.UserConfig(user)
	expect.NoError(w, err)
	return config
}

// documents returns the YAML documents of the page that have a kind.
func documents(page string) (all []string) {
	for i, part := range strings.Split(page, "```") {
		if i%2 == 1 && strings.HasPrefix(part, "yaml\napiVersion: ") {
			all = append(all, strings.Split(strings.TrimPrefix(part, "yaml\n"), "\n---\n")...)
		}
	}
	return all
}

// refusals records the requests that were answered with 403.
type refusals struct {
	mu  sync.Mutex
	got []string
}

func (f *refusals) through(next http.RoundTripper) http.RoundTripper {
	return answer.Func(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusForbidden {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.got = append(f.got, r.Method+" "+r.URL.Path)
		}
		return response, err
	})
}

func (f *refusals) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got
}
