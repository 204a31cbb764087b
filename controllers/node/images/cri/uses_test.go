// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/test/expect"
)

// usedBy returns what uses each image of the runtime, by image ID.
func usedBy(t *testing.T, r *cri.Runtime) map[string]string {
	t.Helper()
	all, err := r.Images(t.Context())
	expect.NoError(t, err)
	u, err := r.Uses(t.Context())
	expect.NoError(t, err)
	by := map[string]string{}
	for _, i := range all {
		if use, ok := u.Of(i); ok {
			by[i.ID] = strings.TrimSpace(use.By + " " + use.ID)
		}
	}
	return by
}

func TestUses(t *testing.T) {
	volume := func(name string) map[string][]*runtimeapi.Mount {
		return map[string][]*runtimeapi.Mount{"c": {{HostPath: "/etc"}, {Image: &runtimeapi.ImageSpec{Image: name}}}}
	}
	pulled := image(1, "docker.io/library/nginx:1")
	pulled.RepoDigests = []string{repoDigest("docker.io/library/nginx", 99)}
	for name, test := range map[string]struct {
		state critest.State
		want  string // what uses image 1; nothing ever uses image 2
	}{
		"nothing":            {critest.State{}, ""},
		"a container, by ID": {critest.State{Containers: []*runtimeapi.Container{container("c", critest.ID(1), "", "")}}, "container c"},
		"an ID as reference, as in containerd 1.6": {
			critest.State{Containers: []*runtimeapi.Container{container("c", "", critest.ID(1), "gone:1")}}, "container c"},
		"a digest as reference": {
			critest.State{Containers: []*runtimeapi.Container{container("c", "", repoDigest("nginx", 99), "")}}, "container c"},
		"a digest as ID, as once in CRI-O": {
			critest.State{Containers: []*runtimeapi.Container{container("c", critest.ID(99), "", "")}}, "container c"},
		"a tag only": {
			critest.State{Containers: []*runtimeapi.Container{container("c", "", "", "nginx:1")}}, "container c"},
		"the beginning of an ID, which only the runtime can resolve": {
			critest.State{Containers: []*runtimeapi.Container{container("c", "", "", critest.ID(1)[:60])}}, "container c"},
		"what the user wrote": {
			critest.State{Containers: []*runtimeapi.Container{{Id: "c", ImageId: critest.ID(3), Image: &runtimeapi.ImageSpec{UserSpecifiedImage: "nginx:1"}}}}, "container c"},
		"an exited container": {
			critest.State{Containers: []*runtimeapi.Container{{Id: "c", ImageId: critest.ID(1), State: runtimeapi.ContainerState_CONTAINER_EXITED}}}, "container c"},
		"an image volume, by ID": {
			critest.State{Containers: []*runtimeapi.Container{container("c", critest.ID(3), "", "")}, Mounts: volume(critest.ID(1))}, "image volume c"},
		"an image volume, by tag": {
			critest.State{Containers: []*runtimeapi.Container{container("c", critest.ID(3), "", "")}, Mounts: volume("nginx:1")}, "image volume c"},
		"a sandbox": {critest.State{Sandboxes: []critest.Sandbox{{ID: "s", Image: "nginx:1"}}}, "sandbox s"},
		"a sandbox that has ended": {
			critest.State{Sandboxes: []critest.Sandbox{{ID: "s", Image: "nginx:1", Ended: true}}}, "sandbox s"},
		"an ended sandbox without an image": {critest.State{Sandboxes: []critest.Sandbox{{ID: "s", Ended: true}}}, ""},
		"the next sandbox":                  {critest.State{SandboxImage: "nginx:1"}, "next sandbox"},
		"another image":                     {critest.State{Containers: []*runtimeapi.Container{container("c", critest.ID(3), "", "nginx:2")}}, ""},
	} {
		server, r := dial(t, cri.Options{})
		server.Update(func(s *critest.State) {
			test.state.Name, test.state.Version, test.state.Images = s.Name, s.Version, []*runtimeapi.Image{pulled, image(2, "nginx:2-other")}
			*s = test.state
		})
		for pass := range 2 { // the second uses the memory of the first
			got := usedBy(t, r)
			if got[critest.ID(1)] != test.want || got[critest.ID(2)] != "" {
				t.Errorf("%s, pass %d: used by %v, want %q", name, pass, got, test.want)
			}
		}
	}
}

