package policies

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine"
)

// Schema reads the schema of a kind from the cluster's OpenAPI, for engine.Rule.Check. An error says that there is none,
// or none yet.
func Schema(documents openapi.Client, kind schema.GroupVersionKind) (*spec.Schema, error) {
	d, err := document(documents, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return engine.SchemaOf(d, kind)
}

// document reads the OpenAPI document of one group and version.
func document(documents openapi.Client, gv schema.GroupVersion) (*spec3.OpenAPI, error) {
	paths, err := documents.Paths()
	if err != nil {
		return nil, err
	}
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	served, ok := paths[path]
	if !ok {
		return nil, fmt.Errorf("no OpenAPI for %s", gv)
	}
	data, err := served.Schema("application/json")
	if err != nil {
		return nil, err
	}
	d := &spec3.OpenAPI{}
	return d, json.Unmarshal(data, d)
}
