// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"embed"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// File is one CustomResourceDefinition as YAML.
type File struct {
	Name string // of the definition, such as clusterretentionpolicies.sunset-k8s.io
	YAML []byte
}

// JSON returns the definition as kubectl apply stores it.
func (f File) JSON() ([]byte, error) { return yaml.YAMLToJSON(f.YAML) }

// Files returns all CustomResourceDefinitions, sorted by group and name. The caller may modify the result.
func Files() []File {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the root of an embedded file system is always readable
	}
	all := make([]File, len(entries))
	for i, entry := range entries {
		data, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		group, plural, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".yaml"), "_")
		all[i] = File{Name: plural + "." + group, YAML: data}
	}
	return all
}
