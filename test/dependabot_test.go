// SPDX-License-Identifier: Apache-2.0

package test

import (
	"path"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
)

// manifests are the files that name dependencies, by the name of the ecosystem in the settings of Dependabot.
var manifests = map[string]string{"gomod": "go.mod", "npm": "package.json", "docker": "Dockerfile"}

// TestDependabotKnowsAllModules: Dependabot updates every module of Go and of npm and every Dockerfile, and no other directory.
func TestDependabotKnowsAllModules(t *testing.T) {
	texts := repository(t)
	var settings struct {
		Updates []struct {
			PackageEcosystem string `json:"package-ecosystem"`
			Directory        string
			Directories      []string
		}
	}
	expect.NoError(t, yaml.Unmarshal(texts[".github/dependabot.yml"], &settings))
	for ecosystem, file := range manifests {
		var want, got []string
		for name := range texts {
			if path.Base(name) == file {
				want = append(want, path.Join("/", path.Dir(name)))
			}
		}
		for _, update := range settings.Updates {
			if update.PackageEcosystem == ecosystem {
				got = append(got, update.Directories...)
				if update.Directory != "" {
					got = append(got, update.Directory)
				}
			}
		}
		expect.Equal(t, ecosystem, slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
	}
}
