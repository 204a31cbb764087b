// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// FindImage returns the image that a name refers to. It tries three ways in this order, and uses the first that finds an image:
//
//   - the name is the image's ID, a tag or a digest;
//   - the name is short for a tag, as in container tools (nginx is docker.io/library/nginx:latest);
//   - the name is the end of a tag or digest, or the first twelve or more characters of the ID.
//
// If no image or several images match, it returns an error.
func FindImage(images []engine.Image, name string) (*engine.Image, error) {
	for _, means := range []func(*engine.Image, string) bool{hasName, hasFullName, hasNamePart} {
		var found []*engine.Image
		for i := range images {
			if means(&images[i], name) {
				found = append(found, &images[i])
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return nil, fmt.Errorf("image name %s is ambiguous; it matches %s", name, listImages(found))
		}
	}
	return nil, fmt.Errorf("image %s not found%s", name, imageHint(images, name))
}

// idPart is the minimum length of an ID prefix: slightly less than crictl shows.
const idPart = 12

const idAlgorithm = "sha256:"

func imageNames(i *engine.Image) []string { return slices.Concat(i.Tags, i.Digests) }

func hasName(i *engine.Image, name string) bool {
	return strings.TrimPrefix(i.ID, idAlgorithm) == strings.TrimPrefix(name, idAlgorithm) ||
		slices.ContainsFunc(imageNames(i), func(n string) bool {
			_, digest, hasDigest := strings.Cut(n, "@")
			return n == name || hasDigest && digest == name
		})
}

func hasFullName(i *engine.Image, name string) bool {
	return slices.Contains(imageNames(i), fullImageName(name))
}

func hasNamePart(i *engine.Image, name string) bool {
	if part := strings.TrimPrefix(name, idAlgorithm); len(part) >= idPart && strings.HasPrefix(strings.TrimPrefix(i.ID, idAlgorithm), part) {
		return true
	}
	end := "/" + withTag(name)
	return slices.ContainsFunc(imageNames(i), func(n string) bool { return strings.HasSuffix(n, end) })
}

// fullImageName completes a short name: it adds the missing parts among registry docker.io, namespace library on docker.io,
// and tag latest. It drops a tag beside a digest. It returns an invalid name unchanged.
func fullImageName(name string) string {
	full, err := reference.ParseDockerRef(name)
	if err != nil {
		return name
	}
	return full.String()
}

// withTag returns a name with its digest, or otherwise with a tag.
func withTag(name string) string {
	name, digest, hasDigest := strings.Cut(name, "@")
	repository, tag := splitTag(name)
	switch {
	case hasDigest:
		return repository + "@" + digest
	case tag == "":
		return name + ":latest"
	default:
		return name
	}
}

// splitTag returns the repository and the tag of a name without a digest.
func splitTag(name string) (repository, tag string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// ImageTag returns the tag of an image's name; empty if it has none.
func ImageTag(name string) string {
	name, _, _ = strings.Cut(name, "@")
	_, tag := splitTag(name)
	return tag
}

// namesShown is the number of images that an error names.
const namesShown = 5

// listImages names each image by its first tag or digest, or otherwise by its ID.
func listImages(images []*engine.Image) string {
	var names []string
	for _, i := range images {
		names = append(names, append(imageNames(i), i.ID)[0])
	}
	return firstNames(names)
}

func firstNames(names []string) string {
	slices.Sort(names)
	return strings.Join(policy.Shortlist(names, namesShown, ""), ", ")
}

// imageHint suggests tags whose repository ends like the name, or otherwise the most similar tag.
func imageHint(images []engine.Image, name string) string {
	var tags, alike []string
	last := lastOfRepository(name)
	for i := range images {
		tags = append(tags, images[i].Tags...)
	}
	for _, tag := range tags {
		if lastOfRepository(tag) == last {
			alike = append(alike, tag)
		}
	}
	if len(alike) > 0 {
		return "; found " + firstNames(alike)
	}
	if meant := policy.Closest(fullImageName(name), tags); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

// lastOfRepository returns the last path segment of a name's repository.
func lastOfRepository(name string) string {
	name, _, _ = strings.Cut(name, "@")
	repository, _ := splitTag(name)
	return repository[strings.LastIndexByte(repository, '/')+1:]
}
