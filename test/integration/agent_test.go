// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// unusedImages deletes images of the test that have been unused for a moment. The tag selects the rule: images with a
// digest, all images, or none while they are young.
const unusedImages = `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('go.test/'))
  ttl: 3s
  images: {minAge: 1s}
- name: loaded
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('free.test/') || t.startsWith('sunset.test/'))
  ttl: 3s
  images: {minAge: 1s, allowUnpullable: true}
- name: young
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('young.test/'))
  ttl: 1s
  images: {minAge: 1h}
`

// pulled is an image with a digest, as if it had been pulled.
func pulled(tags ...string) containerd.Image { return containerd.Image{Tags: tags, Digest: true} }

// loaded is an image without a digest.
func loaded(tag string) containerd.Image { return containerd.Image{Tags: []string{tag}} }

// runnable is an image with a digest that can run.
func runnable(tag string) containerd.Image {
	return containerd.Image{Tags: []string{tag}, Digest: true, Runnable: true}
}

// isOld reports whether a runtime is a containerd before 2.0.
func isOld(d *containerd.Daemon) bool { return strings.HasPrefix(d.Version(), "1.") }

// TestUnusedImagesGo: the agent removes exactly the images that no container uses, no Pod names and no pin protects.
func TestUnusedImagesGo(t *testing.T) {
	t.Parallel()
	for _, lane := range containerd.Lanes() {
		t.Run(string(lane), func(t *testing.T) {
			w := newEnv(t)
			d := containerd.Run(t, containerd.Options{Lane: lane})
			n := w.node("a")
			unused := []containerd.Image{pulled("go.test/unused:v1"), pulled("go.test/twice:v1", "go.test/twice:v2"), loaded("free.test/loaded:v1")}
			kept := []containerd.Image{pulled("go.test/other:v1", "stay.test/other:v1"), loaded("go.test/loaded:v1"), pulled("young.test/app:v1")}
			pinned := containerd.Image{Tags: []string{"go.test/pinned:v1"}, Digest: true, Pinned: true}
			if isOld(d) { // containerd 1.6 does not report pins
				unused = append(unused, pinned)
			} else {
				kept = append(kept, pinned)
			}
			expect.NoError(w, d.Import(t.Context(), slices.Concat(unused, kept)...))
			kept = slices.Concat(kept, w.inContainers(d), w.inPods(d, n))
			w.sunset()
			w.agentOn(n, d, t.TempDir())
			p := w.approved("unused", unusedImages)
			w.goes(d, unused...)
			w.reported(n, p, int64(len(unused)))
			w.keeps(d, kept...)
		})
	}
}

// inContainers returns images of containers: of a running, an exited and a created one, of their sandbox and, if the
// runtime supports it, of an image volume.
func (w *env) inContainers(d *containerd.Daemon) []containerd.Image {
	w.Helper()
	running, exited, created := runnable("go.test/running:v1"), runnable("go.test/exited:v1"), runnable("go.test/created:v1")
	all, mounted := []containerd.Image{running, exited, created}, runnable("go.test/mounted:v1")
	var volumes []string
	if !isOld(d) {
		all, volumes = append(all, mounted), mounted.Tags
	}
	ctx := w.Context()
	expect.NoError(w, d.Import(ctx, all...))
	pod, err := d.RunPod(ctx, "test")
	expect.NoError(w, err)
	_, err = d.RunContainer(ctx, containerd.Container{Pod: pod, Name: "running", Image: running.ID(), Volumes: volumes})
	expect.NoError(w, err)
	id, err := d.RunContainer(ctx, containerd.Container{Pod: pod, Name: "exited", Image: exited.ID(), Args: []string{"exit"}})
	expect.NoError(w, err)
	expect.NoError(w, d.Exited(ctx, id))
	_, err = d.Create(ctx, containerd.Container{Pod: pod, Name: "created", Image: created.ID()})
	expect.NoError(w, err)
	return append(all, containerd.Image{Tags: []string{containerd.SandboxImage}, Runnable: true})
}

// inPods returns images that Pods of the node name, each in another way, and that have no container yet.
func (w *env) inPods(d *containerd.Daemon, n *corev1.Node) []containerd.Image {
	w.Helper()
	byTag, byDigest := pulled("go.test/by-tag:v1"), pulled("go.test/by-digest:v1")
	byOther := pulled("go.test/by-other:v1", "go.test/by-other:v2")
	first, volume := pulled("go.test/init:v1"), pulled("go.test/volume:v1")
	all := []containerd.Image{byTag, byDigest, byOther, first, volume}
	expect.NoError(w, d.Import(w.Context(), all...))
	pod := w.naming(n, byTag.Tags[0], byDigest.RepoDigest(), byOther.Tags[1])
	pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: first.Tags[0]}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		Image: &corev1.ImageVolumeSource{Reference: volume.Tags[0]},
	}}}
	w.create(pod)
	return all
}

// reported waits until the node reports this many images that a policy removed.
func (w *env) reported(n *corev1.Node, p *v1alpha1.ClusterRetentionPolicy, images int64) {
	w.Helper()
	w.tells(n, func(r *v1alpha1.NodeImageReport) error {
		return cluster.Want(r.Removed.Images == images && len(r.Policies) > 0 && r.Policies[0].Removed.Images == images, "reported: %+v", r)
	})
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == images && s.NodeImages != nil && s.NodeImages.Removed.Images == images, "the count differs")
	})
}
