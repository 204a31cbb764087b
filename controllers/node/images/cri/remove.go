// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/engine"
)

// Remove removes an image with all its names, by its full ID. For anything else it returns ErrNotFullID and sends no request.
// It is not an error if the image does not exist. The runtime need not protect images: containerd removes images that are
// pinned or used.
//
// beforeWrite, if not nil, is called when the request is about to be written, which may be seconds later if the runtime restarts. An error
// prevents the request, and Remove returns it.
//
// After any other error it is unknown whether the image is gone; list the images again. If ctx ends, Remove returns, but the
// removal continues until its own deadline or Close: a canceled removal can leave an image behind.
func (r *Runtime) Remove(ctx context.Context, id string, beforeWrite func() error) error {
	if !engine.IsImageID(id) {
		return fmt.Errorf("remove image %q: %w", id, ErrNotFullID)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove image %s: %w", id, err)
	}
	done := make(chan error, 1)
	go func() {
		check := &checkAtWrite{check: beforeWrite}
		_, err := ask(context.WithoutCancel(ctx), r, RemoveTimeout, "RemoveImage", r.images.RemoveImage,
			&runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}}, grpc.PerRPCCredentials(check))
		done <- cmp.Or(check.failed, err)
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("remove image %s: %w", id, err)
	}
	return nil
}

// checkAtWrite checks whether a request may be sent. gRPC asks for the credentials of a request when it is connected and about to write it,
// also if it writes it again because the runtime has not read it. Afterwards the request waits only if the runtime limits concurrent
// requests.
type checkAtWrite struct {
	check  func() error // nil for none
	failed error
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c *checkAtWrite) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if c.check != nil {
		c.failed = c.check()
	}
	return nil, c.failed
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. The metadata is empty.
func (*checkAtWrite) RequireTransportSecurity() bool { return false }
