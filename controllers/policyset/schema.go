// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/openapi"
)

// Schemas reads schemas of kinds from the OpenAPI documents of the cluster, for engine.Program.Check. Each document has several
// megabytes, and is read and parsed once. Schemas is not safe for concurrent use.
type Schemas struct {
	Documents clientopenapi.Client
	read      map[schema.GroupVersion]read
}

type read struct {
	document *spec3.OpenAPI
	err      error
}

// Of returns the schema of a kind. An error says that the kind has no schema, or none yet.
func (s *Schemas) Of(kind schema.GroupVersionKind) (*spec.Schema, error) {
	gv := kind.GroupVersion()
	known, ok := s.read[gv]
	if !ok {
		known.document, known.err = openapi3.NewRoot(s.Documents).GVSpec(gv)
		if s.read == nil {
			s.read = map[schema.GroupVersion]read{}
		}
		s.read[gv] = known
	}
	if known.err != nil {
		return nil, known.err
	}
	return openapi.SchemaOf(known.document, kind)
}
