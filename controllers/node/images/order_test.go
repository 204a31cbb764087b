// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestImageThatIsUsedDuringTheChecksIsKept: an image is kept if it comes into use between any two answers of the runtime,
// whether the agent reads all images or only this one.
func TestImageThatIsUsedDuringTheChecksIsKept(t *testing.T) {
	inContainer := func(m *machine) { m.usedBy = func() (cri.Uses, error) { return usesOf("go/app:v1"), nil } }
	for name, test := range map[string]struct {
		before func(m *machine)
		after  []string // then runs after one of these calls
		then   func(m *machine)
	}{
		"a container starts after the list of images": {func(*machine) {}, []string{"Images", "Image"}, inContainer},
		"a Pod is bound after the list of images": {func(*machine) {}, []string{"Images", "Image"}, func(m *machine) {
			m.pods = []corev1.Pod{naming("go/app:v1")}
		}},
		"a Pod is bound after the list of containers": {func(*machine) {}, []string{"Uses"}, func(m *machine) {
			m.pods = []corev1.Pod{naming("go/app:v1")}
		}},
		"the container of a Pod starts, and the Pod is force-deleted": {
			func(m *machine) { m.pods = []corev1.Pod{naming("go/app:v1")} }, []string{"Pods", "Uses"},
			func(m *machine) { m.pods = nil; inContainer(m) },
		},
	} {
		for _, ranks := range []bool{false, true} { // a rule that ranks needs all images
			t.Run(name+map[bool]string{true: ", and the rule ranks"}[ranks], func(t *testing.T) {
				m, w := permitted(t)
				w.Rule().Capacity.Bounded = ranks
				test.before(m)
				var once sync.Once
				m.during = func(call string) {
					for _, ends := range test.after {
						if call == ends {
							once.Do(func() { test.then(m) })
						}
					}
				}
				if o := m.removeBy(w); o.Result != retention.Changed || len(m.removed) > 0 {
					t.Errorf("%s (%v) after %d removals", o.Result, o.Err, len(m.removed))
				}
			})
		}
	}
}

// TestPodThatIsDeletedDuringTheChecksUsesItsImage: its containers may have started after the runtime has answered.
func TestPodThatIsDeletedDuringTheChecksUsesItsImage(t *testing.T) {
	for _, ranks := range []bool{false, true} {
		m, w := permitted(t)
		w.Rule().Capacity.Bounded = ranks
		m.pods = []corev1.Pod{naming("go/app:v1")}
		m.during = func(call string) { // only the first list of Pods of each snapshot has it
			switch call {
			case "Uses":
				m.pods = nil
			case "Pods":
				m.pods = []corev1.Pod{naming("go/app:v1")}
			}
		}
		if o := m.removeBy(w); o.Result != retention.Changed || len(m.removed) > 0 {
			t.Errorf("the rule ranks: %v: %s (%v) after %d removals", ranks, o.Result, o.Err, len(m.removed))
		}
	}
}

// TestImageThatAPodNamesIsUsed: an image is in use if a Pod names it in any field, until the Pod has succeeded or failed.
func TestImageThatAPodNamesIsUsed(t *testing.T) {
	spec := func(s corev1.PodSpec) corev1.Pod { return corev1.Pod{Spec: s} }
	ran := func(s corev1.PodStatus) corev1.Pod { return corev1.Pod{Status: s} }
	image := []corev1.ContainerStatus{{ImageID: "registry/x@" + id("a")}}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want retention.Result
	}{
		"a container":            {naming("go/app:v1"), retention.Changed},
		"an init container":      {spec(corev1.PodSpec{InitContainers: []corev1.Container{{Image: "go/app:v1"}}}), retention.Changed},
		"an ephemeral container": {spec(corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "go/app:v1"}}}}), retention.Changed},
		"an image volume": {spec(corev1.PodSpec{Volumes: []corev1.Volume{{
			Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "go/app:v1"}},
		}}}), retention.Changed},
		"the image ID in a container status":            {ran(corev1.PodStatus{ContainerStatuses: image}), retention.Changed},
		"the image ID in an init container status":      {ran(corev1.PodStatus{InitContainerStatuses: image}), retention.Changed},
		"the image ID in an ephemeral container status": {ran(corev1.PodStatus{EphemeralContainerStatuses: image}), retention.Changed},
		"another image":          {naming("go/else:v1"), retention.Removed},
		"a Pod that succeeded":   {ended(corev1.PodSucceeded), retention.Removed},
		"a Pod that failed":      {ended(corev1.PodFailed), retention.Removed},
		"a Pod in phase Unknown": {ended(corev1.PodUnknown), retention.Changed},
	} {
		t.Run(name, func(t *testing.T) {
			m, w := permitted(t)
			m.pods = []corev1.Pod{test.pod}
			if o := m.removeBy(w); o.Result != test.want {
				t.Errorf("%s (%v), want %s", o.Result, o.Err, test.want)
			}
		})
	}
}

