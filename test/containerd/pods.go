// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// api is the API that the kubelet uses. The client under test has only the calls that an agent may make.
type api struct {
	*grpc.ClientConn
	runtimeapi.RuntimeServiceClient
	runtimeapi.ImageServiceClient
}

func dial(socket string) (*api, error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &api{conn, runtimeapi.NewRuntimeServiceClient(conn), runtimeapi.NewImageServiceClient(conn)}, nil
}

// RunPod runs a sandbox with the network of the machine, and returns its ID.
func (d *Daemon) RunPod(ctx context.Context, name string) (string, error) {
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name},
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: "/" + d.cgroup(),
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: &runtimeapi.NamespaceOption{
				Network: runtimeapi.NamespaceMode_NODE, Pid: runtimeapi.NamespaceMode_CONTAINER,
			}},
		},
	}
	answer, err := d.api.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		return "", fmt.Errorf("run pod %s: %w", name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pods[answer.GetPodSandboxId()] = config
	return answer.GetPodSandboxId(), nil
}

// RemovePod stops and removes a sandbox with its containers.
func (d *Daemon) RemovePod(ctx context.Context, pod string) error {
	if _, err := d.api.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		return err
	}
	_, err := d.api.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod})
	return err
}

// Container is a container to create.
type Container struct {
	Pod     string // ID of its sandbox
	Name    string // unique in its sandbox
	Image   string // any of its names: a kubelet passes the ID, others may not
	Args    []string
	Volumes []string // images to mount at /volumes/0 and up; not supported by containerd 1.6
}

// Create creates a container without starting it, and returns its ID.
func (d *Daemon) Create(ctx context.Context, c Container) (string, error) {
	d.mu.Lock()
	pod := d.pods[c.Pod]
	d.mu.Unlock()
	config := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: c.Name},
		Image:    &runtimeapi.ImageSpec{Image: c.Image},
		Args:     c.Args,
		Linux:    &runtimeapi.LinuxContainerConfig{},
	}
	for n, image := range c.Volumes {
		config.Mounts = append(config.Mounts, &runtimeapi.Mount{
			ContainerPath: fmt.Sprintf("/volumes/%d", n), Readonly: true, Image: &runtimeapi.ImageSpec{Image: image},
		})
	}
	answer, err := d.api.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: c.Pod, Config: config, SandboxConfig: pod})
	if err != nil {
		return "", fmt.Errorf("create container %s: %w", c.Name, err)
	}
	return answer.GetContainerId(), nil
}

// StartContainer starts a created container.
func (d *Daemon) StartContainer(ctx context.Context, id string) error {
	_, err := d.api.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	return err
}

// RunContainer creates and starts a container and returns its ID.
func (d *Daemon) RunContainer(ctx context.Context, c Container) (string, error) {
	id, err := d.Create(ctx, c)
	if err != nil {
		return "", err
	}
	return id, d.StartContainer(ctx, id)
}

// StopContainer stops a container. It remains as an exited container.
func (d *Daemon) StopContainer(ctx context.Context, id string) error {
	const seconds = 5 // grace period; the program ends on SIGTERM
	_, err := d.api.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: seconds})
	return err
}

// RemoveContainer stops and removes a container.
func (d *Daemon) RemoveContainer(ctx context.Context, id string) error {
	_, err := d.api.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	return err
}

// IsRunning reports whether a container runs now. It is false for one that has not started or has exited.
func (d *Daemon) IsRunning(ctx context.Context, id string) (bool, error) {
	answer, err := d.api.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	return answer.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING, err
}

// Exited waits up to a minute until a container has exited.
func (d *Daemon) Exited(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		answer, err := d.api.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
		if err != nil || answer.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("container %s has not exited: %w", id, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Pull pulls an image and returns the ID that CRI returns.
func (d *Daemon) Pull(ctx context.Context, name string) (string, error) {
	answer, err := d.api.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: name}})
	return answer.GetImageRef(), err
}
