// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF01ObjectsChangeBetweenReadAndDelete changes due objects while the DELETE of each is in flight. The API server refuses
// each DELETE, and Sunset evaluates the changed objects again.
func TestF01ObjectsChangeBetweenReadAndDelete(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{})
	leads, waits := pair(s, scenario.Start{})
	s.Policy("previews", previews("Enforce", "2s")+"  overrideBounds: {ttlAnnotation: WithinBounds}\n")
	held := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps").And(proxy.In(s.Namespace)), Hold: true})
	refuses(s, http.StatusConflict, leads)
	s.Expect(held)

	relabelled, longer, touched := s.ConfigMap("relabelled", preview), s.ConfigMap("longer", preview), s.ConfigMap("touched", preview)
	s.Eventually(func() error { return come(held, 3) })
	s.Change(relabelled, func() { relabelled.Labels = map[string]string{"env": "production"} })
	s.Change(longer, func() { longer.Annotations = map[string]string{v1alpha1.TTLAnnotation: "1h"} })
	s.Change(touched, func() { touched.Data = map[string]string{"still": "a preview"} })
	held.Release()

	s.Gone(touched)
	s.Stays(2*time.Second, relabelled, longer)
	expectPreconditions(t, leads.Deletes())
	idle(t, waits)
	s.Calm()
}

// TestF02AnotherObjectOfTheSameName recreates objects while the DELETE of the old one is in flight. One new object has its
// own TTL, the other is not a preview.
func TestF02AnotherObjectOfTheSameName(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{})
	leads, _ := pair(s, scenario.Start{})
	const ttl = 3 * time.Second
	s.Policy("previews", previews("Enforce", ttl.String()))
	held := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps").And(proxy.In(s.Namespace)), Hold: true})
	refuses(s, http.StatusConflict, leads)
	s.Expect(held)

	preserved, renewed := s.ConfigMap("preserved", preview), s.ConfigMap("renewed", preview)
	s.Eventually(func() error { return come(held, 2) })
	s.Remove(preserved, renewed)
	preserved, renewed = s.ConfigMap("preserved", nil), s.ConfigMap("renewed", preview)
	held.Release()

	onTime(s, ttl, renewed)
	s.Stays(time.Second, preserved)
	s.Calm()
}

// TestF03AHoldAtEveryStep holds an object at each step of its deletion. The object is kept once the API server has stored the
// hold.
func TestF03AHoldAtEveryStep(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	leads, _ := pair(s, scenario.Start{})
	p := s.Policy("previews", previews("Enforce", "2s")+limited(1000))
	before := s.ConfigMap("before", preview)
	s.Gone(before) // from here on, the ledger is written only for deletions
	byLedger(s, p, 1)

	// If a cache lacks a namespace of another scenario, the controller lists all namespaces, and does not get a single one.
	own, all := proxy.Requests("get", "namespaces").And(proxy.Named(s.Namespace)), proxy.Requests("list", "namespaces")
	reads := func(r *http.Request) bool { return own(r) || all(r) }
	var kept []*corev1.ConfigMap
	for _, step := range []struct {
		name  string
		match proxy.Match
		after bool
	}{
		{"as-policies-are-read", proxy.Requests("list", "clusterretentionpolicies"), false},
		{"as-overrides-are-read", proxy.Requests("list", "retentionpolicies"), false},
		{"as-its-namespace-is-read", reads, false},
		{"before-it-is-written-down", proxy.Requests("update", "retentionledgers"), false},
		{"once-it-is-written-down", proxy.Requests("update", "retentionledgers"), true},
		{"before-its-delete", proxy.Requests("delete", "configmaps").And(proxy.In(s.Namespace)), false},
	} {
		byLedger(s, p, 1) // closes the entry of the previous step
		cm := s.ConfigMap(step.name, preview)
		fault := proxy.Fault{Match: step.match, Times: 1}
		if hold := func() { s.Hold(cm) }; step.after {
			fault.DoAfter = hold
		} else {
			fault.Do = hold
		}
		armed := leads.Proxy.Arm(fault)
		s.Expect(armed)
		fired(s, armed)
		kept = append(kept, cm)
	}
	for _, cm := range kept {
		s.Stays(0, cm)
	}
	s.Stays(3*time.Second, kept[len(kept)-1])
	s.Unhold(kept[0])
	s.Gone(kept[0])
	byLedger(s, p, 2)
	s.Calm()
}
