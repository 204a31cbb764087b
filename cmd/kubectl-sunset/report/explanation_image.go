package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
)

// image is what people know an image by, as its ID says nothing to them, and since when it is as it is.
func (e *explanation) image(o *explain.Object) {
	i := o.Image
	if i == nil {
		return
	}
	name := "an image without a name"
	if names := slices.Concat(i.Tags, i.Digests); len(names) > 0 {
		name = names[0]
	}
	if more := len(i.Tags) - 1; more > 0 {
		name += fmt.Sprintf(" +%d", more)
	}
	e.line(0, "%s, %s", name, size(i.SizeBytes))
	var since []string
	if !i.FirstSeen.IsZero() {
		since = append(since, "first seen "+FormatTime(i.FirstSeen))
	}
	switch {
	case i.InUse:
		since = append(since, "in use")
	case !o.Created.IsZero():
		since = append(since, "unused since "+FormatTime(o.Created))
	}
	if len(since) > 0 {
		e.line(0, "%s", strings.Join(since, "; "))
	}
}

// pageImage is an image in JSON and YAML.
type pageImage struct {
	Tags        []string `json:"tags"`
	Digests     []string `json:"digests"`
	Bytes       int64    `json:"bytes"`
	Pinned      bool     `json:"pinned"`
	InUse       bool     `json:"inUse"`
	FirstSeen   string   `json:"firstSeen,omitempty"`
	LastUsed    string   `json:"lastUsed,omitempty"`
	UnusedSince string   `json:"unusedSince,omitempty"`
}

func newImage(o *explain.Object) *pageImage {
	i := o.Image
	if i == nil {
		return nil
	}
	same := func(text string) string { return text }
	out := &pageImage{
		Tags: each(i.Tags, same), Digests: each(i.Digests, same), Bytes: i.SizeBytes, Pinned: i.Pinned, InUse: i.InUse,
		FirstSeen: known(i.FirstSeen), LastUsed: known(i.LastUsed),
	}
	if !i.InUse {
		out.UnusedSince = known(o.Created)
	}
	return out
}
