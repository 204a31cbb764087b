// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// unusedClaims deletes claims that nothing uses, after a snapshot of each.
const unusedClaims = `
mode: Enforce
rules:
- name: claims
  target: {apiVersion: v1, kind: PersistentVolumeClaim}
  eligible: references.count == 0
  ttl: 1s
  snapshot: {}
`

var allowingClaims = []string{"--allow-kinds=PersistentVolumeClaim"}

// claims creates n claims that no controller binds or protects.
func claims(s *scenario.Scenario, n int) (all []*corev1.PersistentVolumeClaim) {
	s.Helper()
	for i := range n {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("claim-", i)}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
		s.MustCreate(claim)
		s.Change(claim, func() { claim.Finalizers = nil }) // the control plane of the scenarios has no controller that removes it
		all = append(all, claim)
	}
	return all
}

func claimsLeft(s *scenario.Scenario, n int) {
	s.Helper()
	s.Eventually(func() error {
		left := s.Left(&corev1.PersistentVolumeClaimList{}, nil)
		return cluster.Want(left == n, "%d claims are left, want %d", left, n)
	})
}

// TestF60TheSnapshotControllerFails: the snapshot controller is slow, fails or does not run, or says that it took a snapshot before the
// claim was due. Sunset keeps the claims and says so; another policy continues. After the fault, all claims are deleted.
func TestF60TheSnapshotControllerFails(t *testing.T) {
	t.Parallel()
	const early = "it took the snapshot before"
	for name, fault := range map[string]struct {
		faulty func(status map[string]any)
		reason string
	}{
		"it is slow":      {slow, "SnapshotPending"},
		"it fails":        {failing, "SnapshotFailed"},
		"it does not run": {absent, "SnapshotPending"},
		early:             {outdated, "SnapshotFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{})
			n := newSnapshotter(s)
			all := claims(s, 5)
			n.breaks(fault.faulty)
			p := s.Policy("claims", unusedClaims)
			s.Policy("plain", previews("Enforce", "0s"))
			leads, waits := pair(s, scenario.Start{Flags: append(allowingClaims, longLeases...)})
			s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
				c := scenario.Condition(status, v1alpha1.ConditionDelayed)
				return cluster.Want(c.Status == metav1.ConditionTrue && c.Reason == fault.reason, "Delayed is %s, %s", c.Status, c.Reason)
			})
			s.Gone(s.ConfigMap("plain", preview))
			s.Stays(4*time.Second, all[0], all[4])
			n.breaks(nil)
			if name == early {
				n.removeAll() // as the message says
			}
			claimsLeft(s, 0)
			expectPreconditions(t, leads.Deletes())
			idle(t, waits)
			s.Calm()
		})
	}
}

// TestF60AnswersAboutSnapshotsAreLost: requests for VolumeSnapshots reach the API server or not, and their answers are lost or are
// errors. Sunset keeps each claim until its snapshot is ready, and then deletes it.
func TestF60AnswersAboutSnapshotsAreLost(t *testing.T) {
	t.Parallel()
	creates, reads := proxy.Requests("create", "volumesnapshots"), proxy.Requests("get", "volumesnapshots")
	for name, fault := range map[string]proxy.Fault{
		"the answer to a create":   {Match: creates, Drop: proxy.After},
		"a create":                 {Match: creates, Drop: proxy.Before},
		"the answer to a read":     {Match: reads, Drop: proxy.After},
		"reads are not found":      {Match: reads, Answer: &proxy.Answer{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}},
		"creates are forbidden":    {Match: creates, Answer: &proxy.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}},
		"the server is overloaded": {Match: creates.Or(reads), Answer: &proxy.Answer{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests}},
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{})
			n := newSnapshotter(s)
			n.breaks(slow)
			all := claims(s, 3)
			s.Policy("claims", unusedClaims)
			r := s.Sunset(scenario.Start{Flags: append(allowingClaims, longLeases...)})
			armed := r.Proxy.Arm(fault)
			s.Expect(armed)
			fired(s, armed)
			s.Stays(10*time.Second, all[0], all[2])
			armed.Lift()
			n.breaks(nil)
			claimsLeft(s, 0)
			s.Calm()
		})
	}
}

// TestF60TheLeaderIsKilledBetweenSnapshotAndDelete kills the leader at the first request that creates a VolumeSnapshot or deletes a
// claim, before and after the API server has it. Then a Pod uses a claim for a while. The other replica does not accept the
// VolumeSnapshots of the first one: it takes others.
func TestF60TheLeaderIsKilledBetweenSnapshotAndDelete(t *testing.T) {
	t.Parallel()
	for _, m := range []moment{
		{"create", "volumesnapshots", 1, false}, {"create", "volumesnapshots", 1, true},
		{"delete", "persistentvolumeclaims", 1, false}, {"delete", "persistentvolumeclaims", 1, true},
	} {
		t.Run(m.String(), func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{})
			n := newSnapshotter(s)
			all := claims(s, 4)
			leads, _ := pair(s, scenario.Start{Failover: true, Flags: allowingClaims})
			armed := leads.Proxy.Arm(m.fault(leads))
			s.Expect(armed)
			s.Policy("claims", unusedClaims)
			fired(s, armed)
			pod := podUsing(s, all[3])
			if m.verb == "create" { // otherwise the claim may be gone
				s.Stays(time.Second, all[3])
			}
			s.Remove(pod)
			armed.Lift()
			claimsLeft(s, 0)
			if m.verb == "create" {
				idle(t, leads)
			}
			made, err := n.listed(s.Context(), s.Client)
			if m.verb == "create" && m.after && (err != nil || len(made) <= len(all)) {
				t.Errorf("%d VolumeSnapshots, %v: want one of each claim by the other replica, and at least one by the first", len(made), err)
			}
			s.Calm()
		})
	}
}

// podUsing creates a Pod that mounts a claim; no node runs it.
func podUsing(s *scenario.Scenario, claim *corev1.PersistentVolumeClaim) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "uses"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "busybox"}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}},
	}}
	s.MustCreate(pod)
	return pod
}
