// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Image is the name and size of an image for display.
type Image struct {
	Name  string // its first tag, or otherwise its first digest; empty if it has neither
	Tags  int
	Bytes int64
}

// imageOf reads an Image from an object; nil for any other kind.
func imageOf(object map[string]any) *Image {
	if KindOf(object).GroupKind() != v1alpha1.ImageKind.GroupKind() {
		return nil
	}
	i, err := engine.ImageOf(object)
	if err != nil {
		return nil
	}
	image := &Image{Tags: len(i.Tags), Bytes: i.SizeBytes}
	if references := slices.Concat(i.Tags, i.Digests); len(references) > 0 {
		image.Name = references[0]
	}
	return image
}

// FromImages returns a feed of images.
func FromImages(images []engine.Image) Feed {
	return func(yield func(Batch) error) error {
		for i := range images {
			if err := yield(oneImage{&images[i]}); err != nil {
				return err
			}
		}
		return nil
	}
}

type oneImage struct{ image *engine.Image }

// Objects implements Batch.
func (o oneImage) Objects() ([]map[string]any, error) {
	return []map[string]any{o.image.Object()}, nil
}

// Both returns a feed of the objects of one, and then of another.
func Both(one, another Feed) Feed {
	return func(yield func(Batch) error) error {
		if err := one(yield); err != nil {
			return err
		}
		return another(yield)
	}
}

// onNode returns the rules that apply to Input.Node. Rules for other kinds than images always apply.
func (j *Judge) onNode(rules []*policy.Rule) []*policy.Rule {
	if !slices.ContainsFunc(rules, (*policy.Rule).OnNodes) {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r *policy.Rule) bool { return !r.SelectsNode(j.nodeLabels()) })
}

func (j *Judge) nodeLabels() map[string]string {
	if j.Node == nil {
		return nil
	}
	return j.Node.Labels
}

// NoNode returns a note for each rule about images that does not select Input.Node, or that needs a Node where none is given.
func (j *Judge) NoNode() []string {
	var notes []string
	for _, r := range j.rules.snapshot.Rules(v1alpha1.ImageKind.GroupKind()) {
		if r.SelectsNode(j.nodeLabels()) {
			continue
		}
		where := "a node without labels (no Node is given)"
		if j.Node != nil {
			where = "node " + j.Node.Name
		}
		notes = append(notes, fmt.Sprintf("rule %s does not apply to %s: its nodeSelector is %s", r.ID, where, r.NodeSelector))
	}
	return notes
}
