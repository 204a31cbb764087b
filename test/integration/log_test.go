// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestHealthyStartIsCalm starts a process that takes the lease, deletes an object, keeps another one that Argo CD manages
// and reports that once, and ends. A second replica waits for the lease and takes over. Their logs have no errors and few
// lines.
func TestHealthyStartIsCalm(t *testing.T) {
	w := newEnv(t)
	w.configMap("goes", preview)
	hook := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "hook", Labels: preview, Annotations: map[string]string{"argocd.argoproj.io/hook": "PreSync"},
	}}
	w.create(hook)
	p := w.policy("calm", fmt.Sprintf(previews, "Enforce", "0s"))
	expect.NoError(w, w.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	own := newEnv(t).namespace // Sunset deletes nothing in its own namespace
	start := func(args ...string) *process {
		return controller(t, w.view(p), append(args, "--namespace", own, "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")...)
	}
	c := start()
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Deleted != 1 {
			return errors.New("nothing is deleted yet")
		}
		return contains(w.condition(s, v1alpha1.ConditionManagedByArgoCD).Message, "rule previews keeps 1 ConfigMap, such as "+w.namespace+"/hook: ")
	})
	told := func() (n int, err error) {
		events := &eventsv1.EventList{}
		err = w.List(t.Context(), events, client.InNamespace("default"))
		for _, e := range events.Items {
			if e.Regarding.UID == p.UID && e.Reason == v1alpha1.ConditionManagedByArgoCD && e.Type == corev1.EventTypeWarning {
				n++
			}
		}
		return n, err
	}
	cluster.Eventually(t, patience, func() error {
		n, err := told()
		return cluster.Want(err == nil && n > 0, "%d Events: %v", n, err)
	})
	next := start("--metrics-secure")
	c.stop(t)
	w.gone(w.configMap("goes-later", preview))
	next.stop(t)
	next.isCalm(t)
	if n, err := told(); n != 1 || err != nil {
		t.Errorf("%d Events: %v", n, err)
	}
	if n := strings.Count(c.log.String(), "policy has a problem"); n != 1 {
		t.Errorf("%d lines report the problem", n)
	}
	c.isCalm(t)
}

// mostAtInfo is how many lines a controller may log at info while it starts with few policies, works for a few seconds and
// ends.
const mostAtInfo = 30

// isCalm checks the log of an ended process that nothing disturbed: JSON at info or below, few lines, no errors and no
// stack traces.
func (p *process) isCalm(t *testing.T) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	for _, line := range lines {
		if strings.Contains(line, "Error retrieving lease lock") && strings.Contains(line, "context canceled") {
			continue // client-go logs this if the process is stopped while it renews the Lease
		}
		var said map[string]any
		switch err := json.Unmarshal([]byte(line), &said); {
		case err != nil:
			t.Errorf("not a JSON line: %s", line)
		case said["level"] != "info":
			t.Errorf("a line at level %v: %s", said["level"], line)
		case said["stacktrace"] != nil || strings.Contains(line, ".go:"):
			t.Errorf("a line with a stack trace: %s", line)
		}
	}
	if len(lines) > mostAtInfo {
		t.Errorf("%d lines at info, want at most %d:\n%s", len(lines), mostAtInfo, strings.Join(lines, "\n"))
	}
}
