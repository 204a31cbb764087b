// SPDX-License-Identifier: Apache-2.0

package critest

import (
	"fmt"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// State is the state of the runtime.
type State struct {
	Name, Version string // of the runtime
	Images        []*runtimeapi.Image
	Containers    []*runtimeapi.Container
	Mounts        map[string][]*runtimeapi.Mount // of a container, by its ID
	Sandboxes     []Sandbox
	SandboxImage  string // in the status of the runtime; if empty, the status has no such field, as in containerd 2
	Filesystems   []*runtimeapi.FilesystemUsage
}

// Sandbox is the sandbox of a Pod.
type Sandbox struct {
	ID    string
	Image string // in its status
	Ended bool
}

// ID returns the full image ID for n.
func ID(n int) string { return fmt.Sprintf("sha256:%064x", n) }

// Image returns the image with ID(n), with one tag and, as if it had been pulled, a digest.
func Image(n int, tag string) *runtimeapi.Image {
	repository, _, _ := strings.Cut(tag, ":")
	return &runtimeapi.Image{Id: ID(n), RepoTags: []string{tag}, RepoDigests: []string{repository + "@" + ID(n)}, Size: 1}
}

// find returns the image that a name means: a tag, a digest, an ID or the beginning of one.
func (s *State) find(name string) *runtimeapi.Image {
	for _, i := range s.Images {
		isID := name != "" && strings.HasPrefix(strings.TrimPrefix(i.Id, "sha256:"), strings.TrimPrefix(name, "sha256:"))
		if isID || slices.Contains(i.RepoTags, name) || slices.Contains(i.RepoDigests, name) {
			return i
		}
	}
	return nil
}

// Container returns a container of the image with ID(n).
func Container(n int) *runtimeapi.Container {
	return &runtimeapi.Container{Id: fmt.Sprintf("container-%d", n), ImageId: ID(n), ImageRef: ID(n), Image: &runtimeapi.ImageSpec{Image: ID(n)}}
}
