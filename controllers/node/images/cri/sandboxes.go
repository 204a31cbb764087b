// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (s *survey) sandboxes(ctx context.Context) error {
	const call = "ListPodSandbox"
	answer, err := ask(ctx, s.Runtime, listTimeout, call, s.runtime.ListPodSandbox, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	s.listed[BySandbox] = sets.New[string]()
	for _, sandbox := range answer.GetItems() {
		s.listed[BySandbox].Insert(sandbox.GetId())
	}
	for _, sandbox := range answer.GetItems() {
		if err := s.meet(call, holder{BySandbox, sandbox.GetId()}, sandbox.GetCreatedAt()); err != nil {
			return err
		}
		if err := s.sandbox(ctx, sandbox); err != nil {
			return fmt.Errorf("sandbox %s: %w", sandbox.GetId(), err)
		}
	}
	return nil
}

func (s *survey) sandbox(ctx context.Context, sandbox *runtimeapi.PodSandbox) error {
	self := holder{BySandbox, sandbox.GetId()}
	h, known := s.known[self]
	if !known {
		image, settled, err := s.sandboxImage(ctx, sandbox)
		if err != nil || !settled {
			return err
		}
		h = held{names: without("", image)}
	}
	h, err := s.resolve(ctx, h, h.names)
	if err != nil {
		return err
	}
	s.seen[self] = h
	s.add(BySandbox, sandbox.GetId(), h, h.names)
	return nil
}

// sandboxImage returns the image of a sandbox, empty if it has none, and whether that is final.
func (s *survey) sandboxImage(ctx context.Context, sandbox *runtimeapi.PodSandbox) (image string, settled bool, err error) {
	const call = "PodSandboxStatus"
	answer, err := ask(ctx, s.Runtime, askTimeout, call, s.runtime.PodSandboxStatus,
		&runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox.GetId(), Verbose: true})
	if isNotFound(err) {
		return "", false, nil // it was removed just now
	}
	if err != nil {
		return "", false, err
	}
	var info struct{ Image *string }
	text, told := answer.GetInfo()["info"]
	if told {
		err = json.Unmarshal([]byte(text), &info)
	}
	switch {
	case err != nil:
		return "", false, badAnswer(call, "info: %v", err)
	case told && info.Image == nil:
		return "", true, nil // CRI-O needs no container, and so no image, for most sandboxes
	case told && *info.Image != "":
		return *info.Image, true, nil
	case s.opts.SandboxImage == "" && sandbox.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY:
		return "", false, badAnswer(call, "%v", errNoImage)
	default:
		return "", false, nil // the sandbox has ended, and containerd 2 no longer knows its image
	}
}

// nextSandbox adds the image that the runtime is configured to use for sandboxes.
func (s *survey) nextSandbox(ctx context.Context) error {
	const call = "Status"
	answer, err := ask(ctx, s.Runtime, askTimeout, call, s.runtime.Status, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		return err
	}
	var config struct{ SandboxImage string }
	if text, told := answer.GetInfo()["config"]; told {
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return badAnswer(call, "config: %v", err)
		}
	}
	names := without("", config.SandboxImage, s.opts.SandboxImage)
	if len(names) == 0 {
		return s.pinned(ctx)
	}
	h, err := s.resolve(ctx, held{}, names)
	if err != nil {
		return err
	}
	s.add(ByNextSandbox, "", h, names)
	return nil
}

// pinned returns an error unless the runtime lists its sandbox image as pinned. Such an image needs no name.
func (s *survey) pinned(ctx context.Context) error {
	v, err := s.Version(ctx)
	if err != nil {
		return err
	}
	if !v.pinsSandboxImage() {
		return badAnswer("Status", "%s %s does not report its sandbox image: set --pod-infra-container-image", v.Name, v.Version)
	}
	return nil
}
