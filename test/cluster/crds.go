// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// InstallCRDs creates or updates CustomResourceDefinitions, and waits until the API server serves their kinds. It waits longer than
// envtest.InstallCRDs does by default, because other control planes may start at the same time.
func InstallCRDs(config *rest.Config, options envtest.CRDInstallOptions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	options.MaxTime = startTimeout
	return envtest.InstallCRDs(config, options)
}
