package cri

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Remove removes an image with all its names, by its full ID; anything else is an ErrNotFullID, and nothing is sent. An
// image that is not there is no error. The runtime need not protect anything: containerd removes what is pinned or used.
//
// Any other error means that nobody knows whether the image is gone; list again. The end of ctx ends the wait, but not
// the removal, which goes on until its own deadline or Close: a removal that is cut off can leave an image behind.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	if !IsFullID(id) {
		return fmt.Errorf("remove image %q: %w", id, ErrNotFullID)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove image %s: %w", id, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := ask(context.WithoutCancel(ctx), r, removeTimeout, "RemoveImage", r.images.RemoveImage,
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