// TestUsesFailIfOneIsUnknown: if one use is unknown, no image may be removed.
func TestUsesFailIfOneIsUnknown(t *testing.T) {
	old := func(s *critest.State) { s.Version = "1.6.20~ds1" }
	for name, test := range map[string]struct {
		change func(*critest.State)
		call   string
		hook   critest.Hook
		code   string
	}{
		"a container without image":  {func(s *critest.State) { s.Containers[0].ImageId = "" }, "", nil, "BadAnswer"},
		"a container without ID":     {func(s *critest.State) { s.Containers[0].Id = "" }, "", nil, "BadAnswer"},
		"a container listed twice":   {func(s *critest.State) { s.Containers = append(s.Containers, s.Containers[0]) }, "", nil, "BadAnswer"},
		"a volume without image":     {func(s *critest.State) { s.Mounts["c"][0].Image = &runtimeapi.ImageSpec{} }, "", nil, "BadAnswer"},
		"a sandbox without ID":       {func(s *critest.State) { s.Sandboxes[0].ID = "" }, "", nil, "BadAnswer"},
		"a sandbox listed twice":     {func(s *critest.State) { s.Sandboxes = append(s.Sandboxes, s.Sandboxes[0]) }, "", nil, "BadAnswer"},
		"a sandbox without image":    {func(s *critest.State) { s.Sandboxes[0].Image = "" }, "", nil, "BadAnswer"},
		"no next sandbox image":      {func(s *critest.State) { s.SandboxImage = ""; old(s) }, "", nil, "BadAnswer"},
		"containers not listed":      {nil, "ListContainers", critest.Fail(codes.Unavailable), "Unavailable"},
		"status of no container":     {nil, "ContainerStatus", critest.Fail(codes.Unimplemented), "Unimplemented"},
		"status of another":          {nil, "ContainerStatus", critest.Answer(&runtimeapi.ContainerStatusResponse{}), "BadAnswer"},
		"sandboxes not listed":       {nil, "ListPodSandbox", critest.Fail(codes.Internal), "Internal"},
		"status of no sandbox":       {nil, "PodSandboxStatus", critest.Fail(codes.Internal), "Internal"},
		"a sandbox without info":     {nil, "PodSandboxStatus", critest.Answer(&runtimeapi.PodSandboxStatusResponse{}), "BadAnswer"},
		"a sandbox with broken info": {nil, "PodSandboxStatus", critest.Answer(&runtimeapi.PodSandboxStatusResponse{Info: map[string]string{"info": "{"}}), "BadAnswer"},
		"no status":                  {nil, "Status", critest.Fail(codes.Internal), "Internal"},
		"a broken configuration":     {nil, "Status", critest.Answer(&runtimeapi.StatusResponse{Info: map[string]string{"config": "["}}), "BadAnswer"},
		"no answer about a name":     {nil, "ImageStatus", critest.Fail(codes.Unavailable), "Unavailable"},
		"a short ID for a name":      {nil, "ImageStatus", critest.Answer(&runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "1"}}), "BadAnswer"},
	} {
		server, r := dial(t, cri.Options{})
		server.Update(func(s *critest.State) {
			s.Containers = []*runtimeapi.Container{container("c", critest.ID(1), "", "")}
			s.Mounts = map[string][]*runtimeapi.Mount{"c": {{Image: &runtimeapi.ImageSpec{Image: critest.ID(2)}}}}
			s.Sandboxes = []critest.Sandbox{{ID: "s", Image: pause}}
			s.SandboxImage = pause
		})
		if _, err := r.Uses(t.Context()); err != nil {
			t.Fatalf("%s: before: %v", name, err)
		}
		fresh, err := cri.Dial(server.Endpoint, cri.Options{})
		expect.NoError(t, err)
		defer func() { _ = fresh.Close() }()
		if test.change != nil {
			server.Update(test.change)
		}
		if test.hook != nil {
			server.On(test.call, test.hook)
		}
		u, err := fresh.Uses(t.Context())
		wantCode(t, name, err, test.code)
		if use, ok := u.Of(cri.Image{ID: critest.ID(7)}); !ok || use.By != cri.ByUnknownState {
			t.Errorf("%s: the zero value of Uses has an unused image", name)
		}
	}
}

// TestUsesTolerateNotFound: a container may be removed between two requests.
func TestUsesTolerateNotFound(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) {
		s.Images = []*runtimeapi.Image{image(1)}
		s.Containers = []*runtimeapi.Container{container("c", critest.ID(1), "", "")}
		s.Sandboxes = []critest.Sandbox{{ID: "s", Image: pause}}
	})
	for _, call := range []string{"ContainerStatus", "PodSandboxStatus", "ImageStatus"} {
		server.On(call, critest.Fail(codes.NotFound))
	}
	for range 2 {
		if got := usedBy(t, r); got[critest.ID(1)] != "container c" {
			t.Errorf("used by %v; the container was listed", got)
		}
	}
	if n := server.Calls("ContainerStatus"); n != 2 {
		t.Errorf("%d requests about a container that was not found, want one in each pass", n)
	}
}

// TestUsesWithoutASandboxImage: a sandbox without an image is valid if the runtime reports that. If the runtime cannot report the image,
// the option has it.
func TestUsesWithoutASandboxImage(t *testing.T) {
	spoofed := critest.Answer(&runtimeapi.PodSandboxStatusResponse{Info: map[string]string{"info": `{"runtimeSpec":{}}`}})
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) {
		s.Sandboxes, s.SandboxImage = []critest.Sandbox{{ID: "s"}}, pause
	})
	server.On("PodSandboxStatus", spoofed)
	usedBy(t, r)

	server, r = dial(t, cri.Options{SandboxImage: pause})
	server.Update(func(s *critest.State) {
		s.Name, s.Version, s.Sandboxes = "other", "0.1", []critest.Sandbox{{ID: "s"}}
		s.Images = []*runtimeapi.Image{image(1, pause)}
	})
	if got := usedBy(t, r); got[critest.ID(1)] != cri.ByNextSandbox {
		t.Errorf("the configured image is used by %v", got)
	}
}

