// SPDX-License-Identifier: Apache-2.0

// Command preserve makes the API server store unknown fields in everything that an administrator writes.
//
// The API server silently drops a field that the schema does not contain. A misspelt excludeNamespaces would be dropped
// before anyone could report it, and the policy would apply to more objects than intended. Therefore the command adds
// x-kubernetes-preserve-unknown-fields to every level outside of status. Sunset then finds the unknown field when it
// reads the policy, and rejects the rule.
//
//	preserve FILE...
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := rewrite(file); err != nil {
			fmt.Fprintln(os.Stderr, "preserve:", err)
			os.Exit(1)
		}
	}
}

func rewrite(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		root, _ := schema["openAPIV3Schema"].(map[string]any)
		preserve(root, "status")
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, append([]byte("---\n"), out...), 0o644)
}

// preserve marks a schema and all nested schemas that list their fields, except the field named except.
func preserve(schema map[string]any, except string) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 {
		schema["x-kubernetes-preserve-unknown-fields"] = true
	}
	for name, property := range properties {
		if below, ok := property.(map[string]any); ok && name != except {
			// The API server drops a null that is not nullable, and the selector would select everything.
			if name == "matchLabels" || name == "matchExpressions" {
				below["nullable"] = true
				if label, ok := below["additionalProperties"].(map[string]any); ok {
					label["nullable"] = true
				}
			}
			preserve(below, "")
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := schema[key].(map[string]any); ok {
			preserve(below, "")
		}
	}
}
