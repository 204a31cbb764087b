// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF11StreamedListsLackSome makes the leader relist policies and namespaces as a stream that lacks an override, a policy
// and a held namespace, and ends as if it were complete. Later the lists that it reads before each deletion lack them too.
// Sunset keeps the objects that they keep.
func TestF11StreamedListsLackSome(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true})
	elsewhere, held := s.More("elsewhere"), s.More("held")
	p := s.Policy("previews", previews("Enforce", "3s"))
	pause := s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	veto := s.Policy("veto", labelled("vetoed", "Suspend", "0s"))
	s.Policy("vetoed", labelled("vetoed", "Enforce", "3s"))
	namespace := &corev1.Namespace{}
	expect.NoError(t, s.Get(s.Context(), types.NamespacedName{Name: held}, namespace))
	s.Hold(namespace)
	leads, waits := pair(s, scenario.Start{})
	enforcing(s, p)

	lacks := map[string]string{"retentionpolicies": pause.Name, "clusterretentionpolicies": veto.Name, "namespaces": held}
	left := map[string]*atomic.Int64{} // number of streams without the object
	var lifts []func()
	var expired []*proxy.Armed
	for resource, name := range lacks {
		isOf, n := []byte(fmt.Sprintf(`"name":%q`, name)), &atomic.Int64{}
		left[resource] = n
		lifts = append(lifts, leads.Proxy.Frames(proxy.Requests("watch", resource), func(event []byte) [][]byte {
			if bytes.Contains(event, isOf) {
				n.Add(1)
				return nil
			}
			return [][]byte{event}
		}))
		expired = append(expired, leads.Proxy.Arm(proxy.Fault{Match: resumes(resource), Answer: &proxy.Answer{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}))
	}
	s.Expect(expired...)
	var cut time.Time
	s.Eventually(func() error {
		for resource, n := range left {
			if n.Load() > 0 {
				continue
			}
			if time.Since(cut) > 3*time.Second {
				leads.Proxy.Cut()
				cut = time.Now()
			}
			return fmt.Errorf("no stream of %s lacked an object", resource)
		}
		return nil
	})
	for _, fault := range expired {
		fault.Lift()
	}
	objects := 0
	create := func(in string, labels map[string]string) *corev1.ConfigMap {
		objects++
		return s.ConfigMap(fmt.Sprint("cm-", objects), labels, func(cm *corev1.ConfigMap) { cm.Namespace = in })
	}
	var kept []*corev1.ConfigMap
	keep := func() {
		kept = append(kept, create(s.Namespace, preview), create(elsewhere, env("vetoed")), create(held, preview))
	}
	stay := func() {
		for _, cm := range kept {
			s.Stays(0, cm)
		}
	}
	keep()
	s.Gone(create(elsewhere, preview)) // the lists before each deletion are still complete
	stay()

	var lying []*proxy.Armed
	for resource, name := range lacks {
		isOf := []byte(fmt.Sprintf(`"name":%q`, name))
		lie := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("list", resource), Rewrite: edited(func(l *list) {
			var items []json.RawMessage
			for _, item := range l.Items {
				if !bytes.Contains(item, isOf) {
					items = append(items, item)
				}
			}
			l.Items = items
		})})
		s.Expect(lie)
		lying = append(lying, lie)
	}
	keep()
	goes := create(elsewhere, preview)
	for _, lie := range lying {
		fired(s, lie)
	}
	silent(t, 3*time.Second, leads, waits)
	for _, lie := range lying {
		lie.Lift()
	}
	s.Gone(goes)
	for _, lift := range lifts {
		lift()
	}
	s.Gone(create(elsewhere, preview))
	stay()
	s.Calm()
}
