// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// markedUnreferenced starts the TTL when a ConfigMap was first seen without references.
const markedUnreferenced = `
mode: Enforce
rules:
- name: configmaps
  target: {apiVersion: v1, kind: ConfigMap}
  eligible: references.count == 0
  ttl: 3s
`

// marksFollowReferences: a ConfigMap gets a mark when it is first seen unused. The mark is removed within seconds when the
// ConfigMap is used again, and set again when it is not. Marks survive a restart of Sunset, which deletes nothing until it
// has known all references for a while.
func (w *env) marksFollowReferences() {
	w.Helper()
	g := w.view(w.policy("unreferenced", markedUnreferenced))
	throughGate := func(c *manager.Config) { c.Rest = g.Config() }
	stop := w.sunset(throughGate)
	unused, again, used := w.configMap("unused", nil), w.configMap("again", nil), w.configMap("used", nil)
	w.using(used)
	since, first := w.mark(unused), w.mark(again)

	pod := w.using(again)
	began := time.Now()
	w.unmarked(again)
	if took := time.Since(began); took > quiet {
		w.Errorf("the mark of a ConfigMap in use remained for %s", took)
	}
	cluster.Eventually(w, patience, func() error { // marks have a resolution of one second
		now := time.Now()
		return cluster.Want(now.After(first), "it is %s", now)
	})
	w.delete(pod)
	second := w.mark(again)
	if !second.After(first) {
		w.Errorf("marked %s and then %s", first, second)
	}

	stop()
	started := time.Now()
	w.sunset(throughGate)
	w.stays(time.Second, unused, again) // their TTL has ended
	if at := w.mark(unused); !at.Equal(since) {
		w.Errorf("marked %s, after the restart %s", since, at)
	}
	w.gone(unused)
	if early := quiet - time.Since(started); early > 0 {
		w.Errorf("deleted %s early after a restart", early)
	}
	w.gone(again)
	w.stays(0, used)
	w.unmarked(used)
}

// using creates a Pod that reads its environment from a ConfigMap.
func (w *env) using(cm *corev1.ConfigMap) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "uses-"},
		Spec:       corev1.PodSpec{NodeName: cluster.NodeName(0), Containers: readingAll(cm.Name)},
	}
	cluster.SetFate(pod, cluster.Endless, 0)
	w.create(pod)
	return pod
}
