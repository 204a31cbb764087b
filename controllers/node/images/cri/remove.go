// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/engine"
)

// Remove removes an image with all its names, by its full ID. For anything else it returns ErrNotFullID and sends no request.
// It is not an error if the image does not exist. The runtime need not protect images: containerd removes images that are
// pinned or used.
//
// After any other error it is unknown whether the image is gone; list the images again. If ctx ends, Remove returns, but the
// removal continues until its own deadline or Close: a canceled removal can leave an image behind.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	if !engine.IsImageID(id) {
		return fmt.Errorf("remove image %q: %w", id, ErrNotFullID)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove image %s: %w", id, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := ask(context.WithoutCancel(ctx), r, RemoveTimeout, "RemoveImage", r.images.RemoveImage,
			&runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}})
		done <- err
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
