package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// FindImage gives the image that a name means: the one that has it as its ID, a tag or a digest; else that which has the name it is
// short for, as elsewhere (nginx is docker.io/library/nginx:latest); else that of which it is the end of a tag or digest, or
// the beginning of the ID, of at least twelve letters. The first way in which it means any image counts.
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
			return nil, fmt.Errorf("%s may be any of %s", name, listImages(found))
		}
	}
	return nil, fmt.Errorf("no image %s%s", name, imageHint(images, name))
}

// idPart is how much of an ID is enough to mean it: a little less than crictl shows.
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

// fullImageName is what a name is short for: on docker.io where it names no registry, in library there where it names no owner, and
// with the tag latest where it has none. A tag beside a digest means nothing. What is no name is short for nothing.
func fullImageName(name string) string {
	full, err := reference.ParseDockerRef(name)
	if err != nil {
		return name
	}
	return full.String()
}

// withTag is a name with its digest, or else with a tag.
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

// splitTag gives the repository and the tag of a name without a digest.
func splitTag(name string) (repository, tag string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// namesShown is how many images an error names.
const namesShown = 5

// listImages names images by what people know them by.
func listImages(images []*engine.Image) string {
	var names []string
	for _, i := range images {
		names = append(names, append(imageNames(i), i.ID)[0])
	}
	return firstNames(names)
}

func firstNames(names []string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), namesShown)], ", ")
	if more := len(names) - namesShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// imageHint names the tags of repositories that end as the name does, or else the tag that is nearest to it.
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
		return "; there is " + firstNames(alike)
	}
	if meant := policy.Closest(fullImageName(name), tags); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

// lastOfRepository is the last part of a repository.
func lastOfRepository(name string) string {
	name, _, _ = strings.Cut(name, "@")
	repository, _ := splitTag(name)
	return repository[strings.LastIndexByte(repository, '/')+1:]
}
