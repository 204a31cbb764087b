// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF43AnOwnerBehindASlowRead: before Sunset deletes the owner of an object, it reads the object again. That read takes two
// seconds. In that time, a user suspends the policy, and no watch event arrives. The policies that Sunset read before the
// slow read are then too old, so it keeps the owner.
func TestF43AnOwnerBehindASlowRead(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "1h")+"  delete: {target: Owner}\n")
	job := s.FinishedJob("job")
	cm := s.ConfigMap("owned", preview, func(cm *corev1.ConfigMap) {
		cm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	})
	r := s.Sunset(scenario.Start{})
	counted(s, p, 1)

	slow := r.Proxy.Arm(proxy.Fault{Match: proxy.Requests("get", "configmaps").And(proxy.Named(cm.Name)), Times: 1, Hold: true})
	s.Expect(slow)
	s.Edit(p, enforces)
	<-slow.Arrived()
	thaw := r.Proxy.Freeze(proxy.Requests("watch", "clusterretentionpolicies"))
	s.Edit(p, suspends)
	time.Sleep(2 * time.Second)
	slow.Release()
	s.Stays(5*time.Second, job, cm)
	thaw()
	s.Edit(p, enforces)
	s.Gone(job, cm)
	s.Calm()
}
