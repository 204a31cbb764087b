// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

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
