// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF28NamespaceIsRecreated deletes a namespace in the middle of a backlog, with a DELETE in flight, and creates
// it again with objects of the same names. Sunset deletes nothing in the terminating namespace, and only due objects in the
// new one.
func TestF28NamespaceIsRecreated(t *testing.T) {
	scenario.Long(t)
	const backlog = 100
	s := scenario.New(t, scenario.Options{})
	name := s.More("again")
	old := &corev1.Namespace{}
	expect.NoError(t, s.Get(t.Context(), client.ObjectKey{Name: name}, old))
	there := func(cm *corev1.ConfigMap) { cm.Namespace = name }
	for i := range backlog {
		s.ConfigMap(fmt.Sprint("cm-", i), preview, there)
	}
	anchor := s.ConfigMap("anchor", nil, there, func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"example.com/not-yet"} })
	t.Cleanup(func() { unstick(s, anchor) })
	leads, waits := pair(s, scenario.Start{Flags: []string{"--max-deletions-per-second=30"}})
	held := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps").And(proxy.In(name)), Skip: 15, Times: 1, Hold: true, Late: true})
	s.Expect(held)
	arrives(s, held, http.StatusConflict)
	s.Policy("previews", previews("Enforce", "0s"))
	fired(s, held)

	s.Remove(old)
	terminating := time.Now()
	s.Eventually(func() error { return emptied(s, name) })
	late := since(terminating, leads.Deletes())
	t.Logf("%d DELETEs sent after the namespace was deleted, the last %s after",
		len(late), lastAfter(terminating, late).Round(time.Millisecond))
	silent(t, time.Second, leads, waits)
	unstick(s, anchor)
	s.Eventually(func() error {
		err := s.Get(t.Context(), client.ObjectKeyFromObject(old), &corev1.Namespace{})
		return cluster.Want(apierrors.IsNotFound(err), "the namespace still exists: %v", err)
	})

	recreated := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: old.Labels}}
	s.MustCreate(recreated)
	var stay []client.Object
	for i := range backlog {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: fmt.Sprint("cm-", i)}}
		s.Eventually(func() error { return s.Create(t.Context(), cm) }) // the API server may still have the old namespace in its cache
		stay = append(stay, cm)
	}
	held.Release()
	s.Gone(s.ConfigMap("goes", preview, there))
	s.Stays(2*time.Second, stay...)
	s.Calm()
}

// emptied returns an error while a namespace has preview ConfigMaps.
func emptied(s *scenario.Scenario, namespace string) error {
	list := &corev1.ConfigMapList{}
	if err := s.List(s.Context(), list, client.InNamespace(namespace), client.MatchingLabels(preview)); err != nil {
		return err
	}
	n := len(list.Items)
	return cluster.Want(n == 0, "%d objects left", n)
}
