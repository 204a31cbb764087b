// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// fullFilesystem deletes images of the test while the filesystem is too full.
const fullFilesystem = `
mode: DryRun
rules:
- name: space
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('go.test/'))
  images: {minAge: 1s, highThresholdPercent: 70, lowThresholdPercent: 60}
`

const (
	fullAt, enoughAt = 70, 60 // percent
	smallSize        = 64 << 20
	bigSize          = 3 << 20
)

// big imports an image that takes a large part of the filesystem.
func (w *env) big(d *containerd.Daemon, tag string) containerd.Image {
	w.Helper()
	i := pulled(tag)
	i.Bytes = bigSize
	expect.NoError(w, d.Import(w.Context(), i))
	return i
}

// smallFilesystem mounts a small filesystem until the test ends.
func (w *env) smallFilesystem() (dir string) {
	w.Helper()
	dir = w.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", smallSize))
	if errors.Is(err, syscall.EPERM) {
		w.Skip(containerd.ErrMachine, err)
	}
	expect.NoError(w, err)
	w.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			w.Error(err)
		}
	})
	return dir
}

// fullness returns the percentage of a filesystem that is in use, computed like the kubelet does.
func (w *env) fullness(dir string) int {
	w.Helper()
	var s syscall.Statfs_t
	expect.NoError(w, syscall.Statfs(dir, &s))
	return int(100 - s.Bavail*100/s.Blocks)
}

// TestImagesAreDeletedFromAFullFilesystem: above the high threshold the agent removes the images that were unused for longest, until
// usage is below the low threshold.
func TestImagesAreDeletedFromAFullFilesystem(t *testing.T) {
	w := newEnv(t)
	dir := w.smallFilesystem()
	d := containerd.Run(t, containerd.Options{Lane: containerd.Module, Dir: dir})
	n := w.node("a")
	named := w.big(d, "go.test/named:v1")
	w.create(w.naming(n, named.Tags[0]))
	var old, young []containerd.Image
	for i := range 5 {
		old = append(old, w.big(d, fmt.Sprint("go.test/old:v", i)))
	}
	w.sunset()
	w.agentOn(n, d, t.TempDir())
	p := w.policy("space", fullFilesystem)
	w.approve(p, formOf(w.rulesOnNodes(p, generation(1))))
	w.tells(n, func(r *v1alpha1.NodeImageReport) error {
		return cluster.Want(r.Images == 7 && r.Filesystem != nil && r.Filesystem.CapacityBytes == smallSize, "reported: %+v", r)
	})
	for w.fullness(dir) < fullAt {
		young = append(young, w.big(d, fmt.Sprint("go.test/young:v", len(young))))
	}
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	cluster.Eventually(w, patience, func() error {
		full := w.fullness(dir)
		return cluster.Want(full <= enoughAt, "%d %% of the filesystem are in use", full)
	})
	time.Sleep(2 * time.Second) // more images would be removed in this time
	w.keeps(d, slices.Concat(young, []containerd.Image{named})...)
	there := w.images(d)
	gone := len(slices.DeleteFunc(old, func(i containerd.Image) bool { return there[i.ID()] }))
	if full := w.fullness(dir); full < enoughAt-2*(bigSize*100/smallSize+1) {
		t.Errorf("%d %% are in use, want %d: %d images were removed", full, enoughAt, gone)
	}
	samples := scrape.Of(t, w.metrics)
	expect.Equal(t, "removed for space", float64(gone), samples["sunset_image_removed_total reason=space"])
	expect.Equal(t, "removed for age", 0, samples["sunset_image_removed_total reason=age"])
}
