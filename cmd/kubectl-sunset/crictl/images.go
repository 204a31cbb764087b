package crictl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/sunset-k8s/sunset/engine"
)

// list is the answer of the container runtime as crictl writes it.
type list struct {
	Images *[]image `json:"images"`
}

type image struct {
	ID          string   `json:"id"`
	RepoTags    []string `json:"repoTags"`
	RepoDigests []string `json:"repoDigests"`
	Size        size     `json:"size"`
	Pinned      bool     `json:"pinned"`
	Spec        *struct {
		RuntimeHandler string `json:"runtimeHandler"`
	} `json:"spec"`
}

// size is a number of bytes: as text, the way protobuf writes 64 bits in JSON, or as a number.
type size int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *size) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	if text == "" || text == "null" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no size in bytes", text)
	}
	*s = size(n)
	return nil
}

// Read gives the images of a list. Each counts as first seen, and unused, since the given time.
func Read(r io.Reader, unusedSince time.Time) ([]engine.Image, error) {
	var l list
	d := json.NewDecoder(r)
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("not what crictl images -o json writes: %w", err)
	}
	if l.Images == nil {
		return nil, errors.New(`not what crictl images -o json writes: there is no list "images"`)
	}
	images := make([]engine.Image, 0, len(*l.Images))
	for i, of := range *l.Images {
		if of.ID == "" {
			return nil, fmt.Errorf("image %d of the list has no id", i+1)
		}
		one := engine.Image{ID: of.ID, Tags: of.RepoTags, Digests: of.RepoDigests, SizeBytes: int64(of.Size), Pinned: of.Pinned, FirstSeen: unusedSince}
		if of.Spec != nil {
			one.RuntimeHandler = of.Spec.RuntimeHandler
		}
		images = append(images, one)
	}
	return images, nil
}
