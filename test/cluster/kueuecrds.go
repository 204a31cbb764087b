// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// kueueConverts are the CRDs with differing versions: those of the patches in Kueue's config/components/crd. Kueue cannot
// convert others, which are equal in all their versions.
var kueueConverts = []string{
	"clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io",
	"multikueueclusters.kueue.x-k8s.io", "workloads.kueue.x-k8s.io",
}

// installKueueCRDs creates or updates Kueue's CRDs, so that the API server calls the webhook on a port of this machine for
// versions that are not stored.
func (c *Cluster) installKueueCRDs(ctx context.Context, port int, ca []byte) error {
	webhook := fmt.Sprintf("%d %s", port, ca)
	if c.kueueCRDs == webhook { // Kueue starts again
		return nil
	}
	dir, err := moduleDir(ctx, kueueHome, recipes[Kueue].module)
	if err != nil {
		return err
	}
	crds, err := readCRDs(filepath.Join(dir, "config", "components", "crd", "bases", "*.yaml"))
	if err != nil {
		return fmt.Errorf("CRDs of Kueue: %w", err)
	}
	for _, crd := range crds {
		if slices.Contains(kueueConverts, crd.Name) {
			crd.Spec.Conversion = conversion(fmt.Sprintf("https://127.0.0.1:%d/convert", port), ca)
		}
	}
	_, err = InstallCRDs(c.Config(), envtest.CRDInstallOptions{CRDs: crds})
	if err == nil {
		c.kueueCRDs = webhook
	}
	return err
}

func readCRDs(pattern string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no file %s: %w", pattern, err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

func conversion(url string, ca []byte) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: ptr.To(url), CABundle: ca},
			ConversionReviewVersions: []string{"v1"},
		},
	}
}

// moduleDir is the directory of the sources of a module that h requires. It downloads them from the Go module proxy if
// necessary, because the binary may come from the cache.
func moduleDir(ctx context.Context, h home, name string) (string, error) {
	source, err := h.source()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", name)
	cmd.Dir, cmd.Env = source, buildEnv(os.Environ())
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sources of %s: %w\n%s%s", name, err, out, problems.Bytes())
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("sources of %s: %w", name, err)
	}
	return module.Dir, nil
}
