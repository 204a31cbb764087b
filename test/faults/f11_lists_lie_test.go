// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// list is a list in JSON, with items of any kind.
type list struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ListMeta   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

// edited returns a function that changes a list.
func edited(change func(*list)) func([]byte) []byte {
	return func(body []byte) []byte {
		l := &list{}
		if json.Unmarshal(body, l) != nil {
			return body
		}
		change(l)
		body, _ = json.Marshal(l)
		return body
	}
}

// brokenLists are changes that make a list incomplete or invalid.
var brokenLists = map[string]func([]byte) []byte{
	"empty":                   edited(func(l *list) { l.Items = []json.RawMessage{} }),
	"first-page-only":         edited(func(l *list) { l.Items, l.Metadata.Continue = l.Items[:len(l.Items)/2], "more" }),
	"continue-dropped":        edited(func(l *list) { l.Items, l.Metadata.RemainingItemCount = l.Items[:len(l.Items)/2], new(int64(3)) }),
	"truncated":               func(body []byte) []byte { return body[:len(body)/2] },
	"truncated-after-an-item": func(body []byte) []byte { return body[:bytes.LastIndexByte(body, '}')] },
	"without-its-last-policy": edited(func(l *list) { l.Items = l.Items[:max(0, len(l.Items)-1)] }),
}

// TestF11ListsOfPoliciesLackSome makes the lists of policies that Sunset reads before each deletion incomplete or invalid, in
// different ways. Sunset keeps the objects that the missing overrides keep, and deletes nothing else while the lists are
// wrong.
func TestF11ListsOfPoliciesLackSome(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{})
	elsewhere := s.More("elsewhere")
	leads, waits := pair(s, scenario.Start{})
	p := s.Policy("previews", previews("Enforce", "3s"))
	s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	enforcing(s, p)
	for _, name := range slices.Sorted(maps.Keys(brokenLists)) {
		armed := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("list", "retentionpolicies"), Rewrite: brokenLists[name]})
		s.Expect(armed)
		kept := s.ConfigMap(name, preview)
		goes := s.ConfigMap(name, preview, func(cm *corev1.ConfigMap) { cm.Namespace = elsewhere })
		fired(s, armed)
		silent(t, 1500*time.Millisecond, leads, waits)
		armed.Lift()
		s.Gone(goes)
		s.Stays(0, kept)
	}
	s.Calm()
}

// TestF11ListsOfReferrersAreNotWhole makes lists of Pods that use ConfigMaps incomplete, in different ways and for longer
// than a quiet period. After an incomplete list, the references are unknown and Sunset deletes nothing.
func TestF11ListsOfReferrersAreNotWhole(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	inUse := configMaps(s, "used", 8, preview)
	for _, cm := range inUse {
		s.MustCreate(userOf(cm))
	}
	unused := s.ConfigMap("unused", preview)
	inPages := []string{"KUBE_FEATURE_WatchListClient=false"} // a streamed list has no pages
	leads, waits := pair(s, scenario.Start{Env: inPages, Flags: longLeases})
	leads.Proxy.Adjust(func(r *http.Request) {
		if proxy.Requests("list", "pods")(r) {
			query := r.URL.Query()
			query.Set("limit", "3")
			r.URL.RawQuery = query.Encode()
		}
	})
	lie := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("list", "pods"), Rewrite: inTurn(
		edited(func(l *list) { l.Metadata.Continue = "" }), brokenLists["truncated"], brokenLists["truncated-after-an-item"])})
	s.Expect(lie)
	p := s.Policy("unreferenced", unreferenced)
	tells(s, p, v1alpha1.ConditionReferencesKnown, "ReferencesUnknown", "Pod")
	silent(t, quiet+5*time.Second, leads, waits)
	if err := come(lie, 6); err != nil {
		t.Error(err)
	}
	lie.Lift()
	s.Gone(unused)
	for _, cm := range inUse {
		s.Stays(0, cm)
	}
	s.Calm()
}

// inTurn rewrites each answer in the next of several ways.
func inTurn(ways ...func([]byte) []byte) func([]byte) []byte {
	var n atomic.Int64
	return func(body []byte) []byte { return ways[int(n.Add(1)-1)%len(ways)](body) }
}

// longLeases are long enough for a busy machine: a new leader would start the quiet period again.
var longLeases = []string{"--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=40s"}

// quiet is how long an object must have had no references before it is deleted.
const quiet = 30 * time.Second

// unreferenced deletes preview ConfigMaps without references.
const unreferenced = `
mode: Enforce
rules:
- name: unreferenced
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: references.count == 0
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// userOf returns a Pod that mounts a ConfigMap; no node runs it.
func userOf(cm *corev1.ConfigMap) *corev1.Pod {
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: cm.Name}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: "uses-" + cm.Name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "busybox"}},
			Volumes:    []corev1.Volume{{Name: "used", VolumeSource: corev1.VolumeSource{ConfigMap: source}}},
		},
	}
}