func ended(phase corev1.PodPhase) corev1.Pod {
	pod := naming("go/app:v1")
	pod.Status.Phase = phase
	return pod
}

// TestRoundServesRequestsFromBeforeItsStart: a caller that asks while the images are being read gets the result of the next
// read. All such callers share it.
func TestRoundServesRequestsFromBeforeItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := 0
		looks := images.NewSnapshots(func() int { began++; n := began; time.Sleep(time.Second); return n })
		got := make([]int, 4)
		var group sync.WaitGroup
		for i := range got {
			group.Go(func() { got[i] = looks.Fresh() })
			synctest.Wait()
		}
		group.Wait()
		if want := [...]int{1, 2, 2, 2}; [4]int(got) != want {
			t.Errorf("the callers got reads %v, want %v", got, want)
		}
		expect.Equal(t, "what a later caller got", 3, looks.Fresh())
	})
}

// TestRuleThatRanksReadsAllImages: a removal that was prepared by reading one image is not sent for a rule that
// compares images.
func TestRuleThatRanksReadsAllImages(t *testing.T) {
	for _, compares := range []bool{false, true} {
		m, w := permitted(t)
		prepared := m.prepare(w)
		w.Rule().Capacity.Bounded = compares
		o := prepared.Send(t.Context(), cleared(t, w), m.clock.Now())
		prepared.Release()
		if (o.Result == retention.Removed) == compares {
			t.Errorf("compares %v: %s (%v)", compares, o.Result, o.Err)
		}
	}
}

// TestNoImageIsRemovedByOldAnswersAboutItsUse: while one request is slow, a container may start or a Pod may be bound to the
// node. No answer has it. So each answer is valid for a second, as before any other deletion.
func TestNoImageIsRemovedByOldAnswersAboutItsUse(t *testing.T) {
	for name, test := range map[string]struct {
		podsAge, slow time.Duration // slow is how long the API server takes to list the Pods after the runtime has answered
		sent          bool
	}{
		"all answers are new":                       {0, 0, true},
		"the list of Pods is a second old":          {time.Second, 0, true},
		"the list of Pods is older":                 {time.Second + 1, 0, false},
		"the answer of the runtime is older":        {0, time.Second + 1, false},
		"the answer of the runtime is a second old": {0, time.Second, true},
	} {
		for _, ranks := range []bool{false, true} {
			m, w := permitted(t)
			w.Rule().Capacity.Bounded = ranks
			m.podsAge = test.podsAge
			lists := 0
			m.during = func(call string) {
				if call != "Pods" {
					return
				}
				if lists++; lists == 2 {
					m.clock.Step(test.slow)
				}
			}
			prepared := m.prepare(w)
			o := prepared.Send(t.Context(), cleared(t, w), prepared.Since)
			prepared.Release()
			if o.Unsent == test.sent || len(m.removed) == 1 != test.sent {
				t.Errorf("%s, the rule ranks: %v: %s (%v) after %d removals", name, ranks, o.Result, o.Err, len(m.removed))
			}
		}
	}
}
