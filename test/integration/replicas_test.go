// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
	"github.com/sunset-k8s/sunset/test/proxy"
)

func TestNextReplicaTakesOverWhenTheLeaderStops(t *testing.T) {
	t.Parallel()
	for name, warm := range map[string]bool{"it has watched objects": true, "it lists objects then": false} {
		t.Run(name, func(t *testing.T) { nextReplicaTakesOver(t, warm) })
	}
}

func nextReplicaTakesOver(t *testing.T, warm bool) {
	w, home := newEnv(t), newEnv(t).namespace
	elect := func(identity string) func(*manager.Config) {
		return func(c *manager.Config) {
			c.Election = manager.Election{Enabled: true, RetryPeriod: time.Second}
			c.Namespace, c.Identity, c.WarmStandby = home, identity, warm
		}
	}
	stopFirst := w.sunset(elect("first"))
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	w.gone(w.configMap("one", preview))
	g := proxy.New(t, w.plane.Config())
	lists := g.Record(func(r *http.Request) bool { // streamed or not, but not the request for the current resourceVersion
		query := r.URL.Query()
		return r.URL.Path == "/api/v1/configmaps" && query.Get("limit") != "1" && (query.Get("watch") == "" || query.Get("sendInitialEvents") == "true")
	})
	w.sunset(elect("second"), func(c *manager.Config) { c.Rest = g.Config() })
	listed := map[bool]int{true: 1, false: 0}[warm]
	cluster.Eventually(w, patience, func() error {
		return cluster.Want(len(lists()) == listed, "the standby has listed ConfigMaps %d times, want %d", len(lists()), listed)
	})
	stopFirst()
	w.gone(w.configMap("two", preview))
	expect.Equal(t, "lists of ConfigMaps", 1, len(lists()))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 2, "the new leader lost the count")
	})
}

// A leader that cannot renew its lease stops deleting before another one can take over, even if all its other requests
// succeed.
func TestLeaderThatCannotRenewStopsInTime(t *testing.T) {
	w, home := newEnv(t), newEnv(t).namespace
	g := proxy.New(t, w.plane.Config())
	lost := w.sunsetUntilLost(func(c *manager.Config) {
		c.Rest = g.Config()
		c.Election = manager.Election{Enabled: true, LeaseDuration: 16 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: time.Second}
		c.Namespace, c.Identity = home, "first"
	})
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	w.gone(w.configMap("one", preview))
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = "15s" })
	w.sees(p, 2)
	var deletedLate atomic.Bool
	blocked := time.Now()
	deletes := w.ofConfigMap(http.MethodDelete, "")
	g.Answers(func(r *http.Request) *proxy.Answer {
		if strings.Contains(r.URL.Path, "/leases/") && r.Method != http.MethodGet {
			return &proxy.Answer{Code: 500}
		}
		if deletes(r) && time.Since(blocked) > 12*time.Second {
			deletedLate.Store(true)
		}
		return nil
	})
	two := w.configMap("two", preview)
	if err := <-lost; err == nil {
		t.Error("the manager ended without an error after it lost its lease")
	}
	w.stays(2*time.Second, two)
	if deletedLate.Load() {
		t.Error("a DELETE was sent after leadership became uncertain")
	}
	w.sunset(func(c *manager.Config) {
		c.Election = manager.Election{Enabled: true, LeaseDuration: 16 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: time.Second}
		c.Namespace, c.Identity = home, "second"
	})
	w.gone(two)
}

func TestKilledInTheMiddleOfABacklogAndStartedAgain(t *testing.T) {
	w := newEnv(t)
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	const n = 200
	for i := range n {
		w.configMap(fmt.Sprintf("cm-%d", i), preview)
	}
	bystander := w.configMap("bystander", nil)
	left := func() int {
		list := &corev1.ConfigMapList{}
		expect.NoError(t, w.List(t.Context(), list, client.InNamespace(w.namespace), client.MatchingLabels(preview)))
		return len(list.Items)
	}
	g := proxy.New(t, w.plane.Config())
	first := controller(t, g, "--leader-elect=false", "--max-deletions-per-second=20")
	cluster.Eventually(t, patience, func() error {
		return cluster.Want(left() <= n*3/4, "too few deletions yet")
	})
	first.kill()
	if l := left(); l == 0 {
		t.Fatal("the backlog was gone before the controller was killed")
	}
	second := controller(t, g, "--leader-elect=false")
	cluster.Eventually(t, patience, func() error {
		l := left()
		return cluster.Want(l == 0, "%d ConfigMaps are left", l)
	})
	w.stays(0, bystander)
	second.stop(t)
}

// TestManyPolicies works with 40 policies about one kind; with SUNSET_LONG=1, with a thousand.
func TestManyPolicies(t *testing.T) {
	n := 40
	if long.Enabled() {
		n = 1000
	}
	w := newEnv(t)
	w.sunset()
	const patience = 2 * patience // for all statuses
	for i := range n {
		mode := "DryRun"
		if i%10 == 0 {
			mode = "Enforce"
		}
		w.policy(fmt.Sprintf("p-%04d", i), fmt.Sprintf(previews, mode, fmt.Sprintf("%dm", i%60+1)))
	}
	last := w.policy("zero", fmt.Sprintf(previews, "Enforce", "0s"))
	other := w.policy("other", strings.Replace(fmt.Sprintf(previews, "Enforce", "0s"), "env: preview", "env: other", 1))
	waits, goes := w.configMap("waits", preview), w.configMap("goes", map[string]string{"env": "other"})
	w.gone(goes) // only the last policy selects it
	w.statusWithin(patience, other, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 1, "wrong count")
	})
	w.statusWithin(patience, last, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Matched == 1 && s.Due.Now == 0 && s.Due.Hour == 1, "want the latest due time of all policies")
	})
	w.stays(0, waits)
	cluster.Eventually(t, patience, func() error {
		list := &v1alpha1.ClusterRetentionPolicyList{}
		if err := w.List(t.Context(), list); err != nil {
			return err
		}
		for _, p := range list.Items {
			if p.Status.ObservedGeneration != p.Generation {
				return fmt.Errorf("policy %s has no status yet", p.Name)
			}
		}
		return nil
	})
}
