// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/test/expect"
)

const pause = "registry.k8s.io/pause:3.10"

// dial returns a runtime and a client of it. With a timeout of zero each call has its default.
func dial(t *testing.T, o cri.Options) (*critest.Server, *cri.Runtime) {
	t.Helper()
	server := critest.Start(t)
	return server, dialAgain(t, server, o)
}

// dialAgain returns another client of a runtime.
func dialAgain(t *testing.T, server *critest.Server, o cri.Options) *cri.Runtime {
	t.Helper()
	r, err := cri.Dial(server.Endpoint, o)
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// calls returns all calls of a client.
func calls(r *cri.Runtime) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Version":        func(ctx context.Context) error { _, err := r.Version(ctx); return err },
		"ListImages":     func(ctx context.Context) error { _, err := r.Images(ctx); return err },
		"ImageStatus":    func(ctx context.Context) error { _, err := r.Resolve(ctx, "app"); return err },
		"RemoveImage":    func(ctx context.Context) error { return r.Remove(ctx, critest.ID(1), nil) },
		"ImageFsInfo":    func(ctx context.Context) error { _, err := r.Filesystems(ctx); return err },
		"ListContainers": func(ctx context.Context) error { _, err := r.Uses(ctx); return err },
	}
}

func image(n int, tags ...string) *runtimeapi.Image {
	return &runtimeapi.Image{Id: critest.ID(n), RepoTags: tags, Size: 1}
}

// container returns a container with these fields only. An empty string means that the field is not set.
func container(id, imageID, ref, name string) *runtimeapi.Container {
	return &runtimeapi.Container{Id: id, ImageId: imageID, ImageRef: ref, Image: &runtimeapi.ImageSpec{Image: name}}
}

func repoDigest(repository string, n int) string {
	return fmt.Sprintf("%s@%s", repository, critest.ID(n))
}

func wantCode(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := cri.Code(err); got != want {
		t.Errorf("%s: code %s (%v), want %s", what, got, err, want)
	}
}

// soon is a timeout that is short enough for a test. On a busy machine, it may pass before the runtime answers, or even receives a call.
const soon = time.Second
