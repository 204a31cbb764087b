// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/engine"
)

// errNoImage is the error for a container, volume or sandbox without the name of an image.
var errNoImage = errors.New("the response has no image name")

func (s *survey) containers(ctx context.Context) error {
	const call = "ListContainers"
	answer, err := ask(ctx, s.Runtime, listTimeout, call, s.runtime.ListContainers, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return err
	}
	s.listed[ByContainer] = sets.New[string]()
	for _, c := range answer.GetContainers() {
		s.listed[ByContainer].Insert(c.GetId())
	}
	for _, c := range answer.GetContainers() {
		if err := s.meet(call, holder{ByContainer, c.GetId()}, c.GetCreatedAt()); err != nil {
			return err
		}
		if err := s.container(ctx, c); err != nil {
			return fmt.Errorf("container %s: %w", c.GetId(), err)
		}
	}
	return nil
}

func (s *survey) container(ctx context.Context, c *runtimeapi.Container) error {
	self := holder{ByContainer, c.GetId()}
	h, known := s.known[self]
	if !known {
		var err error
		if h.names, known, err = s.volumes(ctx, c.GetId()); err != nil {
			return err
		}
	}
	names := without("", append(namesIn(c.GetImage()), c.GetImageId(), c.GetImageRef())...)
	if len(names) == 0 {
		return badAnswer("ListContainers", "%v", errNoImage)
	}
	var unsure []string // containerd 1.6 returns a reference in place of the ID
	if !engine.IsImageID(c.GetImageId()) {
		unsure = names
	}
	h, err := s.resolve(ctx, h, append(unsure, h.names...))
	if err != nil {
		return err
	}
	if known {
		s.seen[self] = h
	}
	s.add(ByContainer, c.GetId(), h, names)
	s.add(ByVolume, c.GetId(), h, h.names)
	return nil
}

// volumes returns the names of the images that a container has mounted, and whether they are known. Only the status of the
// container has them.
func (s *survey) volumes(ctx context.Context, id string) (all []string, known bool, err error) {
	const call = "ContainerStatus"
	answer, err := ask(ctx, s.Runtime, askTimeout, call, s.runtime.ContainerStatus,
		&runtimeapi.ContainerStatusRequest{ContainerId: id})
	if isNotFound(err) {
		return nil, false, nil // it was removed just now
	}
	if err != nil {
		return nil, false, err
	}
	if answer.GetStatus().GetId() != id {
		return nil, false, badAnswer(call, "the response is about container %q", answer.GetStatus().GetId())
	}
	for _, mount := range answer.GetStatus().GetMounts() {
		if mount.GetImage() == nil {
			continue
		}
		names := without("", namesIn(mount.GetImage())...)
		if len(names) == 0 {
			return nil, false, badAnswer(call, "%v at %s", errNoImage, mount.GetContainerPath())
		}
		all = append(all, names...)
	}
	return all, true, nil
}
