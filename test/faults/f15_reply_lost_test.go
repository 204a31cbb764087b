// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF15DeletedAndTheReplyIsLost loses the answers of DELETEs that the API server has carried out. Sunset still counts each
// object once, respects limits, and keeps a new object with the same name.
func TestF15DeletedAndTheReplyIsLost(t *testing.T) {
	scenario.Short(t)
	const due, limit = 12, 9
	s := scenario.New(t, scenario.Options{})
	leads, _ := pair(s, scenario.Start{})
	var names namesakes
	armed := leads.Proxy.Arm(proxy.Fault{
		Match: proxy.Requests("delete", "configmaps").And(proxy.In(s.Namespace)).And(names.first),
		Skip:  1, Times: 4, DoAfter: func() { names.make(s) }, Drop: proxy.After,
	})
	s.Expect(armed)
	exact := s.Policy("exact", previews("Enforce", "0s")+limited(limit))
	plain := s.Policy("plain", labelled("plain", "Enforce", "0s"))
	configMaps(s, "cm", due, preview)
	byLedger(s, exact, limit)
	tells(s, exact, v1alpha1.ConditionEnforcing, "LimitReached")
	configMaps(s, "plain", 4, map[string]string{"env": "plain"})
	atMost(s, map[string]string{"env": "plain"}, 0)
	enforcing(s, plain)

	if left := s.Left(&corev1.ConfigMapList{}, preview); left != due-limit {
		t.Errorf("%d objects left, want %d", left, due-limit)
	}
	l := byLedger(s, exact, limit)
	t.Logf("%d deletions were answered, %d were found by reading", l.Total.Deleted, l.Total.Gone)
	for _, cm := range names.made() {
		s.Stays(0, cm)
	}
	s.ExpectThat("a namesake", func() bool { return len(names.made()) > 0 })
	repeated := map[string]int{}
	for _, e := range leads.Deletes() {
		repeated[e.Name+" "+string(e.Body)]++
	}
	for what, n := range repeated {
		if n > 3 {
			t.Errorf("DELETE %[2]s was sent %[1]d times", n, what)
		}
	}
	silent(t, time.Second, leads)
	s.Calm()
}

// namesakes are new objects with the names of objects that have just been deleted. They are not previews.
type namesakes struct {
	mu    sync.Mutex
	asked []string
	all   []*corev1.ConfigMap
}

// first matches the first request for each name.
func (n *namesakes) first(r *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := path.Base(r.URL.Path)
	if slices.Contains(n.asked, name) {
		return false
	}
	n.asked = append(n.asked, name)
	return true
}

// make creates a namesake for each deleted object that has none.
func (n *namesakes) make(s *scenario.Scenario) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range n.asked {
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = s.Namespace, name
		if s.Create(s.Context(), cm) == nil { // otherwise the object or its namesake exists
			n.all = append(n.all, cm)
		}
	}
}

func (n *namesakes) made() []*corev1.ConfigMap {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}
