// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/engine"
)

// crictlList is the container runtime's list of images in the format of crictl.
type crictlList struct {
	Images *[]crictlImage `json:"images"`
}

type crictlImage struct {
	ID          string    `json:"id"`
	RepoTags    []string  `json:"repoTags"`
	RepoDigests []string  `json:"repoDigests"`
	Size        byteCount `json:"size"`
	Pinned      bool      `json:"pinned"`
	Spec        *struct {
		RuntimeHandler string `json:"runtimeHandler"`
	} `json:"spec"`
}

// byteCount is a number of bytes: a JSON string, as protobuf encodes 64-bit integers, or a JSON number.
type byteCount int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *byteCount) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	if text == "" || text == "null" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a size in bytes", text)
	}
	*s = byteCount(n)
	return nil
}

// ReadCrictl returns the images of a list. It sets unusedSince as the time since when each image is present and unused.
func ReadCrictl(r io.Reader, unusedSince time.Time) ([]engine.Image, error) {
	l, err := decodeCrictl(r)
	if err != nil {
		return nil, fmt.Errorf("not the output of crictl images -o json: %w", err)
	}
	images := make([]engine.Image, 0, len(l))
	seen := make(map[string]int, len(l)) // positions in images
	var total uint64
	for i, of := range l {
		if err := of.check(); err != nil {
			return nil, fmt.Errorf("image %d of the list: %w", i+1, err)
		}
		if total += uint64(of.Size); total > math.MaxInt64 {
			return nil, fmt.Errorf("the sizes of all images add up to %d bytes", total)
		}
		one := engine.Image{ID: of.ID, Tags: of.RepoTags, Digests: of.RepoDigests, SizeBytes: int64(of.Size), Pinned: of.Pinned, FirstSeen: unusedSince}
		if of.Spec != nil {
			one.RuntimeHandler = of.Spec.RuntimeHandler
		}
		hex := of.ID[strings.IndexByte(of.ID, ':')+1:]
		at, again := seen[hex]
		switch {
		case !again:
			seen[hex] = len(images)
			images = append(images, one)
		case one.ID != images[at].ID, one.RuntimeHandler != images[at].RuntimeHandler:
			return nil, fmt.Errorf("image %d of the list: %s is listed twice, in different forms", i+1, of.ID)
		default: // CRI-O lists an OCI artifact once for each of its references
			i := &images[at]
			i.Tags, i.Digests = append(i.Tags, one.Tags...), append(i.Digests, one.Digests...)
			i.SizeBytes, i.Pinned = max(i.SizeBytes, one.SizeBytes), i.Pinned || one.Pinned
		}
	}
	return images, nil
}

// decodeCrictl reads one list. Any data after the list is an error.
func decodeCrictl(r io.Reader) ([]crictlImage, error) {
	var l crictlList
	d := json.NewDecoder(r)
	switch err := d.Decode(&l); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("unexpected end of JSON input")
	case err != nil:
		return nil, err
	case l.Images == nil:
		return nil, errors.New(`the list "images" is missing`)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the list")
	}
	return *l.Images, nil
}

// check returns an error if a node agent would reject this image of a container runtime.
func (i *crictlImage) check() error {
	switch {
	case i.ID == "":
		return errors.New("it has no id")
	case !engine.IsImageID(i.ID):
		return fmt.Errorf("%q is not a full image ID", i.ID)
	case i.Size < 0:
		return fmt.Errorf("%s has a negative size: %d bytes", i.ID, i.Size)
	case slices.Contains(i.RepoTags, ""), slices.Contains(i.RepoDigests, ""):
		return fmt.Errorf("%s has an empty name", i.ID)
	}
	return nil
}
