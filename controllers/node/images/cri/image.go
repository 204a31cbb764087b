// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"fmt"
	"math"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/engine"
)

// Image is one image of the node.
type Image struct {
	ID             string   // full, as the runtime writes it: with "sha256:" in containerd, without in CRI-O
	Tags           []string // such as "docker.io/library/nginx:1.27"; none in a dangling image
	Digests        []string // such as "docker.io/library/nginx@sha256:..."; none if it was imported, not pulled
	SizeBytes      int64    // as the runtime reports: compressed in containerd, and shared layers count in each image
	Pinned         bool     // the runtime asks to keep it; containerd before 1.7.3 never does
	RuntimeHandler string   // for which the image was pulled; almost always empty
}

// Images lists all images of the node, each once. If any part of the response is invalid it returns ErrAnswer and no images.
func (r *Runtime) Images(ctx context.Context) ([]Image, error) {
	const call = "ListImages"
	answer, err := ask(ctx, r, listTimeout, call, r.images.ListImages, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, err
	}
	images := make([]Image, 0, len(answer.GetImages()))
	seen := make(map[string]int, len(answer.GetImages())) // positions in images
	var total uint64
	for _, listed := range answer.GetImages() {
		image, err := imageOf(listed)
		if err != nil {
			return nil, badAnswer(call, "%v", err)
		}
		if total += listed.GetSize(); total > math.MaxInt64 {
			return nil, badAnswer(call, "the sizes of all images add up to %d bytes", total)
		}
		at, again := seen[canonicalID(image.ID)]
		switch {
		case !again:
			seen[canonicalID(image.ID)] = len(images)
			images = append(images, image)
		case image.ID != images[at].ID, image.RuntimeHandler != images[at].RuntimeHandler:
			return nil, badAnswer(call, "image %s is listed twice, in different forms", image.ID)
		default:
			images[at].merge(image)
		}
	}
	return images, nil
}

// merge adds another line about the same image. CRI-O 1.33 and later list an OCI artifact once for each of its references.
func (i *Image) merge(other Image) {
	i.Tags, i.Digests = union(i.Tags, other.Tags), union(i.Digests, other.Digests)
	i.SizeBytes, i.Pinned = max(i.SizeBytes, other.SizeBytes), i.Pinned || other.Pinned
}

// union returns the names of both lists in a fixed order, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func imageOf(listed *runtimeapi.Image) (Image, error) {
	i := Image{
		ID:             listed.GetId(),
		Tags:           listed.GetRepoTags(),
		Digests:        listed.GetRepoDigests(),
		SizeBytes:      int64(listed.GetSize()),
		Pinned:         listed.GetPinned(),
		RuntimeHandler: listed.GetSpec().GetRuntimeHandler(),
	}
	switch {
	case !engine.IsImageID(i.ID):
		return Image{}, fmt.Errorf("image %q: %w", i.ID, ErrNotFullID)
	case listed.GetSize() > math.MaxInt64:
		return Image{}, fmt.Errorf("image %s has %d bytes", i.ID, listed.GetSize())
	case slices.Contains(i.Tags, ""), slices.Contains(i.Digests, ""):
		return Image{}, fmt.Errorf("image %s has an empty name", i.ID)
	}
	return i, nil
}

// Image returns one image by its full ID; false if it does not exist.
func (r *Runtime) Image(ctx context.Context, id string) (Image, bool, error) {
	if !engine.IsImageID(id) {
		return Image{}, false, fmt.Errorf("image %q: %w", id, ErrNotFullID)
	}
	answer, err := r.status(ctx, id)
	if err != nil || answer == nil {
		return Image{}, false, err
	}
	image, err := imageOf(answer)
	if err == nil && image.ID != id {
		err = fmt.Errorf("want image %s, got image %s", id, image.ID)
	}
	if err != nil {
		return Image{}, false, badAnswer(statusCall, "%v", err)
	}
	return image, true, nil
}

const statusCall = "ImageStatus"

// status returns the image that has a name; nil if no image has it.
func (r *Runtime) status(ctx context.Context, name string) (*runtimeapi.Image, error) {
	answer, err := ask(ctx, r, askTimeout, statusCall, r.images.ImageStatus,
		&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: name}})
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", name, err)
	}
	return answer.GetImage(), nil
}

// Resolve returns the full ID of the image that a name means, or "" if no image has that name. The runtime resolves it as for a
// new container, but without a pull: a tag, a digest, or a short name that its configuration completes.
func (r *Runtime) Resolve(ctx context.Context, name string) (string, error) {
	image, err := r.status(ctx, name)
	if err != nil || image == nil {
		return "", err
	}
	if !engine.IsImageID(image.GetId()) {
		return "", badAnswer(statusCall, "image %q has the ID %q", name, image.GetId())
	}
	return image.GetId(), nil
}
