// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// env is a daemon under test, with helpers for the tests.
type env struct {
	*containerd.Daemon
	*testing.T
}

func TestLanes(t *testing.T) {
	for _, lane := range containerd.Lanes() {
		t.Run(string(lane), func(t *testing.T) {
			t.Parallel()
			d := containerd.Run(t, containerd.Options{Lane: lane})
			for name, test := range map[string]func(env){
				"listing": listing, "uses": uses, "sandboxes": sandboxes, "volumes": volumes, "removing": removing,
				"pinned": pinned, "pulling": pulling, "filesystem": filesystem,
			} {
				t.Run(name, func(t *testing.T) { test(env{d, t}) })
			}
			t.Run("restart", func(t *testing.T) { restart(env{d, t}) }) // last: it disturbs the other tests
		})
	}
}

func (w env) no(err error) {
	w.Helper()
	expect.NoError(w, err)
}

// imported imports images with names of this test.
func (w env) imported(images ...containerd.Image) {
	w.Helper()
	w.no(w.Import(w.Context(), images...))
}

// image returns the listed image with an ID.
func (w env) image(id string) (cri.Image, bool) {
	w.Helper()
	all, err := w.Runtime().Images(w.Context())
	w.no(err)
	at := slices.IndexFunc(all, func(i cri.Image) bool { return i.ID == id })
	if at < 0 {
		return cri.Image{}, false
	}
	return all[at], true
}

// usedBy returns what uses the image with an ID; empty if nothing does.
func (w env) usedBy(id string) string {
	w.Helper()
	i, ok := w.image(id)
	if !ok {
		w.Fatalf("image %s does not exist", id)
	}
	u, err := w.Runtime().Uses(w.Context())
	w.no(err)
	use, _ := u.Of(i)
	return use.By
}

func (w env) wantUse(what, id, want string) {
	w.Helper()
	if got := w.usedBy(id); got != want {
		w.Errorf("%s is used by %q, want %q", what, got, want)
	}
}

// pod runs a sandbox and removes it when the test ends.
func (w env) pod(name string) string {
	w.Helper()
	pod, err := w.RunPod(w.Context(), name)
	w.no(err)
	w.Cleanup(func() {
		if err := w.RemovePod(context.WithoutCancel(w.Context()), pod); err != nil {
			w.Error(err)
		}
	})
	return pod
}

func (w env) isOld() bool { return strings.HasPrefix(w.Version(), "1.") }

func listing(w env) {
	plain := containerd.Image{Tags: []string{"sunset.test/listing/plain:1", "sunset.test/listing/plain:2", "sunset.test/listing/other:1"}}
	pulled := containerd.Image{Tags: []string{"sunset.test/listing/pulled:1"}, Digest: true, Bytes: 10_000}
	w.imported(plain, pulled)
	v, err := w.Runtime().Version(w.Context())
	if err != nil || v.Name != "containerd" || strings.TrimPrefix(v.Version, "v") != w.Version() {
		w.Errorf("version %+v, %v; want that of containerd %s", v, err, w.Version())
	}
	i, _ := w.image(plain.ID())
	slices.Sort(i.Tags)
	if want := slices.Sorted(slices.Values(plain.Tags)); !slices.Equal(i.Tags, want) || len(i.Digests) > 0 || i.Pinned {
		w.Errorf("image without digest: %+v, want only the tags %v", i, want)
	}
	i, _ = w.image(pulled.ID())
	if !slices.Equal(i.Digests, []string{pulled.RepoDigest()}) || i.SizeBytes < 10_000 || i.SizeBytes > 20_000 {
		w.Errorf("image with digest: %+v, want the digest %s and about 10 kB", i, pulled.RepoDigest())
	}
}

func uses(w env) {
	image := func(name string) containerd.Image {
		return containerd.Image{Tags: []string{"sunset.test/uses/" + name + ":1"}, Digest: true, Runnable: true}
	}
	running, exited, created, unused := image("running"), image("exited"), image("created"), image("unused")
	w.imported(running, exited, created, unused)
	pod := w.pod("uses")
	ctx := w.Context()
	_, err := w.RunContainer(ctx, containerd.Container{Pod: pod, Name: "running", Image: running.Tags[0]})
	w.no(err)
	id, err := w.RunContainer(ctx, containerd.Container{Pod: pod, Name: "exited", Image: exited.ID(), Args: []string{"exit"}})
	w.no(err)
	w.no(w.Exited(ctx, id))
	_, err = w.Create(ctx, containerd.Container{Pod: pod, Name: "created", Image: created.RepoDigest()})
	w.no(err)
	w.wantUse("image of a running container, by tag", running.ID(), cri.ByContainer)
	w.wantUse("image of an exited container, by ID", exited.ID(), cri.ByContainer)
	w.wantUse("image of a created container, by digest", created.ID(), cri.ByContainer)
	w.wantUse("unused image", unused.ID(), "")
	w.no(w.RemoveContainer(ctx, id))
	w.wantUse("image of a removed container", exited.ID(), "")
}

// sandboxes: the image of sandboxes is protected even if it is not pinned, and also while its tag names another image.
func sandboxes(w env) {
	ours := containerd.Image{Tags: []string{containerd.SandboxImage}, Runnable: true}
	if got := w.usedBy(ours.ID()); got != cri.ByNextSandbox && (w.isOld() || got != "") {
		w.Errorf("image of the next sandbox is used by %q", got)
	}
	if i, _ := w.image(ours.ID()); i.Pinned == w.isOld() {
		w.Errorf("image of sandboxes: pinned is %t in containerd %s", i.Pinned, w.Version())
	}
	w.pod("sandboxes")
	w.wantUse("image of a sandbox", ours.ID(), cri.BySandbox)
}

