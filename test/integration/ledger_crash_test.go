// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// crashing deletes objects immediately and soon, counts both separately, and deletes one object because of its capacity.
const crashing = `
mode: Enforce
limits: {maxDeletions: 6, window: 1h}
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttlExpression: "object.metadata.name.startsWith('soon') ? duration('4s') : duration('0s')"
  outcome: "object.metadata.name.startsWith('soon') ? 'Soon' : 'AtOnce'"
`

// crashObjects creates five objects that are due, two that are due soon, one that is held and one that no rule selects.
func crashObjects(t *testing.T) (w *env, p *v1alpha1.ClusterRetentionPolicy) {
	w = newEnv(t)
	for _, name := range []string{"now-0", "now-1", "now-2", "now-3", "changes", "soon-0", "soon-1"} {
		w.configMap(name, preview)
	}
	held := &corev1.ConfigMap{}
	held.Namespace, held.Name, held.Labels = w.namespace, "held", preview
	held.Annotations = map[string]string{"sunset-k8s.io/hold": "true"}
	w.create(held)
	w.configMap("bystander", nil)
	p = w.policy("crash", crashing)
	expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	return w, p
}

// atTheEnd waits until the namespace is the same as without a crash.
func (w *env) atTheEnd(p *v1alpha1.ClusterRetentionPolicy) {
	w.Helper()
	cluster.Eventually(w, patience, func() error { return w.isAtTheEnd(p) })
}

func (w *env) isAtTheEnd(p *v1alpha1.ClusterRetentionPolicy) error {
	l, now := &v1alpha1.RetentionLedger{}, &v1alpha1.ClusterRetentionPolicy{}
	if err := w.Get(w.Context(), types.NamespacedName{Name: string(p.UID)}, l); err != nil {
		return err
	}
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(p), now); err != nil {
		return err
	}
	left := &corev1.ConfigMapList{}
	if err := w.List(w.Context(), left, client.InNamespace(w.namespace), client.MatchingLabels(preview)); err != nil {
		return err
	}
	var spent, outcomes int64
	for _, s := range l.Spent {
		spent += s.Count
	}
	for _, r := range l.Rules {
		for _, o := range r.Outcomes {
			outcomes += o.Deleted + o.Gone
		}
	}
	told := now.Status.Ledger
	switch {
	case len(left.Items) != 2 || !slices.ContainsFunc(left.Items, func(cm corev1.ConfigMap) bool { return cm.Name == "held" }):
		return fmt.Errorf("%d ConfigMaps are left", len(left.Items))
	case l.Total.Deleted+l.Total.Gone != 6, spent != 6, outcomes != 6, len(l.Open) > 0:
		return fmt.Errorf("counted %v, spent %d, by outcome %d, open %v", l.Total, spent, outcomes, l.Open)
	case told == nil || told.LedgerCount != l.Total || told.Open != 0 || now.Status.Deleted != l.Total.Deleted:
		return fmt.Errorf("the status has %+v, %d deleted; the ledger has %v", told, now.Status.Deleted, l.Total)
	}
	return nil
}

// holderOf returns the holder of a policy's ledger; empty without one.
func (w *env) holderOf(p *v1alpha1.ClusterRetentionPolicy) string {
	l := &v1alpha1.RetentionLedger{}
	_ = w.Get(w.Context(), types.NamespacedName{Name: string(p.UID)}, l)
	return l.Holder
}

// sortOf classifies a write of the controller; empty for other requests.
func sortOf(method, path string) string {
	switch {
	case method == http.MethodGet:
		return ""
	case strings.Contains(path, "/retentionledgers"):
		return map[string]string{http.MethodPost: "making the ledger", http.MethodPut: "writing the ledger"}[method]
	case strings.HasSuffix(path, "/status"):
		return "writing the status"
	case method == http.MethodDelete:
		return "deleting"
	default:
		return ""
	}
}

// moment is the n-th write of a class, before or after the API server handles it.
type moment struct {
	sort  string
	n     int
	after bool
}

func (m moment) String() string {
	when := "before"
	if m.after {
		when = "after"
	}
	return fmt.Sprintf("%s %s, number %d", when, m.sort, m.n)
}

// trap calls spring at a moment, once. The response to that write and to all later writes is lost.
func trap(g *proxy.Proxy, m moment, spring func()) {
	sorted := func(r *http.Request) bool { return sortOf(r.Method, r.URL.Path) == m.sort }
	others := proxy.Fault{Match: func(r *http.Request) bool { return sortOf(r.Method, r.URL.Path) != "" }, Drop: proxy.Before}
	sprung := func() {
		g.Arm(others)
		spring()
	}
	if m.after {
		others.Drop = proxy.After
		g.Arm(proxy.Fault{Match: sorted, Skip: m.n - 1, Times: 1, DoAfter: sprung, Drop: proxy.After})
	} else {
		g.Arm(proxy.Fault{Match: sorted, Skip: m.n - 1, Times: 1, Do: sprung, Drop: proxy.Before})
	}
}

// TestKilledAtEveryWrite kills the controller before or after one of its writes and starts it again: the remaining objects and
// the counts are the same each time. With SUNSET_LONG=1 it does so at every write of an undisturbed run; without, at writes for which
// TestF17TheLeaderIsKilledAtAWrite in test/faults needs make faults.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	moments := []moment{
		{"writing the status", 1, true}, {"writing the status", 2, true}, {"writing the ledger", 2, true}, {"deleting", 1, false},
	}
	if os.Getenv("SUNSET_LONG") != "" {
		t.Run("undisturbed", func(t *testing.T) { // a subtest, which returns its control plane; -run with one moment must name it too
			planes.lend(t)
			moments = everyMoment(t)
		})
	}
	for _, m := range moments {
		t.Run(m.String(), func(t *testing.T) {
			w, p := crashObjects(t)
			g := w.view(p)
			first := make(chan *process, 1)
			killed := make(chan struct{})
			trap(g, m, func() {
				_ = (<-first).Process.Kill()
				close(killed)
			})
			first <- controller(t, g, "--leader-elect=false")
			w.touch("changes")
			select {
			case <-killed:
			case <-time.After(patience):
				t.Fatal("the controller was not killed")
			}
			former := w.holderOf(p)
			second := controller(t, w.view(p), "--leader-elect=false")
			cluster.Eventually(t, patience, func() error {
				holder := w.holderOf(p)
				return cluster.Want(holder != former, "%q still holds the ledger", holder)
			})
			w.atTheEnd(p)
			second.stop(t)
			if err := w.isAtTheEnd(p); err != nil {
				t.Errorf("after the controller stopped: %v", err)
			}
		})
	}
}

// everyMoment returns the moments before and after each write of an undisturbed run.
func everyMoment(t *testing.T) (all []moment) {
	w, p := crashObjects(t)
	g := w.view(p)
	undisturbed := controller(t, g, "--leader-elect=false")
	w.touch("changes")
	w.atTheEnd(p)
	counts := map[string]int{}
	for _, e := range g.Journal() {
		if sort := sortOf(e.Method, e.Path); sort != "" && e.Answered != 0 {
			counts[sort]++
			all = append(all, moment{sort, counts[sort], false}, moment{sort, counts[sort], true})
		}
	}
	undisturbed.stop(t)
	return all
}

// touch changes a ConfigMap, if it still exists.
func (w *env) touch(name string) {
	w.Helper()
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = w.namespace, name
	patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"touched":"true"}}`))
	if err := w.Patch(w.Context(), cm, patch); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
}