func TestYoungestIsKnown(t *testing.T) {
	server, r := dial(t, cri.Options{SandboxImage: pause})
	for _, test := range []struct {
		created []int64
		want    int64
	}{{nil, 0}, {[]int64{5e9, 9e9, 7e9}, 9}, {[]int64{5e9, -1}, 5}, {[]int64{0}, 0}} {
		server.Update(func(s *critest.State) {
			s.Containers = nil
			for i, created := range test.created {
				c := container(fmt.Sprint("c", i), critest.ID(1), "", "")
				c.CreatedAt = created
				s.Containers = append(s.Containers, c)
			}
		})
		uses, err := r.Uses(t.Context())
		if got := uses.Youngest; err != nil || got.IsZero() != (test.want == 0) || test.want != 0 && got.Unix() != test.want {
			t.Errorf("the youngest of %v was created at %s, %v; want second %d", test.created, got, err, test.want)
		}
	}
}

func TestUsesRepeatOnlyFailedRequests(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) {
		s.Images = []*runtimeapi.Image{image(1, "app:1"), image(2, pause)}
		for n := range 50 {
			s.Containers = append(s.Containers, container(fmt.Sprint("c", n), critest.ID(1), "", ""))
			s.Sandboxes = append(s.Sandboxes, critest.Sandbox{ID: fmt.Sprint("s", n), Image: pause})
		}
	})
	asked := func() [3]int {
		return [3]int{server.Calls("ContainerStatus"), server.Calls("PodSandboxStatus"), server.Calls("ImageStatus")}
	}
	usedBy(t, r)
	if got := asked(); got[0] != 50 || got[1] != 50 || got[2] > 50 {
		t.Errorf("first requests: %v", got)
	}
	before := asked()
	usedBy(t, r)
	if got := asked(); got != before {
		t.Errorf("requests: %v, before: %v", got, before)
	}
	// Only a request that failed is repeated.
	server.Update(func(s *critest.State) {
		s.Containers = append([]*runtimeapi.Container{container("a", critest.ID(1), "", ""), container("b", critest.ID(1), "", "")}, s.Containers...)
	})
	server.On("ContainerStatus", func(ctx context.Context, q any, handle func() (any, error)) (any, error) {
		if q.(*runtimeapi.ContainerStatusRequest).GetContainerId() == "b" {
			return critest.Fail(codes.Internal)(ctx, q, handle)
		}
		return handle()
	})
	for range 2 {
		_, err := r.Uses(t.Context())
		wantCode(t, "uses", err, "Internal")
	}
	server.On("ContainerStatus", nil)
	usedBy(t, r)
	if got, want := asked()[0]-before[0], 4; got != want { // a, b, b, b
		t.Errorf("%d requests about two new containers, want %d", got, want)
	}
}

// TestTagThatMovesTakesNoImageAway: mounted images and the images of sandboxes stay in use after their tags have moved.
func TestTagThatMovesTakesNoImageAway(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.Update(func(s *critest.State) {
		s.Images = []*runtimeapi.Image{image(1, "data:1"), image(2, pause), image(3), image(4)}
		s.Containers = []*runtimeapi.Container{container("c", critest.ID(9), "", "")}
		s.Mounts = map[string][]*runtimeapi.Mount{"c": {{Image: &runtimeapi.ImageSpec{Image: "data:1"}}}}
		s.Sandboxes = []critest.Sandbox{{ID: "s", Image: pause}}
	})
	usedBy(t, r)
	server.Update(func(s *critest.State) {
		s.Images = []*runtimeapi.Image{image(1), image(2), image(3, "data:1"), image(4, pause)}
	})
	got := usedBy(t, r)
	for n := 1; n <= 4; n++ { // including the images that have the tags now, which the next container will mount
		if got[critest.ID(n)] == "" {
			t.Errorf("image %d is not in use: %v", n, got)
		}
	}
	server.Update(func(s *critest.State) { s.Containers, s.Sandboxes = nil, nil })
	if got := usedBy(t, r); len(got) != 0 {
		t.Errorf("without containers and sandboxes %v are in use", got)
	}
}

// TestUsesThatFailForgetWhatIsGone: the agent may run for months while the runtime cannot say what is used.
func TestUsesThatFailForgetWhatIsGone(t *testing.T) {
	server, r := dial(t, cri.Options{})
	server.On("Status", critest.Fail(codes.Internal)) // the last request for uses
	for i := range 20 {
		server.Update(func(s *critest.State) {
			s.Containers = []*runtimeapi.Container{container(fmt.Sprint("c", i), critest.ID(1), "", "")}
			s.Sandboxes = []critest.Sandbox{{ID: fmt.Sprint("s", i), Image: "nginx:1"}}
		})
		if _, err := r.Uses(t.Context()); err == nil {
			t.Fatal("no error")
		}
	}
	expect.Equal(t, "remembered", 2, r.Remembered())
}
