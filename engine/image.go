// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Image is an image on a node. The API server does not store images: Object returns the object that rules evaluate.
type Image struct {
	ID             string   // complete, such as sha256:...
	Tags           []string // references with a tag: registry.example.com/team/app:v1
	Digests        []string // references with a digest
	SizeBytes      int64
	Pinned         bool
	RuntimeHandler string

	FirstSeen time.Time
	LastUsed  time.Time // zero if it was never used
	// UnusedSince is the start of the image's age if it is later than FirstSeen and LastUsed: time in which no agent
	// observed the node does not count. The zero time means the later of the two.
	UnusedSince time.Time
	InUse       bool
}

// IsImageID reports whether id is a complete image ID, which no other image can have. containerd writes it with the algorithm,
// and CRI-O without.
func IsImageID(id string) bool {
	algorithm, hex, told := strings.Cut(id, ":")
	if !told {
		algorithm, hex = "sha256", id
	}
	isWhole := algorithm == "sha256" && len(hex) == 64 || algorithm == "sha512" && len(hex) == 128
	return isWhole && strings.Trim(hex, "0123456789abcdef") == ""
}

// Node is the node of an image, as rules see it.
type Node struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	// Filesystem is the filesystem of the images; nil while it is unknown.
	Filesystem *v1alpha1.NodeImageFilesystem `json:"imageFs,omitempty"`
}

// Object returns the image as rules see it.
func (i *Image) Object() map[string]any {
	status := map[string]any{"inUse": i.InUse}
	put := func(field string, t time.Time) {
		if !t.IsZero() {
			status[field] = t.UTC().Format(time.RFC3339Nano)
		}
	}
	put("firstSeen", i.FirstSeen)
	put("lastUsed", i.LastUsed)
	if !i.InUse {
		put("unusedSince", i.since())
	}
	return map[string]any{
		"apiVersion": v1alpha1.ImageKind.GroupVersion().String(),
		"kind":       v1alpha1.ImageKind.Kind,
		"metadata":   map[string]any{"name": i.ID},
		"spec": map[string]any{
			"tags": listOf(i.Tags), "digests": listOf(i.Digests), "sizeBytes": i.SizeBytes, "pinned": i.Pinned, "runtimeHandler": i.RuntimeHandler,
		},
		"status": status,
	}
}

// since returns when the age of the image begins.
func (i *Image) since() time.Time { return policy.Latest(i.FirstSeen, i.LastUsed, i.UnusedSince) }

// Subject returns the image as a subject. Its name and its UID are the ID of the image. Its age begins when the image
// was last in use, or else first seen. It has no resourceVersion.
func (i *Image) Subject() policy.Subject {
	s := policy.Subject{Name: i.ID, UID: types.UID(i.ID), Created: i.since()}
	if i.Pinned {
		s.Flags |= policy.IsPinned
	}
	if i.InUse {
		s.Flags |= policy.IsInUse
	}
	return s
}

// ImageOf reads an image from its object, for example from a file. Invalid fields are errors.
func ImageOf(object map[string]any) (*Image, error) {
	metadata, spec, status := mapOf(object, "metadata"), mapOf(object, "spec"), mapOf(object, "status")
	i := &Image{ID: textOf(metadata, "name")}
	if i.ID == "" {
		return nil, errors.New("metadata.name is missing: it is the ID of the image")
	}
	r := imageReader{}
	i.Tags, i.Digests = r.texts(spec, "tags"), r.texts(spec, "digests")
	i.Pinned = valueOf[bool](&r, spec, "pinned", "is neither true nor false")
	i.InUse = valueOf[bool](&r, status, "inUse", "is neither true nor false")
	i.FirstSeen, i.LastUsed, i.UnusedSince = r.time(status, "firstSeen"), r.time(status, "lastUsed"), r.time(status, "unusedSince")
	i.SizeBytes = valueOf[int64](&r, spec, "sizeBytes", "is not an integer")
	i.RuntimeHandler = valueOf[string](&r, spec, "runtimeHandler", "is not a string")
	return i, r.err
}

// isImage reports whether an object is an image of a node.
func isImage(object map[string]any) bool {
	return textOf(object, "kind") == v1alpha1.ImageKind.Kind && groupOf(textOf(object, "apiVersion")) == v1alpha1.ImageKind.Group
}

// imageReader reads the fields of an image. It stores the first error.
type imageReader struct{ err error }

func (r *imageReader) fail(field string, err error) {
	if r.err == nil {
		r.err = shorten(field + ": " + err.Error())
	}
}

// valueOf reads a field, which may be absent. mistake is the error if its value has another type.
func valueOf[T any](r *imageReader, from map[string]any, field, mistake string) T {
	value, ok := from[field].(T)
	if !ok && from[field] != nil {
		r.fail(field, errors.New(mistake))
	}
	return value
}

func (r *imageReader) texts(from map[string]any, field string) []string {
	var texts []string
	for _, element := range valueOf[[]any](r, from, field, "is not a list") {
		text, ok := element.(string)
		if !ok {
			r.fail(field, fmt.Errorf("has an element that is not a string: %v", element))
		}
		texts = append(texts, text)
	}
	return texts
}

func (r *imageReader) time(from map[string]any, field string) time.Time {
	t, err := timeOf(from, field)
	if err != nil {
		r.fail(field, err)
	}
	return t
}

// Object returns the node as the variable node.
func (n *Node) Object() map[string]any {
	if n == nil {
		n = &Node{}
	}
	labels := make(map[string]any, len(n.Labels))
	for key, value := range n.Labels {
		labels[key] = value
	}
	object := map[string]any{"name": n.Name, "labels": labels}
	if f := n.Filesystem; f != nil {
		object["imageFs"] = map[string]any{"usedBytes": f.UsedBytes, "capacityBytes": f.CapacityBytes, "usedPercent": int64(f.UsedPercent)}
	}
	return object
}

func listOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}
