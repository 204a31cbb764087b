// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/crds"
	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// kinds checks that the cluster serves all kinds of Sunset, with all fields of this version. It uses the published schemas,
// because most users may not read CustomResourceDefinitions.
func (i *installation) kinds() Check {
	const name = "kinds"
	document, err := i.Document(v1alpha1.GroupVersion)
	if err != nil {
		return unreadable(name, err)
	}
	if document == nil {
		return Check{name, Fail, fmt.Sprintf("the cluster does not serve %s", v1alpha1.GroupVersion), "install the chart, or run kubectl apply -f crds"}
	}
	files := crds.Files()
	var missing []string
	for _, file := range files {
		kind, want, err := schemaIn(file)
		if err != nil {
			return unreadable(name, err)
		}
		have, err := openapi.SchemaOf(document, v1alpha1.GroupVersion.WithKind(kind))
		if err != nil {
			missing = append(missing, "kind "+kind)
			continue
		}
		missing = append(missing, missingFields(kind, want, have)...)
	}
	if len(missing) > 0 {
		return Check{name, Fail, "missing in the cluster: " + first(missing),
			"apply the CustomResourceDefinitions of this version, or use the plugin of the version that is installed"}
	}
	return Check{Name: name, Result: Pass, Message: fmt.Sprintf("%s, with all fields of this version", preview.Count(len(files), "kind"))}
}

// schemaIn returns the kind and the schema in a CustomResourceDefinition.
func schemaIn(file crds.File) (string, *spec.Schema, error) {
	var definition struct {
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(file.YAML, &definition); err != nil {
		return "", nil, err
	}
	if len(definition.Spec.Versions) == 0 {
		return "", nil, errors.New(file.Name + " has no version")
	}
	return definition.Spec.Names.Kind, definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// missingFields returns the paths of the fields that only the first schema has.
func missingFields(path string, want, have *spec.Schema) (missing []string) {
	for _, name := range slices.Sorted(maps.Keys(want.Properties)) {
		wanted := want.Properties[name]
		if found, ok := have.Properties[name]; ok {
			missing = append(missing, missingFields(path+"."+name, &wanted, &found)...)
		} else {
			missing = append(missing, path+"."+name)
		}
	}
	if want.Items != nil && have.Items != nil && want.Items.Schema != nil && have.Items.Schema != nil {
		missing = append(missing, missingFields(path+"[]", want.Items.Schema, have.Items.Schema)...)
	}
	return missing
}

// shown is the number of entries of a list that a message has.
const shown = 3

// first joins the first entries, and counts the others.
func first(all []string) string { return strings.Join(policy.Shortlist(all, shown, ""), ", ") }
