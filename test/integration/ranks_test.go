// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// ranked creates a ConfigMap of a preview environment with a time of last use in the near future, later for a higher place.
// The creation times do not define the order, and no TTL starts before the time of last use.
func (w *env) ranked(name, app string, place int) *corev1.ConfigMap {
	w.Helper()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	used := w.began.Add(soon + time.Duration(place)*10*time.Millisecond)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{"env": "preview", "app": app}},
		Data:       map[string]string{"usedAt": used.UTC().Format(time.RFC3339Nano)},
	}
	w.create(cm)
	return cm
}

// soon is longer than a test takes to create the objects that it ranks.
const soon = 8 * time.Second

// byUse ranks ConfigMaps by their last use.
const byUse = `
mode: %s
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.data.usedAt
  %s
`

// names returns the names of the ConfigMaps of preview environments.
func (w *env) names() (names []string, err error) {
	list := &corev1.ConfigMapList{}
	if err := w.List(w.Context(), list, client.InNamespace(w.namespace), client.MatchingLabels(preview)); err != nil {
		return nil, err
	}
	for _, cm := range list.Items {
		if cm.DeletionTimestamp == nil {
			names = append(names, cm.Name)
		}
	}
	return names, nil
}

// left waits until exactly these ConfigMaps are left, and checks that they stay.
func (w *env) left(want ...string) {
	w.Helper()
	same := func() error {
		got, err := w.names()
		if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			err = fmt.Errorf("%v are left, want %v", got, want)
		}
		return err
	}
	cluster.Eventually(w, patience, same)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		expect.NoError(w, same())
	}
}

// TestNewestOfEachGroupStay: the most recently used objects of each group stay, regardless of age; held objects count
// too.
func TestNewestOfEachGroupStay(t *testing.T) {
	w := newEnv(t)
	for _, app := range []string{"a", "b"} {
		for place := range 4 {
			w.ranked(fmt.Sprintf("%s%d", app, place), app, -place) // 0 is the newest
		}
	}
	w.ranked("c0", "c", 0)
	w.annotate(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "b0"}}, `"true"`)
	w.sunset()
	w.policy("previews", fmt.Sprintf(byUse, "Enforce", `ttl: 0s
  keepNewest: {count: 2, groupBy: "object.metadata.?labels[?'app'].orValue('')"}`))
	w.left("a0", "a1", "b0", "b1", "c0")
	w.ranked("a9", "a", 5)
	w.left("a0", "a9", "b0", "b1", "c0")
}

// TestNeverFewerThanTheNewestRemain: the newest objects remain while objects are created and deleted and DELETEs fail.
func TestNeverFewerThanTheNewestRemain(t *testing.T) {
	w, g := behindProxy(t)
	const keep = 3
	for i := range 10 {
		w.ranked(fmt.Sprint("cm-", i), "a", i)
	}
	g.Answers(everyOther())
	var watching sync.WaitGroup
	done := make(chan struct{})
	defer func() { close(done); watching.Wait() }()
	watching.Go(func() {
		for {
			if names, err := w.names(); err != nil || len(names) < keep {
				w.Errorf("only %v are left, %v", names, err)
				return
			}
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	w.policy("previews", fmt.Sprintf(byUse, "Enforce", "ttl: 0s\n  keepNewest: {count: 3}"))
	for i := range 20 {
		w.ranked(fmt.Sprint("cm-", 10+i), "a", 10+i)
	}
	w.left("cm-27", "cm-28", "cm-29")
}

// TestCapacityLetsTheOldestGo: the oldest objects are deleted before the end of their TTL, and only as many as exceed the
// capacity.
func TestCapacityLetsTheOldestGo(t *testing.T) {
	w := newEnv(t)
	for place := range 5 {
		w.ranked(fmt.Sprint("cm-", place), "a", -place)
	}
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(byUse, "Enforce", "capacity: {max: 3}"))
	w.left("cm-0", "cm-1", "cm-2")
	oldest := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cm-2"}}
	w.annotate(oldest, `"true"`)
	w.ranked("cm-9", "a", 9)
	w.left("cm-0", "cm-1", "cm-2", "cm-9") // the excess object is held
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Rules[0].Excess == 1, "the status does not show the excess")
	})
	w.annotate(oldest, "null")
	w.left("cm-0", "cm-1", "cm-9")
}

// TestFairCapacityTakesFromTheNamespacesWithMost: a fair capacity deletes from the namespaces with most objects.
func TestFairCapacityTakesFromTheNamespacesWithMost(t *testing.T) {
	many, few := newEnv(t), newEnv(t)
	for place := range 6 {
		many.ranked(fmt.Sprint("cm-", place), "a", -place)
	}
	few.ranked("cm-0", "a", -50)
	few.ranked("cm-1", "a", -60)
	many.labelNamespace("fair", many.namespace)
	few.labelNamespace("fair", many.namespace)
	many.sunset()
	many.policy("fair", fmt.Sprintf(byUse, "Enforce", "capacity: {max: 5, share: Fair}")+
		fmt.Sprintf("namespaceSelector: {matchLabels: {fair: %s}}\n", many.namespace))
	many.left("cm-0", "cm-1", "cm-2")
	few.left("cm-0", "cm-1")
}

// TestCapacityIsAPartOfTheQuota: the capacity follows the current quota of the namespace.
func TestCapacityIsAPartOfTheQuota(t *testing.T) {
	w := newEnv(t)
	for place := range 4 {
		w.ranked(fmt.Sprint("cm-", place), "a", -place)
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "objects"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("8")}},
	}
	w.create(quota)
	w.sunset()
	w.policy("previews", fmt.Sprintf(byUse, "Enforce", "capacity: {percentOfQuota: 50}"))
	w.left("cm-0", "cm-1", "cm-2", "cm-3")
	w.ranked("cm-9", "a", 9)
	w.left("cm-0", "cm-1", "cm-2", "cm-9")
}

// everyOther makes every other DELETE of a ConfigMap fail.
func everyOther() func(*http.Request) *proxy.Answer {
	var mu sync.Mutex
	n := 0
	return func(r *http.Request) *proxy.Answer {
		if r.Method != http.MethodDelete {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if n++; n%2 == 0 {
			return nil
		}
		return &proxy.Answer{Code: http.StatusInternalServerError}
	}
}
