// SPDX-License-Identifier: Apache-2.0

// Package validation checks objects against the CustomResourceDefinitions of Sunset without a cluster, as the API server does when a
// user applies them.
package validation

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/crds"
)

// Validator checks objects of the kinds of Sunset. Its methods are safe for concurrent use.
type Validator struct {
	kinds map[runtimeschema.GroupVersionKind]kind
}

type kind struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// New reads the CustomResourceDefinitions, which are part of the program.
func New() *Validator {
	v := &Validator{kinds: map[runtimeschema.GroupVersionKind]kind{}}
	for _, file := range crds.Files() {
		if err := v.add(file); err != nil {
			panic(fmt.Errorf("%s: %w", file.Name, err)) // a test reads all
		}
	}
	return v
}

func (v *Validator) add(file crds.File) (err error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(file.YAML, crd); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		of := runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		if v.kinds[of], err = newKind(version.Schema.OpenAPIV3Schema); err != nil {
			return err
		}
	}
	return nil
}

func newKind(written *apiextensionsv1.JSONSchemaProps) (k kind, err error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(written, props, nil); err != nil {
		return kind{}, err
	}
	if k.structural, err = schema.NewStructural(props); err != nil {
		return kind{}, err
	}
	if k.schema, _, err = validation.NewSchemaValidator(props); err != nil {
		return kind{}, err
	}
	k.rules = cel.NewValidator(k.structural, true, celconfig.PerCallLimit)
	return k, nil
}

// Validate returns why the API server would refuse an object, without what admission and the checks of metadata would add. It returns
// nothing for kinds without a definition. It does not modify the object.
func (v *Validator) Validate(ctx context.Context, object map[string]any) field.ErrorList {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	k, known := v.kinds[runtimeschema.FromAPIVersionAndKind(apiVersion, name)]
	if !known {
		return nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var stored map[string]any
	if err := utiljson.Unmarshal(data, &stored); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	delete(stored, "status") // a subresource, which the API server ignores here
	defaulting.PruneNonNullableNullsWithoutDefaults(stored, k.structural)
	defaulting.Default(stored, k.structural)
	found := validation.ValidateCustomResource(nil, stored, k.schema)
	found = append(found, listtype.ValidateListSetsAndMaps(nil, k.structural, stored)...)
	if len(found) > 0 {
		return found // expressions can fail with values of other types
	}
	found, _ = k.rules.Validate(ctx, nil, k.structural, stored, nil, celconfig.RuntimeCELCostBudget)
	return found
}
