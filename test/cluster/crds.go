// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/crds"
)

// InstallSunset creates or updates the CustomResourceDefinitions of Sunset, and waits until the API server serves their kinds.
func InstallSunset(config *rest.Config) error {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, file := range crds.Files() {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(file.YAML, definition); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		definitions = append(definitions, definition)
	}
	if _, err := InstallCRDs(config, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		return fmt.Errorf("install CustomResourceDefinitions: %w", err)
	}
	return nil
}

// InstallCRDs creates or updates CustomResourceDefinitions, and waits until the API server serves their kinds. It waits longer than
// envtest.InstallCRDs does by default, because other control planes may start at the same time.
func InstallCRDs(config *rest.Config, options envtest.CRDInstallOptions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	options.MaxTime = startTimeout
	return envtest.InstallCRDs(config, options)
}
