// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"slices"
	"strings"

	"github.com/distribution/reference"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/engine"
)

// canonicalID returns a full ID with its algorithm.
func canonicalID(id string) string {
	if strings.Contains(id, ":") {
		return id
	}
	return "sha256:" + id
}

// keys returns everything that a name may be looked up by. This is the name itself. A full ID or a digest is also a key without
// the repository, because equal content is the same image in every repository. A tag is also a key in its long form, completed
// with docker.io/library and :latest. The grammar and the completion are those of github.com/distribution/reference, which the
// kubelet and containerd use.
func keys(name string) []string {
	if engine.IsImageID(name) {
		return []string{canonicalID(name)}
	}
	if all := keysOfWhole(name); all != nil {
		return all
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

// keysOfWhole returns the keys of a name that has a registry and either a tag or a sha256 digest, as runtimes list them; nil
// for other names. Such a name is complete already, and to parse it would cost more than the rest of a snapshot.
func keysOfWhole(name string) []string {
	repository, digest, hasDigest := strings.Cut(name, "@")
	registry, path, _ := strings.Cut(repository, "/")
	hasTag := strings.Contains(path[strings.LastIndex(path, "/")+1:], ":")
	switch {
	case path == "", !strings.ContainsAny(registry, ".:"), registry == "index.docker.io", registry == "docker.io" && !strings.Contains(path, "/"):
		return nil
	case hasTag && !hasDigest:
		return []string{name}
	case hasDigest && !hasTag && strings.HasPrefix(digest, "sha256:") && engine.IsImageID(digest):
		return []string{name, digest}
	default:
		return nil
	}
}

// keysOf returns everything that an image may be found by.
func keysOf(i Image) []string {
	all := []string{canonicalID(i.ID)}
	for _, name := range slices.Concat(i.Tags, i.Digests) {
		all = append(all, keys(name)...)
	}
	return all
}

// namesIn returns the names that a spec gives to one image. Some may be empty.
func namesIn(spec *runtimeapi.ImageSpec) []string {
	return []string{spec.GetImage(), spec.GetUserSpecifiedImage(), spec.GetImageRef()}
}

// without returns all texts except one.
func without(one string, all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == one })
}
