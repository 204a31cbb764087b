// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// definitionsPolicies returns a policy like that of the sample unused/definitions, for all definitions: each object counts as a use of
// all CustomResourceDefinitions of its API group, because an operator needs also those that have no objects now. The references that
// one policy cannot have are in more policies. It returns nil without definitions.
func definitionsPolicies(definitions []load.Definition) (all []map[string]any) {
	names := map[string][]string{}
	for _, d := range definitions {
		names[d.Kind.Group] = append(names[d.Kind.Group], strconv.Quote(d.Name))
	}
	var references []any
	for _, d := range definitions {
		if d.Kind.Group == v1alpha1.GroupVersion.Group {
			continue
		}
		references = append(references, map[string]any{
			"from":  map[string]any{"apiVersion": d.Kind.GroupVersion().String(), "kind": d.Kind.Kind},
			"to":    definitionKind,
			"names": "[" + strings.Join(names[d.Kind.Group], ", ") + "]",
		})
	}
	name := "unused-definitions"
	for some := range slices.Chunk(references, policy.MostReferences) {
		all = append(all, map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ClusterRetentionPolicy",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"references": some,
				"rules": []any{map[string]any{
					"name":     "definitions",
					"target":   map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"},
					"eligible": "references.count == 0 && !object.metadata.name.endsWith('." + v1alpha1.GroupVersion.Group + "')",
					"ttl":      "90d",
				}},
			},
		})
		name = fmt.Sprint("unused-definitions-", len(all)+1)
	}
	return all
}

// definitionKind is how a policy names the kind.
const definitionKind = "CustomResourceDefinition.apiextensions.k8s.io"

// readDefinitions returns the CustomResourceDefinitions of a cluster; none if the user asks for one namespace.
func (u *unusedCommand) readDefinitions(ctx context.Context, c *cluster.Cluster) (all []load.Definition, failures []preview.Failure) {
	if u.namespace != "" {
		return nil, nil
	}
	objects, err := c.Objects(ctx, cluster.DefinitionKind, "")
	if err != nil {
		return nil, []preview.Failure{{Message: fmt.Sprintf("cannot list CustomResourceDefinitions: %v", err)}}
	}
	for _, object := range objects {
		if d, ok := load.ReadDefinition(object); ok {
			all = append(all, d)
		}
	}
	return all, nil
}

// problems are the problems of the command's own policies: a definition for which they cannot ask is not known to be unused.
func problems(own []*policy.Policy) (failures []preview.Failure) {
	for _, p := range own {
		for _, problem := range p.Problems {
			failures = append(failures, preview.Failure{Message: fmt.Sprintf("policy %s: %s", p.Name, problem)})
		}
	}
	return failures
}
