// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// splitReference splits a reference to an image. The port of a registry is not a tag. It drops the digest.
func splitReference(reference string) (repository, tag string) {
	repository, _, _ = strings.Cut(reference, "@")
	name := strings.LastIndexByte(repository, '/') + 1
	if colon := strings.IndexByte(repository[name:], ':'); colon >= 0 {
		return repository[:name+colon], repository[name+colon+1:]
	}
	return repository, ""
}

// ofReference binds a function of a reference to an image.
func ofReference(name string, part func(repository, tag string) string) functions.UnaryOp {
	return func(v ref.Val) ref.Val {
		text, ok := v.(types.String)
		if !ok {
			return failure(name, fmt.Errorf("needs an image reference, such as 'registry.example.com/team/app:v1', but got %s", v.Type().TypeName()))
		}
		return types.String(part(splitReference(string(text))))
	}
}

func imageRepositoryDoc() Function {
	return Function{
		Name:       "imageRepository",
		Signatures: []string{"imageRepository(tag) -> string"},
		Doc: "The repository of an image reference, as in `object.spec.tags` and `object.spec.digests`: the reference without " +
			"its tag and its digest. The port of a registry stays. The function adds no defaults: `app` is not `docker.io/library/app`.",
		Examples: []Example{
			{"imageRepository(object.spec.tags[0])", "image", "'registry.example.com:5000/team/app'"},
			{"imageRepository('registry.example.com/team/app@sha256:0d3c')", "image", "'registry.example.com/team/app'"},
			{"imageRepository('localhost:5000/app')", "image", "'localhost:5000/app'"},
			{"imageRepository(object.spec.tags[?7].orValue(''))", "image", "''"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("image_repository_string", []*cel.Type{cel.StringType}, cel.StringType,
				cel.UnaryBinding(ofReference("imageRepository", func(repository, _ string) string { return repository }))),
		},
	}
}

func imageTagDoc() Function {
	return Function{
		Name:       "imageTag",
		Signatures: []string{"imageTag(tag) -> string"},
		Doc:        "The tag of an image reference, without its repository; empty if the reference has no tag.",
		Examples: []Example{
			{"imageTag(object.spec.tags[0])", "image", "'v1.4.2'"},
			{"imageTag('localhost:5000/app')", "image", "''"},
			{"imageTag('registry.example.com/team/app@sha256:0d3c')", "image", "''"},
		},
		overloads: []cel.FunctionOpt{
			cel.Overload("image_tag_string", []*cel.Type{cel.StringType}, cel.StringType,
				cel.UnaryBinding(ofReference("imageTag", func(_, tag string) string { return tag }))),
		},
	}
}
