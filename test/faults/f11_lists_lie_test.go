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
	"github.com/sunset-k8s/sunset/test/faults/scene"
	"github.com/sunset-k8s/sunset/test/gate"
)

// list is a list as JSON, edited without knowing what it is of.
type list struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ListMeta   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

// edited is a change of lists.
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

// lies are lists that are not what the API server has.
var lies = map[string]func([]byte) []byte{
	"empty":                   edited(func(l *list) { l.Items = []json.RawMessage{} }),
	"first-page-only":         edited(func(l *list) { l.Items, l.Metadata.Continue = l.Items[:len(l.Items)/2], "more" }),
	"continue-dropped":        edited(func(l *list) { l.Items, l.Metadata.RemainingItemCount = l.Items[:len(l.Items)/2], new(int64(3)) }),
	"truncated":               func(body []byte) []byte { return body[:len(body)/2] },
	"truncated-after-an-item": func(body []byte) []byte { return body[:bytes.LastIndexByte(body, '}')] },
	"without-its-last-policy": edited(func(l *list) { l.Items = l.Items[:max(0, len(l.Items)-1)] }),
}

// The lists of policies that are read before each deletion lack overrides, in every way in which a list can. What those keep
// stays, and nothing else goes while it is so.
func TestF11ListsOfPoliciesLackSome(t *testing.T) {
	scene.Short(t)
	s := scene.New(t, scene.Options{})
	elsewhere := s.More("elsewhere")
	leads, waits := pair(s, scene.Start{})
	p := s.Policy("previews", previews("Enforce", "3s"))
	s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	enforcing(s, p)
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		armed := leads.Gate.Arm(gate.Fault{Match: gate.Requests("list", "retentionpolicies"), Rewrite: lies[name]})
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

// Lists of Pods lack some of those that use ConfigMaps, in one way after the other, for longer than a quiet period. A list that
// is not whole is not known, and nothing goes.
func TestF11ListsOfReferrersAreNotWhole(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{})
	inUse := configMaps(s, "used", 8, preview)
	for _, cm := range inUse {
		s.MustCreate(userOf(cm))
	}
	unused := s.ConfigMap("unused", preview)
	inPages := []string{"KUBE_FEATURE_WatchListClient=false"} // a listing that is streamed has none
	leads, waits := pair(s, scene.Start{Env: inPages, Flags: longLeases})
	leads.Gate.Adjust(func(r *http.Request) {
		if gate.Requests("list", "pods")(r) {
			query := r.URL.Query()
			query.Set("limit", "3")
			r.URL.RawQuery = query.Encode()
		}
	})
	lie := leads.Gate.Arm(gate.Fault{Match: gate.Requests("list", "pods"), Rewrite: inTurn(
		edited(func(l *list) { l.Metadata.Continue = "" }), lies["truncated"], lies["truncated-after-an-item"])})
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

// inTurn rewrites one answer in this way and the next in that.
func inTurn(ways ...func([]byte) []byte) func([]byte) []byte {
	var n atomic.Int64
	return func(body []byte) []byte { return ways[int(n.Add(1)-1)%len(ways)](body) }
}

// longLeases outlast a machine that is busy: another leader would begin the quiet period again.
var longLeases = []string{"--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=40s"}

// quiet is for how long nothing must have referred to what goes.
const quiet = 30 * time.Second

// unreferenced deletes preview ConfigMaps that nothing refers to.
const unreferenced = `
mode: Enforce
rules:
- name: unreferenced
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: references.count == 0
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// userOf is a Pod, which no node runs, that mounts a ConfigMap.
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
