// SPDX-License-Identifier: Apache-2.0

package critest

import (
	"context"
	"encoding/json"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type images struct {
	runtimeapi.UnimplementedImageServiceServer
	*Server
}

type containers struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	*Server
}

func (i images) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{
		Images: read(i.Server, func(s *State) []*runtimeapi.Image { return slices.Clone(s.Images) }),
	}, nil
}

func (i images) ImageStatus(_ context.Context, q *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	return &runtimeapi.ImageStatusResponse{
		Image: read(i.Server, func(s *State) *runtimeapi.Image { return s.find(q.GetImage().GetImage()) }),
	}, nil
}

func (i images) RemoveImage(_ context.Context, q *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	i.Update(func(s *State) {
		gone := s.find(q.GetImage().GetImage())
		s.Images = slices.DeleteFunc(slices.Clone(s.Images), func(i *runtimeapi.Image) bool { return i == gone })
	})
	return &runtimeapi.RemoveImageResponse{}, nil
}

func (i images) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{
		ImageFilesystems: read(i.Server, func(s *State) []*runtimeapi.FilesystemUsage { return slices.Clone(s.Filesystems) }),
	}, nil
}

func (c containers) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return read(c.Server, func(s *State) *runtimeapi.VersionResponse {
		return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: s.Name, RuntimeVersion: s.Version, RuntimeApiVersion: "v1"}
	}), nil
}

func (c containers) Status(_ context.Context, q *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	config := map[string]any{"stateDir": "/run"}
	if image := read(c.Server, func(s *State) string { return s.SandboxImage }); image != "" {
		config["sandboxImage"] = image
	}
	answer := &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{}}
	if q.GetVerbose() {
		answer.Info = info("config", config)
	}
	return answer, nil
}

func (c containers) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{
		Containers: read(c.Server, func(s *State) []*runtimeapi.Container { return slices.Clone(s.Containers) }),
	}, nil
}

func (c containers) ContainerStatus(_ context.Context, q *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	answer := read(c.Server, func(s *State) *runtimeapi.ContainerStatusResponse {
		for _, c := range s.Containers {
			if c.Id == q.GetContainerId() {
				return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: c.Id, Mounts: s.Mounts[c.Id]}}
			}
		}
		return nil
	})
	if answer == nil {
		return nil, status.Errorf(codes.NotFound, "no container %q", q.GetContainerId())
	}
	return answer, nil
}

func (c containers) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	answer := &runtimeapi.ListPodSandboxResponse{}
	for _, sandbox := range read(c.Server, func(s *State) []Sandbox { return slices.Clone(s.Sandboxes) }) {
		state := runtimeapi.PodSandboxState_SANDBOX_READY
		if sandbox.Ended {
			state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		}
		answer.Items = append(answer.Items, &runtimeapi.PodSandbox{Id: sandbox.ID, State: state})
	}
	return answer, nil
}

func (c containers) PodSandboxStatus(_ context.Context, q *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	sandboxes := read(c.Server, func(s *State) []Sandbox { return slices.Clone(s.Sandboxes) })
	at := slices.IndexFunc(sandboxes, func(s Sandbox) bool { return s.ID == q.GetPodSandboxId() })
	if at < 0 {
		return nil, status.Errorf(codes.NotFound, "no sandbox %q", q.GetPodSandboxId())
	}
	answer := &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{Id: q.GetPodSandboxId()}}
	if q.GetVerbose() {
		answer.Info = info("info", map[string]any{"image": sandboxes[at].Image})
	}
	return answer, nil
}

// info returns a field of a verbose response, in which runtimes report what CRI has no fields for.
func info(name string, content any) map[string]string {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // strings only
	}
	return map[string]string{name: string(text)}
}