func volumes(w env) {
	if w.isOld() {
		w.Skip("containerd 1.6 has no image volumes")
	}
	image := containerd.Image{Tags: []string{"sunset.test/volumes/app:1"}, Runnable: true}
	byTag := containerd.Image{Tags: []string{"sunset.test/volumes/tag:1"}, Runnable: true}
	byID := containerd.Image{Tags: []string{"sunset.test/volumes/id:1"}, Runnable: true}
	w.imported(image, byTag, byID)
	id, err := w.RunContainer(w.Context(), containerd.Container{
		Pod: w.pod("volumes"), Name: "app", Image: image.ID(), Volumes: []string{byTag.Tags[0], byID.ID()},
	})
	w.no(err)
	w.wantUse("image volume by tag", byTag.ID(), cri.ByVolume)
	w.wantUse("image volume by ID", byID.ID(), cri.ByVolume)
	// The tag moves to another image: the mounted image stays in use.
	_, err = w.Ctr(w.Context(), "images", "tag", "--force", image.Tags[0], byTag.Tags[0])
	w.no(err)
	w.eventually(func() bool { i, _ := w.image(byTag.ID()); return len(i.Tags) == 0 })
	w.wantUse("image volume whose tag has moved", byTag.ID(), cri.ByVolume)
	w.no(w.RemoveContainer(w.Context(), id))
	w.wantUse("image volume of a removed container", byID.ID(), "")
}

func (w env) eventually(is func() bool) {
	w.Helper()
	cluster.Eventually(w, time.Minute, func() error {
		if !is() {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
}

func removing(w env) {
	two := containerd.Image{Tags: []string{"sunset.test/removing/two:1", "sunset.test/removing/two:2"}, Digest: true}
	stays := containerd.Image{Tags: []string{"sunset.test/removing/stays:1"}}
	w.imported(two, stays)
	ctx, r := w.Context(), w.Runtime()
	for _, id := range []string{two.Tags[0], two.RepoDigest(), two.ID()[:len("sha256:")+12], ""} {
		if err := r.Remove(ctx, id, nil); cri.Code(err) != "NotFullID" {
			w.Errorf("removing %q: %v", id, err)
		}
	}
	if i, _ := w.image(two.ID()); len(i.Tags) != 2 {
		w.Errorf("tags before: %v", i.Tags)
	}
	w.no(r.Remove(ctx, two.ID(), nil))
	if _, ok := w.image(two.ID()); ok {
		w.Error("image with two tags still exists")
	}
	if _, ok := w.image(stays.ID()); !ok {
		w.Error("another image was removed")
	}
	w.no(r.Remove(ctx, two.ID(), nil)) // which no longer exists
}

func pinned(w env) {
	pinned := containerd.Image{Tags: []string{"sunset.test/pinned:1"}, Pinned: true}
	w.imported(pinned)
	if i, _ := w.image(pinned.ID()); i.Pinned == w.isOld() {
		w.Errorf("pinned is %t in containerd %s", i.Pinned, w.Version())
	}
}

func pulling(w env) {
	registry := containerd.StartRegistry(w)
	image := containerd.Image{Tags: []string{"sunset.test/pulling:1"}, Bytes: 100_000}
	name := registry.Add("team/app", "1", image)
	registry.Hold()
	pulled := make(chan error, 1)
	go func() {
		id, err := w.Pull(w.Context(), name)
		if err == nil && id != image.ID() {
			w.Errorf("pulled %s, want %s", id, image.ID())
		}
		pulled <- err
	}()
	w.no(registry.Held(w.Context()))
	if i, ok := w.image(image.ID()); ok {
		w.Errorf("image exists while it is being pulled: %+v", i)
	}
	w.no(w.Runtime().Remove(w.Context(), image.ID(), nil)) // has no effect
	registry.Release()
	w.no(<-pulled)
	i, _ := w.image(image.ID())
	if !slices.Equal(i.Tags, []string{name}) || len(i.Digests) != 1 {
		w.Errorf("pulled %+v, want the tag %s and a digest", i, name)
	}
}

func filesystem(w env) {
	all, err := w.Runtime().Filesystems(w.Context())
	w.no(err)
	_, err = os.Stat(all[0])
	w.no(err)
}

func restart(w env) {
	image := containerd.Image{Tags: []string{"sunset.test/restart:1"}, Runnable: true}
	w.imported(image)
	ctx := w.Context()
	id, err := w.RunContainer(ctx, containerd.Container{Pod: w.pod("restart"), Name: "app", Image: image.ID()})
	w.no(err)
	w.Kill()
	if _, err := w.Runtime().Images(ctx); cri.Code(err) != "Unavailable" {
		w.Errorf("listing while containerd is down: %v", err)
	}
	if err := w.Runtime().Remove(ctx, image.ID(), nil); cri.Code(err) != "Unavailable" {
		w.Errorf("removing while containerd is down: %v", err)
	}
	w.no(w.Restart(ctx))
	w.wantUse("image of a container that kept running", image.ID(), cri.ByContainer)
	if running, err := w.IsRunning(ctx, id); err != nil || !running {
		w.Errorf("container runs %t, %v; want true", running, err)
	}
}
