package cri

import (
	"regexp"
	"slices"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// fullID are the IDs that containerd (with the algorithm) and CRI-O (without) give.
var fullID = regexp.MustCompile(`^(?:(?:sha256:)?[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)

// IsFullID reports whether id is a whole image ID, which no other image can have.
func IsFullID(id string) bool { return fullID.MatchString(id) }

// canonicalID is a full ID with its algorithm.
func canonicalID(id string) string {
	if strings.Contains(id, ":") {
		return id
	}
	return "sha256:" + id
}

// keys are all that a name may be looked up by: itself; a full ID or a digest without the repository, as the same
// content is the same image wherever it came from; a tag in the long form that docker.io/library and :latest complete.
// The grammar and the completion are those of github.com/distribution/reference, which the kubelet and containerd use.
func keys(name string) []string {
	if IsFullID(name) {
		return []string{canonicalID(name)}
	}
	all := []string{name}
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return all // the runtime may still know it: see Resolve
	}
	digested, hasDigest := named.(reference.Digested)
	if hasDigest {
		all = append(all, digested.Digest().String())
	}
	if tagged, ok := named.(reference.Tagged); ok {
		all = append(all, named.Name()+":"+tagged.Tag())
	} else if !hasDigest {
		all = append(all, named.Name()+":latest")
	}
	return all
}

// keysOf are all that an image may be found by.
func keysOf(i Image) []string {
	all := []string{canonicalID(i.ID)}
	for _, tag := range i.Tags {
		all = append(all, keys(tag)...)
	}
	for _, digest := range i.Digests {
		all = append(all, keys(digest)...)
	}
	return all
}

// namesIn are the names that a spec gives to one image. Some may be empty.
func namesIn(spec *runtimeapi.ImageSpec) []string {
	return []string{spec.GetImage(), spec.GetUserSpecifiedImage(), spec.GetImageRef()}
}

// without is all but one.
func without(one string, all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == one })
}
